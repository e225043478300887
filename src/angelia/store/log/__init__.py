"""The log of every conversation, and what is derived from it."""
