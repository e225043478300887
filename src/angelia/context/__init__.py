"""Pure functions from entries to the request a model gets; no clock, no I/O, no bytes of media."""
