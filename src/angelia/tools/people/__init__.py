"""Tools that speak to the person."""
