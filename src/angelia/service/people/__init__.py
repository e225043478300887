"""One person among several: what a home holds of them, taken out of it or taken away."""
