"""What goes out to chat networks: one writer for each chat, in order, each message once, with a receipt."""
