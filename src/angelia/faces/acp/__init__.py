"""The door for editors: the Agent Client Protocol, version 1, over stdio."""
