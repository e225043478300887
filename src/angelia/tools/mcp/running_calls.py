"""The calls that wait for a server: how long it may be silent for each, and whom what it asks meanwhile reaches.

A call waits for as long as something is heard of it, and for at most `seconds` in silence. While a person is asked on
its behalf the clock stands still, since it is the person then who is waited for. What a server asks is put to the call
in whose task it is heard; before protocol 2026-07-28 a server does not say in which call it asks, and the call begun
last counts.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

from msgspec import Struct

from angelia.tools.mcp.call_person import NOBODY, CallPerson


class AwaitedCall(Struct):
    """A call that waits for its result; `silence` ends it unless something is heard. `status` is the HTTP status with
    which its own request was answered, 0 before that and for programs.
    """

    person: CallPerson
    silence: asyncio.Timeout
    status: int = 0


class RunningCalls:
    """Those of one server, which may be silent for `seconds`."""

    def __init__(self, server: str, seconds: float) -> None:
        self._seconds = seconds
        self._running: list[AwaitedCall] = []
        self._own = ContextVar[AwaitedCall | None](f"call of {server}", default=None)
        self.idle = asyncio.Event()
        self.idle.set()

    @asynccontextmanager
    async def begun(self, person: CallPerson) -> AsyncIterator[AwaitedCall]:
        """A call of this task, for as long as it runs; its questions are put to `person`.

        Raises:
            TimeoutError: nothing was heard of it for too long.
        """
        async with asyncio.timeout(self._seconds) as silence:
            call = AwaitedCall(person, silence)
            token = self._own.set(call)
            self._running.append(call)
            self.idle.clear()
            try:
                yield call
            finally:
                self._running.remove(call)
                self._own.reset(token)
                if not self._running:
                    self.idle.set()

    def heard_of(self, call: AwaitedCall) -> None:
        """The server gave a sign of a call: its silence begins anew."""
        if not call.silence.expired():
            call.silence.reschedule(asyncio.get_running_loop().time() + self._seconds)

    def heard_of_own(self) -> None:
        """The same of the call that runs in this task, if one does."""
        if call := self._own.get():
            self.heard_of(call)

    def answered(self, status: int) -> None:
        """The request of the call that runs in this task was answered with this HTTP status."""
        if call := self._own.get():
            call.status = status

    @contextmanager
    def asking(self) -> Iterator[CallPerson]:
        """Whom a question of the server's reaches; while they are asked, nobody waits for the server."""
        call = self._own.get() or (self._running[-1] if self._running else None)
        if call is None or call.silence.expired():
            yield NOBODY
            return
        call.silence.reschedule(None)
        try:
            yield call.person
        finally:
            self.heard_of(call)
