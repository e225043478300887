"""The documents, and the programs that print a part of them from the code."""
