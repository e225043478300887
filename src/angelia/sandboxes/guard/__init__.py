"""What commands leave that a program outside would run: found, taken back, told."""
