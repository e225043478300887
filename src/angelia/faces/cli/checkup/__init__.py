"""What `angelia doctor` looks at."""
