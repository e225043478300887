"""The turn: one pure decision, one table of remedies, one broker for effects, one loop."""
