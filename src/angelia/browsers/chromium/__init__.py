"""Chromium, in a network of its own, spoken to over a pipe."""
