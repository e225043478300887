"""The SQLite file: its threads, commits, tables and upkeep."""
