"""Tasks in the words of their extension (SEP-2663, for 2026-07-28): taken on, looked at, answered, taken back."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NoReturn

import mcp_types as types
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from angelia.core.text import clean, one_line
from angelia.tools.mcp.core_tasks import core_task_at
from angelia.tools.mcp.failures import ServerLost, ServerRefused
from angelia.tools.mcp.library_errors import in_our_terms
from angelia.tools.mcp.task_look import TaskLook, TaskTaken, pause_of
from mcp import Client

TASKS = "io.modelcontextprotocol/tasks"


class _Taken(types.Result):
    result_type: Literal["task"] = "task"
    task_id: str


class _State(types.Result):
    status: str
    status_message: str | None = None
    poll_interval_ms: int | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    input_requests: dict[str, Any] | None = None


class _TaskId(types.RequestParams):
    task_id: str


class _Answers(_TaskId):
    input_responses: dict[str, Any]


class _GetTask(types.Request[_TaskId, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    params: _TaskId
    name_param = "taskId"


class _CancelTask(types.Request[_TaskId, Literal["tasks/cancel"]]):
    method: Literal["tasks/cancel"] = "tasks/cancel"
    params: _TaskId
    name_param = "taskId"


class _UpdateTask(types.Request[_Answers, Literal["tasks/update"]]):
    method: Literal["tasks/update"] = "tasks/update"
    params: _Answers
    name_param = "taskId"


class _Acknowledged(types.Result):
    pass


async def _take(taken: _Taken, _: ClaimContext) -> NoReturn:
    raise TaskTaken(taken.task_id)


class TasksExtension(ClientExtension):
    """Says to servers that a call may be taken on as a task; who calls meets `TaskTaken` then."""

    identifier = TASKS

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """See `ClientExtension`."""
        return (ResultClaim(result_type="task", model=_Taken, resolve=_take),)


def _untold() -> None:
    return


async def task_at(client: Client, task: str, alive: Callable[[], None] = _untold) -> TaskLook:
    """How a task stands; `alive` is called at each sign of a server that has to be waited for.

    Raises:
        ServerRefused: the server knows no such task any more, or did not answer as the protocol has it.
        ServerLost: the connection ended before an answer came.
    """
    try:
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return await core_task_at(client, task, alive)
        state = await client.session.send_request(_GetTask(params=_TaskId(task_id=task)), _State)
        result = types.CallToolResult.model_validate(state.result) if state.status == "completed" else None
        asked = {
            key: types.ElicitRequest.model_validate(one)
            for key, one in (state.input_requests or {}).items()
            if state.status == "input_required" and one.get("method") == "elicitation/create"
        }
    except (MCPError, ValueError, RuntimeError) as error:
        raise _failure(error) from error
    said = one_line(clean(state.status_message or ""), 300)
    fault = ""
    if state.status in ("failed", "cancelled"):
        why = said or one_line(clean(str((state.error or {}).get("message", ""))), 300)
        fault = f"it {'failed' if state.status == 'failed' else 'was cancelled'}{f': {why}' if why else ''}"
    return TaskLook(
        pause_of(state.poll_interval_ms), said, result, fault, {key: one.params for key, one in asked.items()}
    )


async def answer_task(client: Client, task: str, answers: dict[str, types.ElicitResult]) -> None:
    """Answer what a task asks.

    Raises:
        ServerRefused, ServerLost: as `task_at`.
    """
    given = {key: one.model_dump(by_alias=True, mode="json", exclude_none=True) for key, one in answers.items()}
    params = _Answers(task_id=task, input_responses=given)
    try:
        await client.session.send_request(_UpdateTask(params=params), _Acknowledged)
    except (MCPError, ValueError, RuntimeError) as error:
        raise _failure(error) from error


async def cancel_task(client: Client, task: str) -> None:
    """Say that nobody wants it any more; whether it ends is the server's affair.

    Raises:
        ServerRefused, ServerLost: as `task_at`.
    """
    try:
        await client.session.send_request(_CancelTask(params=_TaskId(task_id=task)), _Acknowledged)
    except (MCPError, ValueError, RuntimeError) as error:
        raise _failure(error) from error


def _failure(error: Exception) -> ServerLost | ServerRefused:
    if isinstance(error, MCPError):
        return in_our_terms(error)
    said = "its answer is none of the protocol's" if isinstance(error, ValidationError) else str(error)
    return ServerRefused(said, gone=False)
