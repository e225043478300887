"""Waiting for a fact instead of for time."""

import asyncio
from collections.abc import Callable


class Changes:
    """Whoever changes something tells; whoever waits looks again each time."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def tell(self) -> None:
        """Something has changed."""
        self._next.set()
        self._next = asyncio.Event()

    async def when(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        while not holds():
            await self._next.wait()
