"""Streams of a site of before 2026-07-28 that are opened again where they are cut, after growing pauses.

The library opens a site's own stream anew twice, and gives it up then for good: from that on what the site tells or
asks unbidden comes to nobody. For it this one stream never ends, unless the site has it no more. A site that numbers
its events is asked for those that were missed ("Resumability and Redelivery", 2025-11-25); of any other the lists are
asked for again. An answer whose events are numbered goes on in the same way: sites cut it on purpose while they work,
and at some 950 cuts of one answer the library has gone too deep to go on.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2

from angelia.tools.mcp import answer_size
from angelia.tools.mcp.reopening import Reopening
from angelia.tools.mcp.sse_events import is_stream, written

LAST_EVENT = "last-event-id"

_LATER = (408, 425, 429)
"""Statuses below 500 of a site that may have it again in a while."""

SOONEST_S = 0.1
"""Seconds after which it is opened again at the soonest, where a site wants it sooner."""

MOST_TRIES = 7
"""About half a minute of pauses."""

Open = Callable[[str], Awaitable[httpx2.Response]]
"""Asks for the stream, from behind the event of this id on if it is not empty."""


class KeptStream(httpx2.AsyncByteStream):
    """What comes by it, whole events alone. `missed` is called where something may have been told meanwhile."""

    def __init__(self, first: httpx2.Response, reopen: Open, missed: Callable[[], None]) -> None:
        self._response = first
        self._reopen, self._missed = reopen, missed
        self._last, self._wanted_s = "", 0.0
        self._again = Reopening()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Every event, until the site has no such stream any more."""
        standing = True
        while standing:
            try:
                async for event in httpx2.EventSource(self._response, max_event_size=answer_size.MOST_ANSWER):
                    self._again.heard()
                    self._last = event.id or self._last
                    self._wanted_s = self._wanted_s if event.retry is None else event.retry / 1000
                    yield written(event)
            except httpx2.SSEError as error:
                self._leave_out(error)
            except httpx2.TransportError:
                pass  # it was cut
            await self._response.aclose()
            standing = await self._opened_again()

    def _leave_out(self, error: httpx2.SSEError) -> None:
        """An event was larger than a message may be: it is not asked for again, nor what came behind it."""
        self._last = ""

    def _may_try(self) -> bool:
        return True

    async def _opened_again(self) -> bool:
        while self._may_try():
            wanted = max(self._wanted_s, SOONEST_S) if self._wanted_s and not self._again.tries else 0.0
            pause = self._again.pause()
            await asyncio.sleep(wanted or max(pause, self._wanted_s))
            try:
                self._response = await self._reopen(self._last)
            except httpx2.TransportError:
                continue
            status = self._response.status_code
            if status == 200 and is_stream(self._response):
                self._again.opened()
                if not self._last:
                    self._missed()
                return True
            await self._response.aclose()
            if status < 500 and status not in _LATER:
                self._missed()
                return False
        return False

    async def aclose(self) -> None:
        """Let go of it."""
        await self._response.aclose()


class KeptAnswer(KeptStream):
    """The stream by which one request is answered; given up where its events have no numbers, or after some tries in a
    row that brought none.
    """

    def __init__(self, first: httpx2.Response, reopen: Open) -> None:
        super().__init__(first, reopen, _nothing_missed)

    def _leave_out(self, error: httpx2.SSEError) -> None:
        raise error  # it was the answer

    def _may_try(self) -> bool:
        return bool(self._last) and self._again.tries < MOST_TRIES


def _nothing_missed() -> None:
    return
