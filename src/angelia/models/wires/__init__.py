"""The wires to models: messages to bytes, and replies out of bytes; sans I/O."""
