"""Ports of this machine."""

import socket


def free_port(host: str = "127.0.0.1") -> int:
    """One of loopback, or of another address of this machine, at which nobody listens yet."""
    with socket.socket() as one:
        one.bind((host, 0))
        return int(one.getsockname()[1])
