"""A connection of the listener that ends when nothing comes of it.

uvicorn has a deadline for the pause between two requests, and none for a request that never becomes whole (Settings,
"Timeouts") nor for an answer that nobody takes. Both are bounded here. Of connections whose request has not come only
so many are kept, and the oldest goes first: a request that is meant comes at once.
"""

import asyncio
from typing import TYPE_CHECKING

from angelia.faces.listener.unfinished import ListenerLimits

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol


class UnfinishedHeads:
    """The connections whose next request has not come."""

    def __init__(self, limits: ListenerLimits) -> None:
        self._limits = limits
        self._deadlines: dict[asyncio.Transport, asyncio.TimerHandle] = {}

    def wait(self, transport: asyncio.Transport) -> None:
        """From now on, if it is not waited for already."""
        if transport in self._deadlines or transport.is_closing():
            return
        deadline = asyncio.get_running_loop().call_later(self._limits.head_s, transport.abort)
        self._deadlines[transport] = deadline
        if len(self._deadlines) > self._limits.heads:
            oldest = next(iter(self._deadlines))
            self.over(oldest)
            oldest.abort()

    def over(self, transport: asyncio.Transport) -> None:
        """It has come, or never will."""
        if deadline := self._deadlines.pop(transport, None):
            deadline.cancel()


def bounded(limits: ListenerLimits) -> "type[H11Protocol]":
    """The protocol of a listener with these limits."""
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    heads = UnfinishedHeads(limits)

    class BoundedConnection(H11Protocol):
        """uvicorn's connection, with deadlines."""

        stalled: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
            """Somebody came; the request is waited for."""
            super().connection_made(transport)
            heads.wait(transport)

        def connection_lost(self, exc: Exception | None) -> None:
            """It is over."""
            heads.over(self.transport)
            self.resume_writing()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            """Some of a request."""
            super().data_received(data)
            (heads.wait if self.conn.their_state is h11.IDLE else heads.over)(self.transport)

        def pause_writing(self) -> None:
            """The answer is not taken."""
            super().pause_writing()
            self.stalled = self.stalled or self.loop.call_later(limits.stalled_s, self.transport.abort)

        def resume_writing(self) -> None:
            """It is taken."""
            super().resume_writing()
            if self.stalled is not None:
                self.stalled.cancel()
            self.stalled = None

    return BoundedConnection
