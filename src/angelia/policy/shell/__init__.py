"""What a shell command line risks, found by parsing it."""
