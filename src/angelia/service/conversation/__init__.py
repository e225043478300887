"""One conversation: open, driven, and given what it works with."""
