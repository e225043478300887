"""Programs of the person's at calls, messages and endings."""
