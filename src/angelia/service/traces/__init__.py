"""Traces of turns for OpenTelemetry: spans are read from the log, and sent in its protocol."""
