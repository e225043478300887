"""Programs of the person's that are run at a call, a message and an ending."""
