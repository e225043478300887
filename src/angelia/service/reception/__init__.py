"""What comes in from chat networks: who may speak, what was said, and what becomes of it."""
