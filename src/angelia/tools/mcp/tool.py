"""A tool of a server, as the port has it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from angelia.core.content import CallStatus, Text
from angelia.core.errors import BadInput
from angelia.core.text import clean, one_line
from angelia.policy.verdict import Effect
from angelia.tools.asking import QuestionAccess
from angelia.tools.json_schema import schema_of
from angelia.tools.mcp.call_person import CallPerson
from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.failures import ServerLost, ServerRefused
from angelia.tools.mcp.remote_task import RemoteTask, TaskContext
from angelia.tools.mcp.remote_tasks import RemoteTasks
from angelia.tools.mcp.results import outcome_of
from angelia.tools.mcp.task_look import TaskTaken
from angelia.tools.port import JsonArguments, ToolOutcome, Traits

if TYPE_CHECKING:
    import mcp_types as types

MOST_WORDS = 1_024
"""Characters of a description (OpenAI, "Function calling": what the API takes); a longer one ends in "…"."""


class ServerToolContext(TaskContext, QuestionAccess, Protocol):
    """What a server's tool uses of its call."""


class ServerTool:
    """Calls a tool of a server. It is never run again by itself: what a server says of its tools is only its word.

    Raises:
        BadInput: no provider would take its schema.
    """

    def __init__(self, name: str, listed: "types.Tool", connection: McpConnection, tasks: RemoteTasks) -> None:
        self.name = name
        self._listed, self._connection = listed, connection
        self._tasks = tasks
        self.description = described(connection.server.name, listed)
        self.arguments = schema_of(listed.input_schema)
        self._looks = bool(listed.annotations and listed.annotations.read_only_hint)
        self.traits = Traits(reads_only=self._looks)

    async def effects(self, arguments: JsonArguments, context: object) -> Sequence[Effect]:
        """Using the server, which may do anything."""
        return (self._connection.server.effect(self._listed.name, looks=self._looks),)

    async def run(self, arguments: JsonArguments, context: ServerToolContext) -> ToolOutcome:
        """Call it once; progress is shown while it runs, and what the server asks is put to the person.

        Raises:
            Unavailable: the server cannot be reached; nothing was sent.
            CallStopped: it was stopped, and the server perhaps still goes on with it.
        """
        notes: list[str] = []
        outcome = await self._called(arguments, context, CallPerson(context.ask, notes.append))
        return replace(outcome, parts=(*outcome.parts, *(Text(f"[{note}]") for note in notes)))

    async def _called(self, arguments: JsonArguments, context: ServerToolContext, person: CallPerson) -> ToolOutcome:
        who = f"The MCP server {self._connection.server.name}"
        try:
            if job := context.submitted.job:  # a life that ended had it taken on: it is not called once more
                raise TaskTaken(job)
            result = await self._connection.call(self._listed.name, dict(arguments.values), context.progress, person)
        except ServerRefused as refused:
            return ToolOutcome((Text(f"{who} answered with an error: {refused.said}"),), CallStatus.ERROR)
        except ServerLost as lost:
            said = f"{who} {lost}. The call may or may not have taken effect; check before repeating it."
            return ToolOutcome((Text(said),), CallStatus.UNKNOWN)
        except TaskTaken as taken:
            return await self._followed(taken.task, context, person)
        return await outcome_of(result, context)

    async def _followed(self, task: str, context: ServerToolContext, person: CallPerson) -> ToolOutcome:
        remote = RemoteTask(self._connection, task, self._listed.name, context)
        return await self._tasks.follow(remote, context, person)


def described(server: str, listed: "types.Tool") -> str:
    """What a model is told of a tool: whose it is, and what the server says about it.

    Raises:
        BadInput: it has no name.
    """
    if not listed.name.strip():
        raise BadInput("it has no name")
    title = listed.title or (listed.annotations and listed.annotations.title) or ""
    words = clean(listed.description or title or listed.name).strip()
    whole = f"[MCP server {one_line(clean(server), 60)}] {words}"
    return whole if len(whole) <= MOST_WORDS else f"{whole[: MOST_WORDS - 1]}…"
