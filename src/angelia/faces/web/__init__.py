"""The front door: a page for the person and its API, by HTTP, fed from the log."""
