"""The machine itself as a sandbox, its commands confined."""
