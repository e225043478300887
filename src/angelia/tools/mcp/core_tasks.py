"""Tasks in the words of 2025-11-25, which had them in its core: asked for with a call, looked at, and their result.

The library knows their types and none of their messages: what answers a call has to be a call's result for it. So a
task that comes in such a place is put where a result may hold anything (`with_task_in_meta`), and found there again.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import mcp_types as types
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError

from angelia.cancellation import cancel_and_wait
from angelia.core.days import DAY_MS
from angelia.core.text import clean, one_line
from angelia.tools.mcp.failures import ServerRefused
from angelia.tools.mcp.library_errors import in_our_terms
from angelia.tools.mcp.task_look import TaskLook, TaskTaken, pause_of
from mcp import Client

VERSION = "2025-11-25"

KEPT_MS = DAY_MS
"""Milliseconds for which a server is asked to keep a task: a day, since whoever follows it may be away."""

_TASK = "angelia/task"


def is_task_of(client: Client, tool: types.Tool) -> bool:
    """Whether a call of the tool is asked for as a task: where the server takes calls so, and the tool may be one."""
    able = client.server_capabilities.tasks
    of_tools = able.requests.tools if able and able.requests else None
    takes = client.protocol_version == VERSION and of_tools is not None and of_tools.call is not None
    return takes and tool.execution is not None and tool.execution.task_support in ("optional", "required")


async def called_as_task(
    client: Client, name: str, arguments: dict[str, Any], heard: ProgressFnT
) -> types.CallToolResult:
    """Call a tool as a task; a server that answers at once all the same has given its result.

    Raises:
        TaskTaken: the server has taken it on.
        MCPError, ValueError, RuntimeError: as the library's own calls.
    """
    params = types.CallToolRequestParams(name=name, arguments=arguments, task=types.TaskMetadata(ttl=KEPT_MS))
    request = types.CallToolRequest(params=params)
    result = await client.session.send_request(request, types.CallToolResult, progress_callback=heard)
    if taken := (result.meta or {}).get(_TASK):
        raise TaskTaken(types.Task.model_validate(taken).task_id)
    return result


def with_task_in_meta(message: types.JSONRPCMessage) -> types.JSONRPCMessage:
    """The message, as a call's result if it is a task that a call became."""
    if isinstance(message, types.JSONRPCResponse) and isinstance(task := message.result.get("task"), dict):
        return message.model_copy(update={"result": {"content": [], "_meta": {_TASK: task}}})
    return message


async def core_task_at(client: Client, task: str, alive: Callable[[], None]) -> TaskLook:
    """How a task stands. While it wants something, its result is waited for: what it asks comes in the middle of that,
    as requests of the server. `alive` is called at each sign of the server's.

    Raises:
        MCPError, ValueError, RuntimeError: as the library's own calls.
    """
    state = await _state(client, task)
    if state.status == "input_required":
        state = await _once_answered(client, task, state, alive)
    said = one_line(clean(state.status_message or ""), 300)
    pause = pause_of(state.poll_interval)
    match state.status:
        case "completed":
            return TaskLook(pause, said, await _result(client, task))
        case "failed":
            return await _failed(client, task, said)
        case "cancelled":
            return TaskLook(pause, said, fault=f"it was cancelled{f': {said}' if said else ''}")
        case _:
            return TaskLook(pause, said)


async def _once_answered(
    client: Client, task: str, state: types.GetTaskResult, alive: Callable[[], None]
) -> types.GetTaskResult:
    waiting = asyncio.create_task(_result(client, task))
    try:
        while state.status == "input_required" and not waiting.done():
            await asyncio.wait({waiting}, timeout=pause_of(state.poll_interval))
            state = await _state(client, task)
            alive()
    finally:
        await cancel_and_wait(waiting)
    return state


async def _failed(client: Client, task: str, said: str) -> TaskLook:
    """A task that failed has a result that says so, or an error in its place."""
    try:
        return TaskLook(0, said, await _result(client, task))
    except MCPError as error:
        match in_our_terms(error):
            case ServerRefused(gone=False) as refused:
                why = said or one_line(refused.said, 300)
            case _:
                raise
        return TaskLook(0, said, fault=f"it failed{f': {why}' if why else ''}")


async def _state(client: Client, task: str) -> types.GetTaskResult:
    request = types.GetTaskRequest(params=types.GetTaskRequestParams(task_id=task))
    return await client.session.send_request(request, types.GetTaskResult)


async def _result(client: Client, task: str) -> types.CallToolResult:
    """What the call came to; a server that waits for the end of the task gives it then."""
    request = types.GetTaskPayloadRequest(params=types.GetTaskPayloadRequestParams(task_id=task))
    return await client.session.send_request(request, types.CallToolResult)
