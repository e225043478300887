"""Notices that nobody has used something for a while."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager

Rest = Callable[[], Coroutine[object, object, None]]
"""What is done then; it raises nothing."""


class Idle:
    """Calls `rest` once nobody has used something for `seconds`, and again after each later use.

    `busy` says whether it is in use beyond the uses that are told; then it is asked again later.
    """

    def __init__(self, seconds: float, busy: Callable[[], bool], rest: Rest) -> None:
        self._seconds = seconds
        self._busy = busy
        self._rest = rest
        self._users = 0
        self._timer: asyncio.TimerHandle | None = None
        self._resting: asyncio.Task[None] | None = None

    @property
    def unused(self) -> bool:
        """Whether nobody uses it at this moment."""
        return not self._users and not self._busy()

    @contextmanager
    def use(self) -> Iterator[None]:
        """Somebody uses it; the time begins anew when they are done."""
        self._users += 1
        self.stop()
        try:
            yield
        finally:
            self._users -= 1
            self.wait()

    def wait(self) -> None:
        """Begin to count the time anew."""
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._over)

    def stop(self) -> None:
        """Count no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _over(self) -> None:
        if self.unused:
            self._resting = asyncio.create_task(self._rest())
        else:
            self.wait()
