"""Tools that look at web pages as a person would, and act on them."""
