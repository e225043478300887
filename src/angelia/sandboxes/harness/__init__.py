"""Sandboxes that a harness of others runs, and lends to this process for a task."""
