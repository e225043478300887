"""A server of the Model Context Protocol, by its official library, whose one tool brings the words of a file."""

import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("documents")


@server.tool()
def document() -> str:
    """Brings the document."""
    return Path(sys.argv[1]).read_text()


if __name__ == "__main__":
    server.run()
