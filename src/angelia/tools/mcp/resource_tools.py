"""The tools `find_resources` and `read_resource`: what servers serve to be read, in one pair for all of them."""

from collections.abc import Callable, Sequence
from typing import Annotated, Protocol

from msgspec import Meta, Struct

from angelia.core.content import CallStatus, Text
from angelia.core.errors import BadInput
from angelia.policy.verdict import Effect, NoEffect
from angelia.tools.asking import QuestionAccess
from angelia.tools.mcp.call_person import CallPerson
from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.failures import ServerLost, ServerRefused
from angelia.tools.mcp.results import ResultContext, read_outcome
from angelia.tools.mcp.served import matching
from angelia.tools.port import ToolOutcome, Traits

MOST_SHOWN = 50

Connections = Callable[[], Sequence[McpConnection]]


class ResourceContext(ResultContext, QuestionAccess, Protocol):
    """What reading uses of its call."""


class FindResourcesArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """`words` that stand in the address, the name or the description; all are listed without. `server` narrows it."""

    words: str = ""
    server: str = ""


class FindResources:
    """Lists what the servers have told when they were reached; nothing is sent to them."""

    name = "find_resources"
    description = (
        "List what MCP servers serve to be read (documents, tables, pictures), by their addresses. An address with "
        "{braces} is a template: fill it in."
    )
    arguments: type[Struct] = FindResourcesArguments
    traits = Traits(reads_only=True, replayable=True, spare=True)

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def effects(self, arguments: FindResourcesArguments, context: object) -> Sequence[Effect]:
        """None."""
        return (NoEffect(),)

    async def run(self, arguments: FindResourcesArguments, context: object) -> ToolOutcome:
        """The lines that fit, by server."""
        asked = [one for one in self._connections() if arguments.server in ("", one.server.name)]
        fitting = [(one, matching(arguments.words, one.offers.resources)) for one in asked]
        lines = [f"{one.server.name}: {resource.line}" for one, found in fitting for resource in found]
        if not lines:
            return ToolOutcome((Text(f"None of {sum(len(one.offers.resources) for one in asked)} resources fits."),))
        rest = [f"({len(lines) - MOST_SHOWN} more fit: use more words.)"] if len(lines) > MOST_SHOWN else []
        return ToolOutcome((Text("\n".join([*lines[:MOST_SHOWN], *rest])),))


class ReadResourceArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Which server, and the address of what it serves."""

    server: Annotated[str, Meta(min_length=1)]
    uri: Annotated[str, Meta(min_length=1)]


class ReadResource:
    """Reads a resource: words as words, a picture or another file as a medium."""

    name = "read_resource"
    description = "Read what an MCP server serves at an address; pictures and files come as such."
    arguments: type[Struct] = ReadResourceArguments
    traits = Traits(reads_only=True, spare=True)

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def _named(self, name: str) -> McpConnection:
        found = {one.server.name: one for one in self._connections()}
        if name not in found:
            raise BadInput(f"No MCP server {name!r} serves resources here.", then=f"There are: {', '.join(found)}.")
        return found[name]

    async def effects(self, arguments: ReadResourceArguments, context: object) -> Sequence[Effect]:
        """Using the server; that it only looks is its own word, as with its tools."""
        return (self._named(arguments.server).server.effect(self.name, looks=True),)

    async def run(self, arguments: ReadResourceArguments, context: ResourceContext) -> ToolOutcome:
        """Read it.

        Raises:
            Unavailable: the server cannot be reached; nothing was sent.
        """
        notes: list[str] = []
        connection, who = self._named(arguments.server), f"The MCP server {arguments.server}"
        try:
            contents = await connection.contents(arguments.uri, CallPerson(context.ask, notes.append))
        except ServerRefused as refused:
            return ToolOutcome((Text(f"{who} does not serve that: {refused.said}"),), CallStatus.ERROR)
        except ServerLost as lost:
            return ToolOutcome((Text(f"{who} {lost}. Nothing was read."),), CallStatus.ERROR)
        return await read_outcome(contents, context, notes)
