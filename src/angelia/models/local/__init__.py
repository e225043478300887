"""The embedded model, its calls held to a grammar."""
