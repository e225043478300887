"""Drives a conversation whenever there is something to do, and only while its lease is held."""

import asyncio
from contextlib import suppress
from typing import Protocol

from angelia.cancellation import end_if_cancelled
from angelia.core import entry as e
from angelia.core.days import day_of
from angelia.core.errors import Fenced, NotFound, StoreError
from angelia.engine import machine as m
from angelia.engine.background import lose
from angelia.engine.live import Resting
from angelia.engine.log import Log
from angelia.engine.state import Turn
from angelia.store.log.lease import HeldElsewhere, Lease
from angelia.store.log.transcript import Spending, Transcript
from angelia.store.port import LogStore

_HELD_RETRY_S = 1.0


class TurnDriver(Protocol):
    """What keeps a conversation going while its lease is held: `engine.driver.Driver` is one."""

    def resting(self) -> m.Rest | None:
        """The rest that the log allows now, or None if there is something to do."""
        ...

    async def drive(self, lease: Lease, spent_today: tuple[int, int] = (0, 0)) -> m.Rest:
        """Go on until there is nothing to do; `spent_today` is (tokens, millionths of a dollar) before this turn.

        Raises:
            Fenced: somebody else drives now; nothing was done since.
            StoreError: the store failed; nothing was acknowledged since.
        """
        ...


class LogState(Protocol):
    """What a conversation's log says now."""

    @property
    def turn(self) -> Turn:
        """Where the conversation stands."""
        ...

    @property
    def behind(self) -> list[e.WorkStarted]:
        """What calls left running."""
        ...


class TurnRunner:
    """One conversation's driving in this process; `holder` is who others are told has it."""

    def __init__(self, log: Log, state: LogState, db: LogStore, transcript: Transcript, holder: str) -> None:
        self._log = log
        self._state = state
        self._db = db
        self._transcript = transcript
        self._holder = holder
        self._clock = db.clock
        self._wake, self._free = asyncio.Event(), asyncio.Event()
        self._free.set()
        self._idle = self._expecting = False
        self._releasing: asyncio.Task[None] | None = None

    def expect(self) -> None:
        """Somebody is about to say something: the lease is taken in the very commit that stores it."""
        if self._idle and self._free.is_set():
            self._expecting = True
            self._wake.set()

    def hold(self) -> None:
        """Begin nothing until `let_go`; what is under way goes on."""
        self._free.clear()

    def let_go(self) -> None:
        """Begin again what there is to do."""
        self._free.set()

    async def go_on(self, driver: TurnDriver) -> None:
        """Drive until cancelled; in between, rest until something is appended or the time has come."""
        forget = self._log.listen(lambda _: self._wake.set())
        try:
            while True:
                await self._free.wait()
                self._wake.clear()
                if self._releasing and self._releasing.done():
                    self._releasing.result()
                expected, self._expecting = self._expecting, False
                at_once = expected or await self._lost()
                rest = (None if at_once else driver.resting()) or await self._drive(driver, expected=expected)
                end_if_cancelled()
                await self._rest(rest)
        finally:
            forget()
            if self._releasing:
                await asyncio.shield(self._releasing)

    async def _rest(self, rest: m.Rest) -> None:
        self._idle = True
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds_until(rest)):
                await self._wake.wait()
        self._idle = False

    async def _drive(self, driver: TurnDriver, *, expected: bool) -> m.Rest:
        """Drive with the lease; a conversation that somebody else drives is looked at again a moment later."""
        later = m.Rest(self._clock() + int(_HELD_RETRY_S * 1000))
        today = day_of(self._clock())
        try:
            lease, news, spent = await self._transcript.take_up(
                self._log.conversation, self._holder, len(self._log.entries), today
            )
        except HeldElsewhere as held:
            self._log.live.emit(Resting(later.until, str(held)))
            return later
        except (StoreError, NotFound):
            if expected and (rest := driver.resting()):
                return rest  # whoever wanted to say something hears of it
            raise
        try:
            self._log.take(news)
            return await self._with_lease(driver, lease, spent)
        except Fenced:
            return later
        finally:  # not waited for: who speaks now gets the lease in the next commit, which comes after
            self._releasing = asyncio.create_task(lease.release(self._rested()))
            self._releasing.add_done_callback(self._released)

    def _rested(self) -> int:
        """The entry up to which nothing is open, so that a later process need not read so far; 0 if something is."""
        turn = self._state.turn
        return 0 if turn.opened or turn.unread or self._state.behind else len(self._log.entries)

    def _released(self, releasing: asyncio.Task[None]) -> None:
        if not releasing.cancelled() and releasing.exception():
            self._wake.set()

    async def _with_lease(self, driver: TurnDriver, lease: Lease, spent: Spending) -> m.Rest:
        keeper = asyncio.create_task(lease.keep())
        try:
            if lost := await self._lost():
                await lose(self._log, lost, lease)
            if speaking := self._state.turn.speaking:
                from angelia.engine.speech import lost_speech

                living = await self._living({one.life for one in speaking})
                await self._log.append(*lost_speech(speaking, living.__contains__), lease=lease)
            turn = self._state.turn
            before = (max(spent.tokens - turn.tokens, 0), max(spent.cost - turn.cost, 0))
            return await driver.drive(lease, before)
        finally:
            keeper.cancel()

    async def _lost(self) -> list[e.WorkStarted]:
        """The background work, according to the log, whose process (one of ours) is gone.

        A child is never lost: it is gone on with.
        """
        held = [started for started in self._state.behind if started.child is None]
        living = await self._living({started.life for started in held})
        return [started for started in held if started.life not in living]

    async def _living(self, lives: set[str]) -> set[str]:
        """Those of these processes that live, on whichever machine. While the store cannot be asked, all of them count
        as living.
        """
        presence = self._db.presence
        if not lives:
            return set()
        try:
            return await self._db.read(lambda connection: {life for life in lives if presence.lives(connection, life)})
        except StoreError:
            return lives

    def _seconds_until(self, rest: m.Rest) -> float | None:
        return max(rest.until - self._clock(), 0) / 1000 if rest.until else None
