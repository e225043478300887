"""Tools for the files of a sandbox."""
