"""Turns that a clock begins: when, what became of each occurrence, and where it is told."""
