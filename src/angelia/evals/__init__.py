"""Harnesses of others: their tasks run on us, and what came of them stands in their logs."""
