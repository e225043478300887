"""Tasks that are done one by one and checked: each in a conversation and a sandbox of its own."""
