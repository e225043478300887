"""Messages that a site of the older HTTP+SSE transport refuses to take, told at once to whoever waits for an answer.

There a request goes out by a POST, and its result comes on a stream that was opened before (protocol 2024-11-05, "HTTP
with SSE"). The library gives up sending at the first POST that fails and says so in its own log alone, so every request
would wait in silence from then on. Here the site's refusal becomes the answer of the request that it refused, and a
POST that never got through ends the connection, which is then sought again.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp.shared.message import SessionMessage

from angelia.core.text import clean, one_line
from angelia.tools.mcp.failures import NO_ANSWER
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
            return await self._own.send(request, stream=True)
        try:
            response = await self._own.send(request)
        except Exception:
            self._into.close()
            raise
        if response.is_success or _is_followed(response):
            return response
        said = one_line(clean(response.text), _MOST_WORDS)
        message = types.jsonrpc_message_adapter.validate_json(request.content, by_name=False)
        if isinstance(message, types.JSONRPCRequest):
            error = types.ErrorData(code=types.INTERNAL_ERROR, message=f"{NO_ANSWER}: {said}" if said else NO_ANSWER)
            refusal = types.JSONRPCError(jsonrpc="2.0", id=message.id, error=error)
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await self._into.send(SessionMessage(refusal))
        return httpx2.Response(202, request=request)

    async def aclose(self) -> None:
        """Close every connection."""
        self._into.close()
        self._received.close()
        await self._own.aclose()


def _is_followed(response: httpx2.Response) -> bool:
    """Whether the library follows it: a redirect that keeps the message, within the origin or to its https."""
    if (follow := response.next_request) is None or follow.method != "POST":
        return False
    here, there = response.request.url, follow.url
    upgraded = there.host == here.host and there.scheme == "https" and here.port is there.port is None
    return upgraded or (there.scheme, there.host, there.port) == (here.scheme, here.host, here.port)
