"""What paints: a strict server of the Images wire, and what every painter has to keep."""
