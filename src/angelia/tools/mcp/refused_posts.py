"""What a site of the older HTTP+SSE transport says, handed on beside the library's own reading of it.

There a request goes out by a POST, and its result comes on a stream that was opened before (protocol 2024-11-05, "HTTP
with SSE"). The library gives up sending at the first POST that fails and says so in its own log alone, so every request
would wait in silence from then on. Here the site's refusal becomes the answer of the request that it refused, and a
POST that never got through ends the connection, which is then sought again. And it has a bound on what comes by the
stream that it lets nobody set, so messages are read here; from the stream it learns where to post, and when it ends.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp.shared.message import SessionMessage

from angelia.core.text import clean, one_line
from angelia.tools.mcp import answer_size
from angelia.tools.mcp.failures import NO_ANSWER
from angelia.tools.mcp.sse_events import EVENTS, written
from angelia.tools.mcp.streams import ReadStream

_MOST_WORDS = 300
"""Characters of what a site says of its refusal; some send a whole page."""


class RefusedPosts(httpx2.AsyncBaseTransport):
    """Sends by a client of ours, which holds the headers, the login and the way to the site."""

    def __init__(self, own: httpx2.AsyncClient) -> None:
        self._own = own
        self._into, self._received = anyio.create_memory_object_stream[SessionMessage | Exception]()

    def client(self, *_given: Any, **_named: Any) -> httpx2.AsyncClient:
        """What the library sends by."""
        own = self._own
        return httpx2.AsyncClient(transport=self, headers=own.headers, timeout=own.timeout, trust_env=False)

    @asynccontextmanager
    async def with_refusals(self, incoming: ReadStream) -> AsyncIterator[ReadStream]:
        """What comes from the site, and what it refused to take."""

        async def hand_on() -> None:
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                async with self._into:
                    async for message in incoming:
                        await self._into.send(message)

        async with anyio.create_task_group() as group:
            group.start_soon(hand_on)
            yield self._received
            group.cancel_scope.cancel()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it; a message that was refused counts as taken, since its answer is there."""
        if request.method != "POST":
            opened = await self._own.send(request, stream=True)
            heard = _WithoutMessages(opened, self._hear)
            return httpx2.Response(200, headers=_STREAM, stream=heard) if opened.status_code == 200 else opened
        try:
            response = await self._own.send(request, stream=True)
            body = await answer_size.read_whole(response) or b""
        except Exception:
            self._into.close()
            raise
        if _is_followed(response):
            return httpx2.Response(
                response.status_code, headers={"location": response.headers["location"]}, request=request
            )
        if not response.is_success:
            await self._refuse(request, body)
        return httpx2.Response(202, request=request)

    async def _refuse(self, request: httpx2.Request, body: bytes) -> None:
        """The site's words are the answer of the request that it refused."""
        said = one_line(clean(body.decode("utf-8", "replace")), _MOST_WORDS)
        message = types.jsonrpc_message_adapter.validate_json(request.content, by_name=False)
        if isinstance(message, types.JSONRPCRequest):
            error = types.ErrorData(code=types.INTERNAL_ERROR, message=f"{NO_ANSWER}: {said}" if said else NO_ANSWER)
            refusal = types.JSONRPCError(jsonrpc="2.0", id=message.id, error=error)
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await self._into.send(SessionMessage(refusal))

    async def _hear(self, data: str) -> None:
        """A message that came; what is none, such as a sign of life, is passed over."""
        with suppress(ValueError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            message = types.jsonrpc_message_adapter.validate_json(data, by_name=False)
            await self._into.send(SessionMessage(message))

    async def aclose(self) -> None:
        """Close every connection."""
        self._into.close()
        self._received.close()
        await self._own.aclose()


_STREAM = {"content-type": EVENTS}


class _WithoutMessages(httpx2.AsyncByteStream):
    """The stream of a site as the library reads it; what is said by it is given to `hear`."""

    def __init__(self, response: httpx2.Response, hear: Callable[[str], Awaitable[None]]) -> None:
        self._response, self._hear = response, hear

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Every other event."""
        try:
            async for event in httpx2.EventSource(self._response, max_event_size=answer_size.MOST_ANSWER):
                if event.event == "message":
                    await self._hear(event.data)
                else:
                    yield written(event)
        except httpx2.SSEError as error:
            raise httpx2.SSEError(f"the site's stream cannot be read: {error}") from error

    async def aclose(self) -> None:
        """Let go of it."""
        await self._response.aclose()


def _is_followed(response: httpx2.Response) -> bool:
    """Whether the library follows it: a redirect that keeps the message, within the origin or to its https."""
    if (follow := response.next_request) is None or follow.method != "POST":
        return False
    here, there = response.request.url, follow.url
    upgraded = there.host == here.host and there.scheme == "https" and here.port is there.port is None
    return upgraded or (there.scheme, there.host, there.port) == (here.scheme, here.host, here.port)
