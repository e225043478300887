"""HTTP for the doors that listen: one address, bounded connections, requests read within limits."""
