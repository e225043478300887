"""The stream by which a site of before 2026-07-28 asks things unbidden, and who waits until it stands.

Streamable HTTP up to 2025-11-25 ("Listening for Messages from the Server") has a client open it by a GET once it has
said that it is initialized. The library does so beside the first request; a site that asks something in the middle of
that has nowhere to send it then, and some lose it. So nothing more is sent before the GET was answered, in whatever
way: a site without such a stream says 405.
"""

import asyncio
from contextlib import suppress
from typing import Any, Self

import httpx2
from mcp.shared.message import SessionMessage

from angelia.tools.mcp.streams import WriteStream

SESSION = "mcp-session-id"
"""Who gives none is not asked for a stream by the library."""

ANSWERED_S = 5.0
"""How long it is waited for: some servers, and proxies before them, hold back the head until something is to be said,
and some never answer.
"""


class StandaloneStream:
    """What is known of the stream of one connection."""

    def __init__(self) -> None:
        self._expected = False
        self._answered = asyncio.Event()

    def note(self, response: httpx2.Response) -> None:
        """A response of the site."""
        if SESSION in response.headers:
            self._expected = True
        if (
            response.request.method == "GET"
            and SESSION in response.request.headers
            and not response.has_redirect_location
        ):
            self._answered.set()

    async def stands(self) -> None:
        """Wait until the site has answered, or is not expected to."""
        if self._expected:
            with suppress(TimeoutError):
                async with asyncio.timeout(ANSWERED_S):
                    await self._answered.wait()
            self._answered.set()  # it is waited for once


class AfterStream:
    """What is sent to the site; from the end of the handshake on, only once its stream stands."""

    def __init__(self, outgoing: WriteStream, stream: StandaloneStream) -> None:
        self._outgoing, self._stream = outgoing, stream
        self._initialized = False

    async def send(self, item: SessionMessage) -> None:
        """Send a message."""
        if self._initialized:
            await self._stream.stands()
        await self._outgoing.send(item)
        self._initialized = self._initialized or getattr(item.message, "method", "") == "notifications/initialized"

    async def aclose(self) -> None:
        """Close it."""
        await self._outgoing.aclose()

    async def __aenter__(self) -> Self:
        await self._outgoing.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        return await self._outgoing.__aexit__(*error)
