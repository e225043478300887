"""The network of a confined command: a namespace of its own, and a proxy that judges where it leads."""
