"""The store keeps what it acknowledged."""
