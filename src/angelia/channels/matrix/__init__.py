"""Matrix: one account in plain rooms, by the client-server API (spec.matrix.org, version 1.11 or later)."""
