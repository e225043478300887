"""The log, the blobs and everything that is derived from them, in one home."""
