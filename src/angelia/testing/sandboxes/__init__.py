"""The conformance kit for sandboxes."""
