"""An ask that takes long, as a task of the protocol (SEP-2663): named by its key, so that it outlives every process.

Whoever says that it knows tasks gets one where another client is told that the ask goes on. It is looked at by
`tasks/get`, answered by `tasks/update`, stopped by `tasks/cancel`; who never looks again stops nothing.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from angelia.core import ending as end
from angelia.core.errors import AngeliaError
from angelia.core.ids import ConversationId
from angelia.faces.mcp.asks import Asks, NewAsk, TurnAsks, TurnCame, TurnGoesOn
from angelia.faces.mcp.core_ask_tasks import PAUSE_MS, VERSION, CoreAskTasks, refused, times_of
from angelia.faces.mcp.questions import name_of
from angelia.faces.mcp.results import ask_result, elicitation, has_forms

TASKS = "io.modelcontextprotocol/tasks"

Context = ServerRequestContext[Any, Any]
TakeAnswers = Callable[[str, types.InputResponses], Awaitable[None]]


class _TaskId(types.RequestParams):
    task_id: str


class _Answers(_TaskId):
    input_responses: types.InputResponses


def may_have_tasks(context: Context) -> bool:
    """Whether the client says that it knows tasks, in the protocol that has them so."""
    able = context.session.client_capabilities
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS and TASKS in ((able and able.extensions) or {})


class AskTasks:
    """The asks of this door as tasks; a task's id is the key of its ask. `core` is those of 2025-11-25."""

    def __init__(self, asks: Asks, take_answers: TakeAnswers, core: CoreAskTasks) -> None:
        self._asks, self._take_answers = asks, take_answers
        self._core = core

    def add_to(self, library: Server[Any]) -> None:
        """Say that there are tasks, and answer for them."""
        library.middleware.append(self._core.hear)
        library.extensions[TASKS] = {}
        library.add_request_handler("tasks/get", _TaskId, self._get)
        library.add_request_handler("tasks/update", _Answers, self._update)
        library.add_request_handler("tasks/cancel", _TaskId, self._cancel)

    async def taken(self, outcome: TurnGoesOn) -> dict[str, Any]:
        """The task that an ask has become."""
        return {"resultType": "task", **await self._head(outcome.conversation, outcome.key), "status": "working"}

    async def _get(self, context: Context, params: _TaskId) -> HandlerResult:
        if context.protocol_version == VERSION:
            return await self._core.get(context, params.task_id)
        _demand_tasks(context)

        async def untold(_: str) -> None:
            return

        try:
            outcome = await self._asks.follow(await self._asks.say(NewAsk("", "", params.task_id)), 0, untold)
        except AngeliaError as error:
            raise refused(error, "There is no such task: ") from error
        head = await self._head(outcome.conversation, outcome.key)
        match outcome:
            case TurnCame(ending=end.Cancelled()):
                return {**head, "status": "cancelled"}
            case TurnCame():
                result = ask_result(outcome).model_dump(by_alias=True, mode="json", exclude_none=True)
                return {**head, "status": "completed", "result": result}
            case TurnAsks() if has_forms(context):
                asking = types.ElicitRequest(params=elicitation(outcome))
                requests = {name_of(outcome.asked): asking.model_dump(by_alias=True, mode="json", exclude_none=True)}
                return {**head, "status": "input_required", "inputRequests": requests}
            case TurnAsks():
                return {
                    **head,
                    "status": "working",
                    "statusMessage": "It waits for its person, at a door of Angelia's.",
                }
            case TurnGoesOn():
                return {**head, "status": "working"}

    async def _update(self, context: Context, params: _Answers) -> HandlerResult:
        _demand_tasks(context)
        await self._take_answers(params.task_id, params.input_responses)
        return {}

    async def _cancel(self, context: Context, params: _TaskId) -> HandlerResult:
        if context.protocol_version == VERSION:
            return await self._core.cancel(context, params.task_id)
        _demand_tasks(context)
        try:
            await self._asks.stop(params.task_id)
        except AngeliaError as error:
            raise refused(error, "There is no such task: ") from error
        return {}

    async def _head(self, conversation: ConversationId, key: str) -> dict[str, Any]:
        return {**await times_of(self._asks, conversation, key), "ttlMs": None, "pollIntervalMs": PAUSE_MS}


def _demand_tasks(context: Context) -> None:
    """Raises MCPError for a client that does not say that it knows tasks."""
    if not may_have_tasks(context):
        wanted = types.ClientCapabilities(extensions={TASKS: {}})
        data = types.MissingRequiredClientCapabilityErrorData(required_capabilities=wanted)
        shown = data.model_dump(by_alias=True, mode="json", exclude_none=True)
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY, "Tasks are for clients that say they know them.", shown
        )
