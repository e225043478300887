"""Recordings to words."""
