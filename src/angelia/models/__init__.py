"""Rooms that speak a model protocol; they know nothing of the log, the turn or each other."""
