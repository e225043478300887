"""Telegram: a bot of one's own, spoken to in private chats, groups and forum topics."""
