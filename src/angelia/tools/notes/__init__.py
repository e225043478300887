"""What is remembered across conversations."""
