"""`angelia new`: writes a package that adds something to Angelia, with tests that pass as they are."""
