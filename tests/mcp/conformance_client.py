"""What the conformance kit starts as a client: our connection, asked to call every tool that a site lists.

The kit gives the site's address as the last argument, and names its scenario in the environment.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from angelia.tools.mcp.failures import ServerLost, ServerRefused, Unavailable
from angelia.tools.mcp.server import Site, given
from angelia.tools.mcp.servers import trouble
from tests.mcp.reached import only, reached

ARGUMENTS: dict[str, dict[str, Any]] = {"add_numbers": {"a": 5, "b": 3}}
"""What a tool wants; any other is called with what its schema asks for."""

VALUES: dict[str, Any] = {"string": "us-west1", "integer": 42, "number": 42, "boolean": True, "array": [], "object": {}}


def arguments_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Something for each property that the schema names."""
    properties = schema.get("properties") or {}
    return {name: VALUES.get(str((shape or {}).get("type", "string"))) for name, shape in properties.items()}


async def main(url: str) -> int:
    """Reach the site, and call what it has."""
    with tempfile.TemporaryDirectory() as folder:
        async with reached(Path(folder), Site(url, given({})), seconds=10) as (servers, _):
            server = only(servers)
            if why := trouble(server):
                print(why, file=sys.stderr)
                return 1
            for tool in server.tools:
                arguments = ARGUMENTS.get(tool.name, arguments_of(tool.input_schema))
                try:
                    print(tool.name, await server.call(tool.name, arguments, lambda _: None))
                except (ServerRefused, ServerLost, Unavailable) as error:
                    print(tool.name, repr(error), file=sys.stderr)
            print(os.environ.get("MCP_CONFORMANCE_SCENARIO"))
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[-1])))
