"""Small tables beside the log."""
