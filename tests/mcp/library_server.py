"""A server made with the official Python library, that looks at where it is."""

import socket
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("library")


@server.tool()
def read(path: str) -> str:
    """The words of a file, or why there are none."""
    try:
        return Path(path).read_text()
    except OSError as error:
        return f"no: {error.strerror}"


@server.tool()
def knock(port: int) -> str:
    """Whether anybody opens on this machine."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5):
            return "opened"
    except OSError as error:
        return f"no: {error.strerror}"


server.run("stdio")
