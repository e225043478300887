"""The system prompt: ordered sections, each pure and with a budget of its own."""
