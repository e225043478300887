"""Which model is asked, and what it takes to ask it."""
