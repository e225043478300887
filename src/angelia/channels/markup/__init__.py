"""Markdown, read once and written in each network's own markup."""
