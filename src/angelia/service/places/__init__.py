"""Where conversations work."""
