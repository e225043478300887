"""The conformance kit for speakers."""
