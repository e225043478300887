"""What is remembered across conversations, and why."""
