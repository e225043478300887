"""Words to pictures."""
