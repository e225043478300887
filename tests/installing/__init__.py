"""How Angelia gets onto a machine, and what it says there about itself."""
