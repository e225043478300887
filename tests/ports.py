"""Ports of this machine."""

import socket


def free_port() -> int:
    """One of loopback at which nobody listens yet."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
