"""The conformance kit for stores of objects."""
