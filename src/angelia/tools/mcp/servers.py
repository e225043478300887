"""The servers of one conversation, and the tools that they bring to it."""

import asyncio
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from angelia.core.errors import BadInput
from angelia.core.text import clean, one_line
from angelia.tools.mcp.connection_state import Connecting, Gone, Ready, Waiting
from angelia.tools.mcp.server import Server
from angelia.tools.port import Tool

if TYPE_CHECKING:
    from angelia.tools.mcp.connection import McpConnection
    from angelia.tools.mcp.remote_tasks import RemoteTasks
    from angelia.tools.mcp.transports import Transports

MOST_TOOLS = 128
"""Tools that one request may carry (OpenAI, "Function calling"); ours and third-party ones count too."""


class Servers:
    """Connections by the name of their server, with the `tasks` that servers took on. `changed` is called when
    something about one of them has changed.
    """

    def __init__(self, transports: "Callable[[], Transports]", changed: Callable[[], None] = lambda: None) -> None:
        self._transports, self._changed = transports, changed
        self._connections: dict[str, McpConnection] = {}

    @cached_property
    def tasks(self) -> "RemoteTasks":
        """Those that servers took on."""
        from angelia.tools.mcp.remote_tasks import RemoteTasks

        return RemoteTasks()

    @property
    def all(self) -> "tuple[McpConnection, ...]":
        """Every connection, in the order in which they were added."""
        return tuple(self._connections.values())

    def add(self, server: Server) -> "McpConnection":
        """Take in a server; it is not begun."""
        from angelia.tools.mcp.connection import McpConnection  # what it takes is loaded with the first server

        connection = self._connections[server.name] = McpConnection(server, self._transports(), self._changed)
        return connection

    def get(self, name: str) -> "McpConnection | None":
        """The connection to a server."""
        return self._connections.get(name)

    async def remove(self, names: Iterable[str]) -> None:
        """Let servers go."""
        gone = [self._connections.pop(name) for name in names if name in self._connections]
        await asyncio.gather(*(connection.close() for connection in gone))

    async def settled(self) -> None:
        """Wait until each can be called, or is said to be gone."""
        await asyncio.gather(*(connection.settled() for connection in self.all))

    def tools(self, taken: Iterable[str]) -> tuple[tuple[Tool, ...], tuple[str, ...]]:
        """Their tools under names that nobody else has, and a sentence for each that cannot be offered.

        `taken` are the names of the other tools. The same listing gives the same tools.
        """
        if not self._connections:
            return (), ()
        from angelia.tools.mcp.tool import ServerTool
        from angelia.tools.mcp.tool_names import tool_name

        found: dict[str, Tool] = {}
        faults, others = [], set(taken)
        for connection in self.all:
            for listed in connection.tools:
                about = f"{one_line(clean(listed.name), 60)!r} of the MCP server {connection.server.name}"
                if len(found) + len(others) >= MOST_TOOLS:
                    faults.append(f"The tool {about} is left out: a request carries at most {MOST_TOOLS} tools.")
                    continue
                name = tool_name(connection.server.name, listed.name, {*found, *others})
                try:
                    found[name] = ServerTool(name, listed, connection, self.tasks)
                except BadInput as error:
                    faults.append(f"The tool {about} is left out: {error}.")
        return tuple(found.values()), tuple(faults)

    async def close(self) -> None:
        """Let all of them go, and look at none of their tasks any more."""
        if "tasks" in self.__dict__:  # there were some
            await self.tasks.close()
        await self.remove(tuple(self._connections))


def trouble(connection: "McpConnection") -> str:
    """Why the tools of a server cannot be called now, a sentence for person and model; empty if they can."""
    name = connection.server.name
    match connection.state:
        case Ready():
            return ""
        case Gone(why=why):
            return f"The MCP server {name} cannot be used: {why}."
        case Connecting():
            return f"The MCP server {name} is still connecting; its tools come with a later message."
        case Waiting():
            return f"The MCP server {name} waits for the person's yes; its tools come with a later message."


def able_to_connect() -> bool:
    """Whether the part that speaks the protocol is installed."""
    from importlib.util import find_spec

    return find_spec("mcp") is not None
