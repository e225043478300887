"""Bytes by their hash, and media in the form in which they are needed."""
