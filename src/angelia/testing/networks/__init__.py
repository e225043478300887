"""Strict fakes of chat networks, on loopback."""
