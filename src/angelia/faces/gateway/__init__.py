"""The door for chat networks: runs the channels in the foreground, and listens where a network comes to us."""
