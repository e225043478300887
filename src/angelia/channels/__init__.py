"""Chat networks behind one port: what comes in, what goes out, and how a send can end."""
