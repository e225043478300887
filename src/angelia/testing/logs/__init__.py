"""Logs as dialogue, and random ones by the thousand."""
