"""Child conversations: planned within what is left, driven side by side, and told of once."""
