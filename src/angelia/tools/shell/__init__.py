"""Tools for commands, in the foreground and behind."""
