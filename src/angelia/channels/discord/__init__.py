"""Discord: a bot of one's own, spoken to in direct messages, servers and threads."""
