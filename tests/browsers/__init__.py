"""The browser: its walls, what it shows, what it does."""
