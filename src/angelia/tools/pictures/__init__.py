"""A tool that makes pictures."""
