"""A folder of this machine: what is new or different in it begins a turn, which is told the names and nothing else.

The system only wakes us (`watchfiles`); what counts is the folder as it lies there, beside how it lay when a turn last
began. So what changed while nothing ran is found at the next start, and many changes at once are one turn. What a turn
is begun for is noted first, the turn committed then, and the note taken back: killed between, the same turn with the
same key is committed again, and absorbed.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.counts import counted
from angelia.core.errors import CodecError, MissingPart, NotFound, StoreDamaged
from angelia.core.ids import ConversationId
from angelia.core.principal import FOLDER, Principal
from angelia.core.timing import OnChange
from angelia.service.chats.open_channel import wait
from angelia.service.schedule.clockwork import LONGEST_SLEEP_S, pause_facts
from angelia.service.schedule.folder_files import CannotSee, Differences, Files, seen_in
from angelia.service.schedule.outside import Brought, OutsideServices, begin, tell, too_much
from angelia.store.tables.schedules import StoredSchedule, note_key
from angelia.tools.web.outside_words import as_data

MOST_IN_A_ROW = 25
"""Turns after each other that may each find the folder changed when they end: more of them feed themselves, as far as
anybody can tell, and a pause loses nothing."""
_ANYWAY_S = 300.0
"""Seconds until a folder is looked at although the system says nothing: not every file system does."""
_STEP_MS = 500
"""How long the system's news are gathered."""

_SOONEST_S = 0.1

logger = logging.getLogger("angelia.schedule")


class FolderPosition(Struct, frozen=True):
    """How a folder lay when a turn last began; `turns` counts these. `coming` is how it lies for the turn that is being
    committed. So many turns `in_a_row` each left it changed.
    """

    known: Files
    turns: int
    in_a_row: int = 0
    coming: Files | None = None


class Folders:
    """Follows the folders of the settings while time is kept here."""

    def __init__(self, services: OutsideServices) -> None:
        self._services = services
        self._waited: set[ConversationId] = set()
        self._told: dict[ConversationId, str] = {}

    async def mark(self, schedule: ConversationId, name: str) -> None:
        """What is there now is no news for a schedule that is being made.

        Raises:
            CannotSee: the folder cannot be looked at.
            MissingPart: what hears of changes is not installed.
        """
        changes_of()
        found = await seen_in(self._services.folders[name])
        await self._put(schedule, FolderPosition(found.files, self._services.clock()))

    async def follow(self, name: str, woken: asyncio.Event) -> None:
        """Until cancelled; `woken` says that schedules may have changed."""
        root = Path(self._services.folders[name].path).expanduser()
        hearing = _Hearing(root, woken)
        try:
            while True:
                woken.clear()
                wanted = await self._wanted(name)
                await (hearing.go_on() if wanted else hearing.stop())
                seconds = await self.look(name)
                end_if_cancelled()
                await wait(woken, seconds)
        finally:
            await hearing.stop()

    async def look(self, name: str) -> float:
        """Begin what is to begin; returns after how many seconds to look again though nothing is heard."""
        soonest = _ANYWAY_S
        for schedule in await self._wanted(name):
            try:
                soonest = min(soonest, await self._look_for(schedule, name))
            except CannotSee as error:
                await self._tell_once(schedule, "unseen", str(error))
                soonest = LONGEST_SLEEP_S
            except NotFound:  # it was deleted meanwhile
                await self._services.key_value.forget(note_key(schedule.id))
            except (StoreDamaged, CodecError):  # it is paused; the others begin
                continue
        return soonest

    async def _wanted(self, name: str) -> list[StoredSchedule]:
        return [
            one
            for one in await self._services.schedules.begun_by(OnChange(name))
            if one.state is e.ScheduleState.ACTIVE
        ]

    async def _look_for(self, schedule: StoredSchedule, name: str) -> float:
        found = await seen_in(self._services.folders[name])
        state = await self._state(schedule.id)
        if state is None:
            state = FolderPosition(found.files, self._services.clock())
            await self._put(schedule.id, state)
            await self._tell_once(
                schedule, "lost", f"How {name} lay before is not known: only what changes now counts."
            )
        if state.coming is not None:
            state = await self._begin(schedule, name, state, state.coming)
        files = found.settled(state.known)
        again = _ANYWAY_S if files == found.files else max(self._services.folders[name].settle_s, _SOONEST_S)
        if not Differences.of(state.known, files).begin_one:
            quiet = replace(state, known=files, in_a_row=0)
            if quiet != state and again == _ANYWAY_S:
                await self._put(schedule.id, quiet)
            self._told.pop(schedule.id, None)
            return again
        return await self._changed(schedule, name, state, files)

    async def _changed(self, schedule: StoredSchedule, name: str, state: FolderPosition, files: Files) -> float:
        if any(one.schedule == schedule.id for one in await self._services.schedules.open()):
            self._waited.add(schedule.id)  # one turn for all that changes until this one is over
            return LONGEST_SLEEP_S
        if why := await too_much(self._services, schedule):
            await self._tell_once(schedule, "waits", f"What has changed in {name} waits. {why}")
            return LONGEST_SLEEP_S
        row = state.in_a_row + 1 if schedule.id in self._waited else 0
        self._waited.discard(schedule.id)
        if row < MOST_IN_A_ROW:
            await self._begin(schedule, name, replace(state, in_a_row=row), files)
            self._told.pop(schedule.id, None)
            return LONGEST_SLEEP_S
        await self._put(schedule.id, replace(state, in_a_row=0))
        why = f"Each of its last {counted(row, 'turn')} left the folder {name} changed, which would begin another one."
        await self._services.transcript.append(schedule.id, pause_facts(schedule, why))
        return _ANYWAY_S

    async def _begin(self, schedule: StoredSchedule, name: str, state: FolderPosition, files: Files) -> FolderPosition:
        await self._put(schedule.id, replace(state, coming=files))
        root = str(Path(self._services.folders[name].path).expanduser())
        words = Differences.of(state.known, files).words()
        about = f"What is new or different in {root}"
        parts = (Text(as_data(words, about, "was found there, names that anybody may have given")),)
        brought = Brought(f"The folder {name} changed", f"{name}:{state.turns}", Principal(FOLDER, name), parts)
        await begin(self._services, schedule, brought)
        after = FolderPosition(files, state.turns + 1, state.in_a_row)
        await self._put(schedule.id, after)
        return after

    async def _tell_once(self, schedule: StoredSchedule, kind: str, words: str) -> None:
        if self._told.get(schedule.id) != kind:
            self._told[schedule.id] = kind
            await tell(self._services, schedule, words)

    async def _state(self, schedule: ConversationId) -> FolderPosition | None:
        return await self._services.key_value.get_as(FolderPosition, note_key(schedule))

    async def _put(self, schedule: ConversationId, state: FolderPosition) -> None:
        await self._services.key_value.put(note_key(schedule), msgspec.json.encode(state).decode())


# -- the system's news ------------------------------------------------------------------------------------------------


class _Hearing:
    """Sets `woken` when the system says that something in `root` has changed."""

    def __init__(self, root: Path, woken: asyncio.Event) -> None:
        self._root, self._woken = root, woken
        self._heard: tuple[int, int] | None = None
        self._task: asyncio.Task[None] | None = None

    async def go_on(self) -> None:
        """Hear of it from here on, also where another folder lies there than before."""
        there = _identity(self._root)
        if there == self._heard:
            return
        await self.stop()
        if there:
            self._heard, self._task = there, asyncio.create_task(self._hear())
            await asyncio.sleep(0)  # what changes once this returns is heard of

    async def stop(self) -> None:
        """Hear of nothing more."""
        await cancel_and_wait(self._task)
        self._heard = self._task = None

    async def _hear(self) -> None:
        try:
            awatch = changes_of()
            async for _ in awatch(self._root, watch_filter=None, step=_STEP_MS, ignore_permission_denied=True):
                self._woken.set()
        except (OSError, RuntimeError, MissingPart) as error:  # such as the system's limit of what is watched
            logger.warning("changes in %s are looked for every %g s and not heard of: %s", self._root, _ANYWAY_S, error)


def changes_of() -> Callable[..., Any]:
    """What hears of changes: `watchfiles.awatch`.

    Raises:
        MissingPart: it is not installed.
    """
    try:
        from watchfiles import awatch
    except ImportError as error:
        raise MissingPart("A folder whose changes begin turns", "folders") from error
    return awatch


def _identity(root: Path) -> tuple[int, int] | None:
    try:
        found = root.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino)
