"""The API for other programs, by the protocols that they know."""
