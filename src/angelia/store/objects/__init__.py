"""Where bytes lie beyond the home: a port, a folder elsewhere, an S3-like store."""
