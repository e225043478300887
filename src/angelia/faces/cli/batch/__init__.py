"""`angelia batch`: tasks that are done one by one and checked."""
