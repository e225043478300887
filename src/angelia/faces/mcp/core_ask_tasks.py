"""An ask as a task of 2025-11-25, where a client asks for one: taken on at once, its answer fetched when it is due.

The library has no such result for a call and no such capability; both are given in a middleware, whose results it
leaves as they are. The other messages are handlers like any.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import mcp_types as types
import msgspec
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError

from angelia.core import ending as end
from angelia.core.errors import AngeliaError, BadInput, NotFound
from angelia.core.ids import ConversationId
from angelia.faces.mcp.asks import AskOutcome, Asks, NewAsk, SaidAsk, Tell, TurnAsks, TurnCame
from angelia.faces.mcp.questions import name_of
from angelia.faces.mcp.results import ask_result, has_forms
from angelia.faces.mcp.tools import AskRequest

VERSION = "2025-11-25"
RELATED = "io.modelcontextprotocol/related-task"

CAPABILITY: dict[str, Any] = {"cancel": {}, "requests": {"tools": {"call": {}}}}

PAUSE_MS = 1_000
"""Milliseconds after which to look again."""

STOPPING_S = 10.0
WAIT_S = 3_600.0
LOOK_S = 1.0
"""Seconds for which a stop is waited for, after which a wait for an answer begins anew, and between two looks at a
question that is answered at another door.
"""

Context = ServerRequestContext[Any, Any]
Elicit = Callable[[Context, TurnAsks, str], Awaitable[bool]]


class CoreAskTasks:
    """`elicit` asks the client's person for a task, and is False where that gave no answer."""

    def __init__(self, asks: Asks, elicit: Elicit) -> None:
        self._asks, self._elicit = asks, elicit

    async def hear(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """A middleware: says that calls may be tasks, and takes those on that are to be one."""
        if ctx.method == "initialize":
            hello = await call_next(ctx)
            if isinstance(hello, dict) and hello.get("protocolVersion") == VERSION:
                hello = {**hello, "capabilities": {**hello["capabilities"], "tasks": CAPABILITY}}
            return hello
        params = ctx.params or {}
        wanted = isinstance(params.get("task"), dict) and params.get("name") == "ask"
        if ctx.method == "tools/call" and ctx.protocol_version == VERSION and wanted:
            return {"task": await self._taken(params.get("arguments") or {})}
        return await call_next(ctx)

    async def _taken(self, arguments: object) -> dict[str, Any]:
        try:
            given = msgspec.convert(arguments, AskRequest)
            said = await self._asks.say(NewAsk(given.question, given.conversation, given.key))
            outcome = await self._asks.follow(said, 0, _untold)
        except msgspec.ValidationError as error:
            raise MCPError(types.INVALID_PARAMS, f"The arguments do not fit: {error}.") from error
        except AngeliaError as error:
            raise refused(error) from error
        return {**await self._head(outcome.conversation, outcome.key), "status": "working"}

    async def get(self, context: Context, task: str) -> dict[str, Any]:
        """How a task stands."""
        return await self._state(context, await self._outcome(await self._said(task), 0, _untold))

    async def result(self, context: Context, task: str, tell: Tell) -> types.CallToolResult:
        """The answer, once it is there; what needs a yes meanwhile is put to the client's person, once."""
        said, dismissed = await self._said(task), set[str]()
        while True:
            outcome = await self._outcome(said, WAIT_S, tell)
            match outcome:
                case TurnCame():
                    result = ask_result(outcome)
                    return result.model_copy(update={"meta": {RELATED: {"taskId": task}}})
                case TurnAsks() if has_forms(context) and (name := name_of(outcome.asked)) not in dismissed:
                    if not await self._elicit(context, outcome, task):
                        dismissed.add(name)
                case _:
                    await asyncio.sleep(LOOK_S)

    async def cancel(self, context: Context, task: str) -> dict[str, Any]:
        """Stop it, and say how it stands then.

        Raises:
            MCPError: it has ended before, as the protocol has it.
        """
        said = await self._said(task)
        if isinstance(await self._outcome(said, 0, _untold), TurnCame):
            raise MCPError(types.INVALID_PARAMS, "The task has ended, so there is nothing to cancel.")
        try:
            await self._asks.stop(task)
        except AngeliaError as error:
            raise refused(error) from error
        return await self._state(context, await self._outcome(said, STOPPING_S, _untold))

    async def _said(self, task: str) -> SaidAsk:
        try:
            return await self._asks.say(NewAsk("", "", task))
        except AngeliaError as error:
            raise refused(error, "There is no such task: ") from error

    async def _outcome(self, said: SaidAsk, seconds: float, tell: Tell) -> AskOutcome:
        try:
            return await self._asks.follow(said, seconds, tell)
        except AngeliaError as error:
            raise refused(error) from error

    async def _state(self, context: Context, outcome: AskOutcome) -> dict[str, Any]:
        return {**await self._head(outcome.conversation, outcome.key), **_status(context, outcome)}

    async def _head(self, conversation: ConversationId, key: str) -> dict[str, Any]:
        return {**await times_of(self._asks, conversation, key), "ttl": None, "pollInterval": PAUSE_MS}


def _status(context: Context, outcome: AskOutcome) -> dict[str, str]:
    """A result that is an error makes a failed task (2025-11-25, "Tasks")."""
    match outcome:
        case TurnCame(ending=end.Cancelled()):
            return {"status": "cancelled"}
        case TurnCame(ending=ending):
            return {"status": "completed" if isinstance(ending, end.Answered) else "failed"}
        case TurnAsks() if has_forms(context):
            return {"status": "input_required"}
        case TurnAsks():
            return {"status": "working", "statusMessage": "It waits for its person, at a door of Angelia's."}
        case _:
            return {"status": "working"}


def refused(error: AngeliaError, unfit: str = "") -> MCPError:
    """Why something cannot be had. What is wrong with what was asked, which `unfit` begins, is told apart from what is
    wrong here, such as a full disk: a client forgets a task that is not there, and asks for the others again.
    """
    if isinstance(error, BadInput | NotFound):
        return MCPError(types.INVALID_PARAMS, f"{unfit}{error}")
    return MCPError(types.INTERNAL_ERROR, str(error))


async def times_of(asks: Asks, conversation: ConversationId, key: str) -> dict[str, Any]:
    """Which task an ask is, when it began, and when something was heard of it last."""
    began, last = await asks.span(conversation, key)
    return {"taskId": key, "createdAt": _moment(began), "lastUpdatedAt": _moment(last)}


def _moment(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def _untold(_: str) -> None:
    return
