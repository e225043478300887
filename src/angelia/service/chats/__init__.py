"""Chats of networks: what comes in, what goes out, and the conversations between."""
