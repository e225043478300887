"""What a home does for itself once a day: a copy of its log, and an end to what nothing refers to any more.

A clock may be wrong for a while: a machine without a battery begins with some date, a virtual one wakes up with that of
its picture. What goes by its age therefore goes only if it was old enough at the look of the day before already, by
what the clock said then. What is wrong at one look alone costs nothing but a day.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from angelia.cancellation import end_if_cancelled
from angelia.core.days import DAY_MS
from angelia.core.errors import AngeliaError, StoreError
from angelia.core.ids import Clock
from angelia.core.text import one_line
from angelia.sandboxes.local.processes import end_bearers
from angelia.sandboxes.undo.store import UndoStore
from angelia.service.conversation.handed_out import HandedOut
from angelia.service.log_places import name_in_log
from angelia.store.media.blobs import TRASH_S, BlobStore
from angelia.store.port import LogStore
from angelia.store.sql.database import Database
from angelia.store.tables.grants import Grants
from angelia.store.tables.key_value import KeyValue

if TYPE_CHECKING:
    from angelia.service.places.places import SandboxPlaces
    from angelia.service.retention import Retention
    from angelia.service.screenshots import Screenshots

logger = logging.getLogger("angelia.service")

_LOOKED_S = 3600.0
"""Seconds between two looks whether a day has passed."""
_LOG_TIDIED = "last-sweep"
"""Under this name the moment of the log's last time is remembered, Unix milliseconds."""
_HOME_TIDIED = "last-tidy:"
"""Before the machine and the home, for that of what lies on its disk: several may share one log."""


class DailyLook(Struct, frozen=True):
    """Ages count to `upto`, 0 at the first look of all. What is of after `latest` was noted while a clock was ahead,
    also if this one is behind. Both are Unix milliseconds. Nothing is to be done by one that is not `due`.
    """

    due: bool
    upto: int
    latest: int

    @property
    def upto_s(self) -> float:
        """The same in seconds, as times of files are."""
        return self.upto / 1000


class Looks(Struct, frozen=True):
    """Those of a home, or of the log that several share, by names."""

    key_value: KeyValue
    clock: Clock

    @asynccontextmanager
    async def daily(self, name: str) -> AsyncIterator[DailyLook]:
        """Due if a day has passed since the last one of this name, and no other process has begun what is done within.
        One that is a day ahead is of a clock that was, and holds nothing up. Cancelled, it is due again.
        """
        known, now = await self.key_value.get(name), self.clock()
        before = int(known or 0)
        due = abs(now - before) >= DAY_MS and await self.key_value.replace(name, known, str(now))
        try:
            yield DailyLook(due, min(before, now), max(before, now) + 2 * DAY_MS)
        except asyncio.CancelledError:
            if due:
                await self.key_value.replace(name, str(now), known or "0")
            raise


class Upkeep(Struct, frozen=True):
    """The daily upkeep of one home, and of the log that it may share; what only that takes is made then."""

    db: LogStore
    blobs: BlobStore
    key_value: KeyValue
    clock: Clock
    undo: UndoStore
    handed_out: HandedOut
    tidy_copies: Callable[[float], Awaitable[None]]
    places: "Callable[[], SandboxPlaces]"
    screenshots: "Callable[[], Screenshots]"
    retention: "Callable[[], Retention]"

    async def tidy(self) -> list[str]:
        """Once a day, the log and what is kept with it: erase conversations whose time is over, put a copy aside, set
        blobs aside to which no entry refers, such as those of a life that died before its commit, forget what is kept
        for some days. And this home's own disk: copies for undo, places, temporary files of killed lives.
        Returns what a person has to know. Cancelled, it is due again.

        Nothing within looks at a clock to erase: how old something is, the look says.
        """
        told: list[str] = []
        looks = Looks(self.key_value, self.clock)
        async with looks.daily(_LOG_TIDIED) as look:
            if look.due:
                told = await self._tidy_log(look)
        async with looks.daily(f"{_HOME_TIDIED}{name_in_log(self.db.home)}") as look:
            if look.due:
                await self._tidy_home(look)
        return told

    async def _tidy_log(self, look: DailyLook) -> list[str]:
        told = []
        for act in (self._retain, self._copy, self._let_go_of_screenshots, self._sweep):
            try:
                await act(look)
            except StoreError as error:
                logger.warning("%s", error)
                told.append(str(error))
        await self.handed_out.tidy(look.upto, look.latest)
        told += [_taken_back(one.pattern) for one in await Grants(self.db).take_back_given_after(look.latest)]
        return told

    async def _tidy_home(self, look: DailyLook) -> None:
        await asyncio.to_thread(self.undo.prune, look.upto_s)
        await self.places().tidied()
        await asyncio.to_thread(_sweep_temporary)
        await self.tidy_copies(look.upto_s)

    async def keep_tidy(self) -> None:
        """Until this is cancelled, `tidy` whenever a day has passed, and let go of screenshots once an hour; for a
        process that runs for months. What a person has to know is in the log.
        """
        looked = 0
        while True:
            try:
                await self.tidy()
                before, looked = looked, self.clock()
                await self.screenshots().let_go(min(before, looked))
            except AngeliaError as error:
                logger.warning("the home cannot be tidied: %s", error)
            end_if_cancelled()
            await asyncio.sleep(_LOOKED_S)

    async def _retain(self, look: DailyLook) -> None:
        retention = self.retention()
        await retention.erase_what_is_over(look.upto)
        await retention.looked(look.latest)

    async def _let_go_of_screenshots(self, look: DailyLook) -> None:
        await self.screenshots().let_go(look.upto)

    async def _copy(self, _: DailyLook) -> None:
        from angelia.service.people.copies import make_copies_anew  # once a day, and not at every start
        from angelia.store.log.erase import erase_from_copies
        from angelia.store.sql.copies import copy_daily

        await erase_from_copies(self.db)
        if isinstance(db := self.db, Database):  # a server's log has backups of its own
            if not await make_copies_anew(db, self.key_value):
                await copy_daily(db, self.clock())
            await db.write(lambda _: db.tips.rewrite())

    async def _sweep(self, look: DailyLook) -> None:
        from angelia.store.sql.upkeep import DAY_S, sweep

        await sweep(self.db, self.blobs, look.upto_s - DAY_S)
        await self.blobs.empty_trash(look.upto_s - TRASH_S)


def _taken_back(pattern: str) -> str:
    words = f"The permission for “{one_line(pattern, 200)}” was given for a time while the clock was ahead"
    logger.warning("%s, and is taken back", words)
    return f"{words}. It would hold long after its time, so it is taken back: you are asked again."


def _sweep_temporary() -> None:
    from angelia import held_folder  # once a day, and not at every start

    held_folder.sweep(held_folder.OF_PROGRAMS)
    held_folder.sweep(held_folder.OF_BROWSERS, end_bearers)
