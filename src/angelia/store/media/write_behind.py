"""Taking bytes in a thread while the next ones come."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

SMALL = 64 * 1024
"""Bytes. Up to here, taking them at once is faster than handing them to a thread."""
AHEAD = 4 * 1024 * 1024
"""Bytes that may be gathered while as many at most are being taken."""


class WriteBehind:
    """Calls `take` with each chunk, in order, one call at a time, and in a thread if they are many.

    Whoever waited for the thread after each chunk would wait for the interpreter each time, which a busy loop does not
    give away within 5 ms (`sys.getswitchinterval`). After its context all has been taken, or nothing is any more.
    """

    def __init__(self, take: Callable[[bytes], object]) -> None:
        self._take = take
        self._gathered: list[bytes] = []
        self._size = 0
        self._taking: asyncio.Future[None] | None = None

    async def __aenter__(self) -> "WriteBehind":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                await self._taken()
                if self._size > SMALL:
                    self._begin()
                    await self._taken()
                else:
                    _take_all(self._take, self._gathered)
        finally:
            while self._taking is not None and not self._taking.done():
                with suppress(asyncio.CancelledError):  # who is cancelled still must not close what is written to
                    await asyncio.wait([self._taking])
            if self._taking is not None:
                self._taking.exception()  # something else is told already

    async def write(self, data: bytes) -> None:
        """One more chunk; returns as soon as the next may come.

        Raises:
            Exception: what `take` raised of an earlier one; later ones are not taken.
        """
        self._gathered.append(data)
        self._size += len(data)
        if self._taking is not None and (self._taking.done() or self._size >= AHEAD):
            await self._taken()
        if self._taking is None and self._size > SMALL:
            self._begin()

    def _begin(self) -> None:
        gathered, self._gathered, self._size = self._gathered, [], 0
        self._taking = asyncio.ensure_future(asyncio.to_thread(_take_all, self._take, gathered))

    async def _taken(self) -> None:
        if self._taking is not None:
            await asyncio.wait([self._taking])
            taking, self._taking = self._taking, None
            taking.result()


def _take_all(take: Callable[[bytes], object], chunks: list[bytes]) -> None:
    for chunk in chunks:
        take(chunk)
