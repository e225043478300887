"""Limits on single waits that cost no timer each: an answer of a thousand pieces waits a thousand times."""

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

T = TypeVar("T")


class DeadlineTimer:
    """How long each of many waits may take, one after the other. One timer looks whether the wait of the moment has
    gone on for too long; a wait that ends in time only moves the moment at which that would be so. Close it after.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Task[Any] | None = None
        self._until = 0.0
        self._over = False

    async def wait(self, work: Awaitable[T], seconds: float) -> T:
        """What `work` brings.

        Raises:
            TimeoutError: it took longer than `seconds`, and was cancelled.
        """
        task = asyncio.current_task()
        assert task is not None
        before = task.cancelling()
        self._waiting, self._until = task, self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._until:
            self._look_at(self._until)
        try:
            return await work
        except asyncio.CancelledError as cancelled:
            if self._over and task.uncancel() <= before:
                raise TimeoutError from cancelled
            raise
        finally:
            self._waiting = None

    def close(self) -> None:
        """Nothing is waited for any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look_at(self, moment: float) -> None:
        self.close()
        self._timer = self._loop.call_at(moment, self._look)

    def _look(self) -> None:
        self._timer = None
        if self._waiting is None:
            return
        if self._loop.time() < self._until:
            self._look_at(self._until)
            return
        self._over = True
        self._waiting.cancel()
