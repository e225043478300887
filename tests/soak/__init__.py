"""Faults for an hour: real processes, a network that fails in every way, and the books at the end."""
