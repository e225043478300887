"""Blobs beyond the home: the port, its two providers, the cache before them."""
