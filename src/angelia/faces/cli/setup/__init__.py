"""`angelia setup`: from nothing to an answer, by a few questions."""
