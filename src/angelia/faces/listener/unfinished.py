"""Request bodies that are still arriving, and how much of them is held in all.

Whoever knows an address may begin to bring a body, and where the network signs the body, nobody knows before its end
who it was. So three things are bounded: what one may have (told by the channel), how long it may take, and what all of
them hold. When there is too much, the largest goes, and when there are too many, the oldest: what a network brings is
small and comes at once, so it outlives whatever is there to fill us. Who was cut off is told 503, and networks come
again.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from msgspec import Struct

from angelia.channels.webhooks import WebResponse

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class ListenerLimits(Struct, frozen=True):
    """What strangers may take of the listener: seconds, bytes, and how many at once."""

    head_s: float = 10.0
    """From the connection, or from the first byte of a further request, to the end of its headers."""
    body_s: float = 30.0
    """From there to the end of the body."""
    stalled_s: float = 60.0
    """How long nothing of an answer may be taken."""
    heads: int = 64
    """Connections whose request has not come."""
    bodies: int = 64
    held: int = 8_000_000
    """Bytes of all unfinished bodies."""
    connections: int = 256
    """In all; whoever comes then is told 503."""
    answered_s: float = 2.0
    """How long a request that is under way as the listener ends may take; then it is told 503."""


class _Body:
    def __init__(self, until: asyncio.Timeout) -> None:
        self._until = until
        self.pieces: list[bytes] = []
        self.size, self.cut = 0, False

    def add(self, piece: bytes) -> None:
        """Some more of it."""
        self.pieces.append(piece)
        self.size += len(piece)

    def let_go(self) -> None:
        """Forget it, and wake who waits for the rest."""
        self.pieces.clear()
        self.size, self.cut = 0, True
        if not self._until.expired():
            self._until.reschedule(asyncio.get_running_loop().time())


class UnfinishedBodies:
    """Reads bodies within the limits."""

    def __init__(self, limits: ListenerLimits) -> None:
        self._limits = limits
        self._open: dict[_Body, None] = {}

    @property
    def held(self) -> int:
        """Bytes, now."""
        return sum(body.size for body in self._open)

    async def read(self, receive: Receive, most: int) -> bytes | WebResponse:
        """A whole body of at most so many bytes, or why there is none."""
        body: _Body | None = None
        try:
            async with asyncio.timeout(self._limits.body_s) as until:
                body = _Body(until)
                self._open[body] = None
                return await self._read(body, receive, most)
        except TimeoutError:
            return WebResponse(503 if body and body.cut else 408)
        finally:
            if body is not None:
                self._open.pop(body, None)

    async def _read(self, body: _Body, receive: Receive, most: int) -> bytes | WebResponse:
        self._let_go_of_excess()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return WebResponse(400)  # it is gone, and hears nothing
            body.add(message.get("body", b""))
            self._let_go_of_excess()
            if body.cut:
                return WebResponse(503)
            if body.size > most:
                return WebResponse(413)
            if not message.get("more_body"):
                return b"".join(body.pieces)

    def _let_go_of_excess(self) -> None:
        if len(self._open) > self._limits.bodies:
            self._let_go(next(iter(self._open)))
        while self.held > self._limits.held:
            self._let_go(max(self._open, key=lambda body: body.size))

    def _let_go(self, body: _Body) -> None:
        del self._open[body]
        body.let_go()
