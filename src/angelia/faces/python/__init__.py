"""Python as a door: `Agent` opens a home, asks, and hands answers to the program that asked."""
