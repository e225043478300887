"""What a home does for itself once a day: a copy of its log, and an end to what nothing refers to any more."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from msgspec import Struct

from angelia.cancellation import end_if_cancelled
from angelia.core.days import DAY_MS
from angelia.core.errors import AngeliaError, StoreError
from angelia.core.ids import Clock
from angelia.sandboxes.local.processes import end_bearers
from angelia.sandboxes.undo.store import UndoStore
from angelia.service.conversation.handed_out import HandedOut
from angelia.service.log_places import name_in_log
from angelia.service.places.places import SandboxPlaces
from angelia.service.retention import Retention
from angelia.service.screenshots import Screenshots
from angelia.store.media.blobs import BlobStore
from angelia.store.port import LogStore
from angelia.store.sql.database import Database
from angelia.store.tables.key_value import KeyValue

logger = logging.getLogger("angelia.service")

_LOOKED_S = 3600.0
"""Seconds between two looks whether a day has passed."""
_LOG_TIDIED = "last-sweep"
"""Under this name the moment of the log's last time is remembered, Unix milliseconds."""
_HOME_TIDIED = "last-tidy:"
"""Before the machine and the home, for that of what lies on its disk: several may share one log."""


class Upkeep(Struct, frozen=True):
    """The daily upkeep of one home, and of the log that it may share."""

    db: LogStore
    blobs: BlobStore
    key_value: KeyValue
    clock: Clock
    undo: UndoStore
    handed_out: HandedOut
    places: SandboxPlaces
    tidy_copies: Callable[[], Awaitable[None]]
    screenshots: Screenshots
    retention: Retention

    async def tidy(self) -> list[str]:
        """Once a day, the log and what is kept with it: erase conversations whose time is over, put a copy aside, set
        blobs aside to which no entry refers, such as those of a life that died before its commit, forget what is kept
        for some days. And this home's own disk: copies for undo, places, temporary files of killed lives.
        Returns what a person has to know. Cancelled, it is due again.
        """
        told: list[str] = []
        async with self._daily(_LOG_TIDIED) as due:
            if due:
                told = await self._tidy_log()
        async with self._daily(f"{_HOME_TIDIED}{name_in_log(self.db.home)}") as due:
            if due:
                await self._tidy_home()
        return told

    @asynccontextmanager
    async def _daily(self, mark: str) -> AsyncIterator[bool]:
        """Whether a day has passed, and no other process has begun what is done within. A mark that is a day ahead is
        of a clock that was, and holds nothing up.
        """
        known, now = await self.key_value.get(mark), str(self.clock())
        due = abs(int(now) - int(known or 0)) >= DAY_MS and await self.key_value.replace(mark, known, now)
        try:
            yield due
        except asyncio.CancelledError:
            if due:
                await self.key_value.replace(mark, now, known or "0")
            raise

    async def _tidy_log(self) -> list[str]:
        told = []
        for act in (self._retain, self._copy, self.screenshots.let_go, self._sweep):
            try:
                await act()
            except StoreError as error:
                logger.warning("%s", error)
                told.append(str(error))
        await self.handed_out.tidy()
        return told

    async def _tidy_home(self) -> None:
        await asyncio.to_thread(self.undo.prune)
        await self.places.tidied()
        await asyncio.to_thread(_sweep_temporary)
        await self.tidy_copies()

    async def keep_tidy(self) -> None:
        """Until this is cancelled, `tidy` whenever a day has passed, and let go of screenshots once an hour; for a
        process that runs for months. What a person has to know is in the log.
        """
        while True:
            try:
                await self.tidy()
                await self.screenshots.let_go()
            except AngeliaError as error:
                logger.warning("the home cannot be tidied: %s", error)
            end_if_cancelled()
            await asyncio.sleep(_LOOKED_S)

    async def _retain(self) -> None:
        await self.retention.erase_what_is_over()

    async def _copy(self) -> None:
        from angelia.service.people.copies import make_copies_anew  # once a day, and not at every start
        from angelia.store.log.erase import erase_from_copies
        from angelia.store.sql.copies import copy_daily

        await erase_from_copies(self.db)
        if isinstance(db := self.db, Database):  # a server's log has backups of its own
            if not await make_copies_anew(db, self.key_value):
                await copy_daily(db, self.clock())
            await db.write(lambda _: db.tips.rewrite())

    async def _sweep(self) -> None:
        from angelia.store.sql.upkeep import sweep

        await sweep(self.db, self.blobs)
        await self.blobs.empty_trash()


def _sweep_temporary() -> None:
    from angelia import held_folder  # once a day, and not at every start

    held_folder.sweep(held_folder.OF_PROGRAMS)
    held_folder.sweep(held_folder.OF_BROWSERS, end_bearers)
