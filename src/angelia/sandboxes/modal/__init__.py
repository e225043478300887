"""Sandboxes in the cloud of Modal, through its SDK."""
