"""The library's client over each way to a server; importing this costs half a second and is done in a thread."""

import base64
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

import anyio
import jsonschema  # noqa: F401 - a schema is checked with it later, on the event loop
import mcp_types as types
from mcp.client import ClientRequestContext, advertise
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct
from pydantic import FileUrl

from angelia.core.version import PACKAGE_VERSION
from angelia.tools.mcp.changes import hear_changes
from angelia.tools.mcp.core_tasks import called_as_task, is_task_of, with_task_in_meta
from angelia.tools.mcp.failures import ServerLost, ServerRefused, leaf
from angelia.tools.mcp.library_errors import in_our_terms
from angelia.tools.mcp.served import Offers, offers_of
from angelia.tools.mcp.skills import MOST_PAGES, SKILLS
from angelia.tools.mcp.streams import ReadStream, TransportStreams
from angelia.tools.mcp.tasks import TasksExtension
from mcp import Client

Transport = AbstractAsyncContextManager[TransportStreams]

_NOT_SPOKEN = (types.UNSUPPORTED_PROTOCOL_VERSION, types.METHOD_NOT_FOUND, types.INVALID_REQUEST, types.INVALID_PARAMS)
"""Answers to the handshake of 2025 and before by a server that knows only what came after it."""

_CHANGES = (
    types.ToolListChangedNotification,
    types.PromptListChangedNotification,
    types.ResourceListChangedNotification,
)

# What it logs quotes messages, and these hold what was said; what goes wrong is told by the errors that it raises.
logging.getLogger("mcp").setLevel(logging.CRITICAL)


Elicit = Callable[[types.ElicitRequestParams], Awaitable[types.ElicitResult]]
"""Puts what a server asks to the person."""

_ROUNDS = 3
"""How often one call may send the person somewhere before it answers."""


async def _no_person(_: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="cancel")


class Hooks(Struct, frozen=True):
    """What is to be done when a list of the server has changed, and when the other side has gone; `roots` are URIs.

    `elicit` answers a server that asks something. With `newest_first` the protocol of 2026-07-28 is spoken first, and
    that of before to who does not know it.
    """

    stale: Callable[[], None]
    over: Callable[[], None]
    roots: tuple[str, ...] = ()
    newest_first: bool = False
    elicit: Elicit = _no_person


@asynccontextmanager
async def talking(way: Callable[[], Transport], hooks: Hooks) -> AsyncIterator[Client]:
    """A client that has said hello.

    A site is asked in the new way first: one that speaks only that refuses the old handshake, or answers it with a
    version that the handshake never had. A program is asked in the old way first, since old ones may end when they
    are asked something that they do not know; one that does not know it is asked once more, in the new way.

    Raises:
        Exception: whatever the library and its transports raise, alone or in groups.
    """
    async with AsyncExitStack() as stack:
        try:
            client = await stack.enter_async_context(_client(way(), hooks, "auto" if hooks.newest_first else "legacy"))
        except Exception as error:
            refusal = leaf(error)
            if hooks.newest_first or not isinstance(refusal, MCPError) or refusal.code not in _NOT_SPOKEN:
                raise
            client = await stack.enter_async_context(_client(way(), hooks, "auto"))
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            group = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(group.cancel_scope.cancel)
            group.start_soon(hear_changes, client, hooks.stale)
        yield client


def _client(transport: Transport, hooks: Hooks, mode: str) -> Client:
    async def heard(message: Any) -> None:
        if isinstance(message, _CHANGES):
            hooks.stale()

    async def roots(context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl(root)) for root in hooks.roots])

    async def elicited(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        return await hooks.elicit(params)

    return Client(
        _watched(transport, hooks.over),
        mode=mode,
        message_handler=heard,
        list_roots_callback=roots if hooks.roots else None,
        elicitation_callback=elicited,
        client_info=types.Implementation(name="angelia", title="Angelia", version=PACKAGE_VERSION),
        extensions=[advertise(SKILLS), TasksExtension()],
        cache=None,
    )


async def tools_of(client: Client) -> tuple[types.Tool, ...]:
    """Every tool that the server lists now, in its order."""
    if client.server_capabilities.tools is None:
        return ()
    return tuple([one async for page in _pages(client.list_tools) for one in page.tools])


async def offers_at(client: Client, server: str) -> Offers:
    """The resources, templates and prompts that the server lists now.

    Raises:
        ServerRefused: it says that it has some, and does not list them.
        ServerLost: the connection ended before an answer came.
    """
    able = client.server_capabilities
    found, made, prompts = list[types.Resource](), list[types.ResourceTemplate](), list[types.Prompt]()
    try:
        if able.resources:
            found = [one async for page in _pages(client.list_resources) for one in page.resources]
            made = await _templates(client)
        if able.prompts:
            prompts = [one async for page in _pages(client.list_prompts) for one in page.prompts]
    except (MCPError, ValueError, RuntimeError) as error:
        raise _failure(error) from error
    return offers_of(server, found, made, prompts)


async def _templates(client: Client) -> list[types.ResourceTemplate]:
    """A server that has resources need not know templates."""
    try:
        return [one async for page in _pages(client.list_resource_templates) for one in page.resource_templates]
    except MCPError as error:
        if error.code != types.METHOD_NOT_FOUND:
            raise
        return []


async def _pages(listed: Callable[..., Awaitable[Any]]) -> AsyncIterator[Any]:
    """Page after page, each by the cursor that the one before gave."""
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await listed(cursor=cursor)
        yield page
        cursor = page.next_cursor
        if not cursor:
            return


async def contents_at(client: Client, uri: str) -> list[types.TextResourceContents | types.BlobResourceContents]:
    """What the server serves at an address.

    Raises:
        ServerRefused: it has nothing there, or answered with something that is none.
        ServerLost: the connection ended before an answer came.
    """
    try:
        return list((await client.read_resource(uri)).contents)
    except (MCPError, ValueError, RuntimeError) as error:
        raise _failure(error) from error


async def prompt_at(client: Client, name: str, arguments: dict[str, str]) -> list[types.PromptMessage]:
    """The messages of a prompt.

    Raises:
        ServerRefused, ServerLost: as `contents_at`.
    """
    try:
        return list((await client.get_prompt(name, arguments)).messages)
    except (MCPError, ValueError, RuntimeError) as error:
        raise _failure(error) from error


def _failure(error: Exception) -> ServerLost | ServerRefused:
    """What an answer that is none comes to."""
    if isinstance(error, MCPError):
        return in_our_terms(error)
    return ServerRefused(f"its answer is none of the protocol's: {error}", gone=False)


async def file_at(client: Client, uri: str) -> bytes:
    """The bytes of a resource of the server.

    Raises:
        ServerRefused: it has none there, or answered with something that is none.
        ServerLost: the connection ended before an answer came.
    """
    contents = await contents_at(client, uri)
    try:
        [content] = [one for one in contents if one.uri == uri]
        if isinstance(content, types.TextResourceContents):
            return content.text.encode()
        return base64.b64decode(content.blob, validate=True)
    except ValueError as error:
        raise _failure(error) from error


def listed_as(name: str, tools: Sequence[types.Tool]) -> types.Tool:
    """A tool as it was listed; one that was not is what its name says."""
    return next((tool for tool in tools if tool.name == name), types.Tool(name=name, input_schema={}))


async def call_tool(
    client: Client, tool: types.Tool, arguments: dict[str, Any], heard: ProgressFnT, elicit: Elicit
) -> types.CallToolResult:
    """One call. Who is cancelled while waiting takes it back at the server.

    One that is refused until the person has been somewhere (URLElicitationRequired, 2025-11-25) sends them there by
    `elicit`, and is made again.

    Raises:
        ServerRefused: the server answered with an error, or with something that is no result; `gone` says that it has
            forgotten the session and did nothing.
        ServerLost: the connection ended before an answer came.
        TaskTaken: the server has taken it on as a task.
    """
    for _ in range(_ROUNDS):
        try:
            if is_task_of(client, tool):
                return await called_as_task(client, tool.name, arguments, heard)
            return await client.call_tool(tool.name, arguments, progress_callback=heard)
        except MCPError as error:
            if not await _been_there(error, elicit):
                raise in_our_terms(error) from error
        except RuntimeError as error:  # it has answered, and not by the schema that it gave itself
            raise ServerRefused(str(error), gone=False) from error
        except ValueError as error:
            raise ServerRefused(f"its answer is none of the protocol's: {error}", gone=False) from error
    raise ServerRefused(f"it sent the person somewhere {_ROUNDS} times, and never went on", gone=False)


async def _been_there(error: MCPError, elicit: Elicit) -> bool:
    """Whether a call was refused for want of a visit that the person has made now."""
    if error.code != types.URL_ELICITATION_REQUIRED:
        return False
    try:
        wanted = types.ElicitationRequiredErrorData.model_validate(error.data).elicitations
    except ValueError:
        return False
    for one in wanted:
        if (await elicit(one)).action != "accept":
            return False
    return bool(wanted)


class ServerProcess(Protocol):
    """A program that speaks over its pipes, wherever it runs."""

    @property
    def complaint(self) -> str:
        """The last thing that it complained of, for people; empty for none."""
        ...

    def lines(self) -> AsyncIterator[bytes]:
        """What it says, line by line, until it ends."""
        ...

    async def write(self, data: bytes) -> None:
        """Hand it some bytes; waits while it does not read.

        Raises:
            OSError: it has ended, or closed its stdin.
        """
        ...

    async def close(self) -> None:
        """Close its stdin, and end it with everything that it started. Idempotent."""
        ...


@asynccontextmanager
async def program(start: Callable[[], Awaitable[ServerProcess]], told: Callable[[str], None]) -> AsyncIterator[Any]:
    """The pipes of a program as a transport; `told` is given the last thing it complained about when it has ended.

    A line that is no message (a program that greets whoever started it) is passed over.
    """
    process = await start()
    to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_us = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with to_us:
            async for line in process.lines():
                try:
                    message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    continue
                await to_us.send(SessionMessage(message))

    async def write() -> None:
        async with from_us:
            async for one in from_us:
                text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.write(text.encode() + b"\n")

    async def until_closed(pump: Callable[[], Awaitable[None]]) -> None:
        try:
            await pump()
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            to_us.close()  # it has ended, or we are leaving: whoever waits hears of it by the end of the stream

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(until_closed, read)
            group.start_soon(until_closed, write)
            try:
                yield incoming, outgoing
            finally:
                group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await process.close()
        told(process.complaint)


@asynccontextmanager
async def _watched(transport: Transport, over: Callable[[], None]) -> AsyncIterator[TransportStreams]:
    async with transport as (incoming, outgoing):
        yield _UntilItEnds(incoming, over), outgoing


def _readable(one: SessionMessage | Exception) -> SessionMessage | Exception:
    if isinstance(one, SessionMessage):
        one.message = with_task_in_meta(one.message)
    return one


class _UntilItEnds:
    """A stream that says when it has ended: the library tells nobody who does not happen to be waiting.

    A task in an answer's place is handed on where the library leaves it be.
    """

    def __init__(self, stream: ReadStream, over: Callable[[], None]) -> None:
        self._stream, self._over = stream, over

    @property
    def last_context(self) -> Any:
        """Where a message came from, for transports that know."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        return _readable(await self._stream.receive())

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()

    def __aiter__(self) -> "_UntilItEnds":
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return _readable(await self._stream.__anext__())
        except (StopAsyncIteration, anyio.ClosedResourceError):
            self._over()
            raise

    async def __aenter__(self) -> "_UntilItEnds":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._stream.__aexit__(*error)
