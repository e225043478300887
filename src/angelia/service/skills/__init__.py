"""Skills as a person knows them: found, shown before they are used, and given to a conversation."""
