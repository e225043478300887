"""How far a painter is, for the person who waits; nothing of it within the first second."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

_PATIENCE_S, _TICK_S = 1.0, 5.0


class PaintProgress:
    """Shows who paints, how far and for how long, every few seconds and when there is news, within an `async with`."""

    def __init__(self, what: str, show: Callable[[str], None]) -> None:
        self._what, self._show = what, show
        self._far, self._shown = "", False

    def tell(self, far: str) -> None:
        """What the painter says of how far it is."""
        self._far = far
        if self._shown:
            self._line()

    async def __aenter__(self) -> Self:
        self._began = asyncio.get_running_loop().time()
        self._ticking = asyncio.create_task(self._tick())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ticking.cancel()

    async def _tick(self) -> None:
        await asyncio.sleep(_PATIENCE_S)
        self._shown = True
        while True:
            self._line()
            await asyncio.sleep(_TICK_S)

    def _line(self) -> None:
        seconds = int(asyncio.get_running_loop().time() - self._began)
        parts = [self._what, self._far, f"{seconds} s" if seconds >= _TICK_S else ""]
        self._show(f"{', '.join(part for part in parts if part)} …\n")
