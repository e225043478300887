"""Every setting, and what follows from it."""
