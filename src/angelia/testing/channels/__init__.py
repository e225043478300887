"""The conformance kit for chat channels."""
