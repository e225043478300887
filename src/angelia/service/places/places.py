"""The places in which conversations work: which are open or left over, and their end."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import Clock, ConversationId, PlaceId, sortable_id
from angelia.core.principal import OWNER
from angelia.deadline import within
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.port import FileKind, NoSuchFile, Sandbox, SandboxError
from angelia.sandboxes.registry import OURS, SPECS, open_sandbox, workspace_in
from angelia.sandboxes.shared.persistent import PERSISTENT, Keeper, PersistentPlace, Use, keeper_of
from angelia.sandboxes.shared.tree_removal import remove_tree
from angelia.service.places.presets import Chosen, SandboxSettings, chosen, kept
from angelia.service.places.sandbox_locks import SandboxLock, SandboxLocks
from angelia.store.log.transcript import Transcript

_TIDY_SECONDS = 20.0

logger = logging.getLogger("angelia.service")


class PlaceState(StrEnum):
    """How a place stands."""

    OPEN = "open"
    """A living process of ours holds it."""
    IDLE = "idle"
    """Nobody does; it ends by itself."""
    ENDED = "ended"
    """Nothing runs in it, and it was left behind."""


class FoundPlace(Struct, frozen=True):
    """One place. `conversations` are those in the store that work there, the first one first; `title` is how it began.

    `since` is Unix milliseconds; `by` are the processes that hold it open. `lasting` is what would outlive them.
    """

    place: PlaceId
    spec: str
    where: str
    standing: PlaceState
    since: int
    title: str = ""
    conversations: tuple[ConversationId, ...] = ()
    by: tuple[SandboxLock, ...] = ()
    lasting: PersistentPlace | None = None

    @property
    def known(self) -> bool:
        """Whether a conversation of the store works there."""
        return bool(self.conversations)

    @property
    def left_over(self) -> bool:
        """Nobody holds it, and nobody will ask for it again."""
        ended = self.standing is PlaceState.ENDED or (self.standing is PlaceState.IDLE and not self.known)
        return ended and not self.by

    @property
    def unused(self) -> bool:
        """Nobody holds it, and no conversation's files go with it."""
        return self.standing is not PlaceState.OPEN and not (self.known and self.only_copy)

    @property
    def only_copy(self) -> bool:
        """Whether its conversation's files lie there alone."""
        return self.lasting is not None and self.lasting.only_copy


class SandboxPlaces:
    """The places that belong to one home. `state` is where open ones and what was kept for them are recorded."""

    def __init__(
        self, home: Path, state: Path, settings: SandboxSettings, transcript: Transcript, clock: Clock
    ) -> None:
        self._home = home
        self._state = state
        self.locks = SandboxLocks(state)
        self._settings = settings
        self._transcript = transcript
        self._clock = clock

    async def all(self) -> list[FoundPlace]:
        """Those that are open in a process of ours, on this machine or another, and those that outlive processes;
        oldest first.

        Raises:
            SandboxError: a daemon is there, and does not tell.
        """
        rows = []
        outlives = await self._lasting()
        open_now = self.locks.all()  # afterwards: a place is locked before anything of it is made
        for lasting in outlives:
            by = tuple(one for one in open_now if one.place == lasting.place)
            rows.append(await self._row(by, lasting))
        covered = {row.place for row in rows}
        others = dict.fromkeys(one.place for one in open_now if one.place not in covered)
        rows += [await self._row(tuple(one for one in open_now if one.place == name)) for name in others]
        return sorted(rows, key=lambda row: row.since)

    async def _lasting(self, kinds: Container[str] = PERSISTENT) -> list[PersistentPlace]:
        """What outlives processes, of those `kinds` that were ever used from this home."""
        return [
            place
            for kind in PERSISTENT
            if kind in kinds and (self._state / kind).is_dir()
            for place in await keeper_of(kind).found(self._state, self._settings_of(kind))
        ]

    def _settings_of(self, kind: str) -> list[object]:
        sandbox = self._settings
        own = [getattr(preset, kind) for preset in sandbox.presets.values()]
        return [getattr(sandbox, kind), *(one for one in own if one is not None)]

    async def _row(self, by: tuple[SandboxLock, ...], lasting: PersistentPlace | None = None) -> FoundPlace:
        name = PlaceId(lasting.place) if lasting else by[0].place
        working = await self._transcript.in_place(OWNER, name)
        if lasting is None:
            spec, where, standing, since = by[0].spec, by[0].workspace, PlaceState.OPEN, by[0].since
        else:
            spec, where, since = f"{lasting.kind}:{lasting.what}", lasting.name, round(lasting.since * 1000)
            used = lasting.use is Use.IN_USE
            standing = PlaceState.OPEN if used else PlaceState.ENDED if lasting.use is Use.ENDED else PlaceState.IDLE
        title = working[0].title if working else ""
        inside = tuple(one.id for one in working)
        return FoundPlace(name, spec, where, standing, since, title, inside, by, lasting)

    async def stop(self, place: FoundPlace, stop_turn: Callable[[ConversationId], Awaitable[bool]]) -> str:
        """End a place, and whatever runs in it; what was done, as a sentence.

        Where nothing outlives the process that works there, what turns run there is stopped, which ends their commands:
        `stop_turn` tells it to, and says whether one ran.
        """
        if place.lasting is not None:
            await _keeper(place.lasting).end(place.lasting)
            return f"{place.where} is ended."
        if not place.known:
            return f"Nothing of {place.spec} outlives process {place.by[0].process}; it ends with it."
        stopped = [await stop_turn(conversation) for conversation in place.conversations]
        holds = f"process {place.by[0].process} still holds {place.spec} open, and nothing of it outlives that"
        return f"The running turn is told to stop; {holds}." if any(stopped) else f"No turn runs there; {holds}."

    async def forsaken_homes(self) -> list[Path]:
        """Folders that sandboxes kept for conversations which are not in the store, and open nowhere."""
        open_now = {one.place for one in self.locks.all()}
        homes = [home for kind in OURS if (self._state / kind).is_dir() for home in (self._state / kind).iterdir()]
        return [
            home
            for home in homes
            if home.name not in open_now and not await self._transcript.in_place(OWNER, PlaceId(home.name))
        ]

    async def forget(self, place: PlaceId) -> None:
        """For a conversation that was erased: end what outlives the processes in its place, and remove what was kept
        for it; nothing of that while other conversations work there.

        Raises:
            SandboxError: it cannot be ended.
        """
        if not await self._transcript.in_place(OWNER, place):
            await self.end(place)

    async def end(self, place: PlaceId) -> None:
        """End what outlives the processes in a place, and remove what was kept for it. A folder of the person's in
        which it worked stays.

        Raises:
            SandboxError: it cannot be ended.
        """
        homes = {kind: home for kind in OURS if (home := self._state / kind / place).is_dir()}
        for lasting in await self._lasting(homes):  # no other kind was used, and none has to answer
            if lasting.place == place:
                await _keeper(lasting).end(lasting)
        await remove_homes(list(homes.values()))

    async def clear(self) -> None:
        """End and remove what nobody will ask for again.

        Raises:
            SandboxError: a daemon is there, and does not tell or obey.
        """
        await end_all([place for place in await self.all() if place.left_over])
        await remove_homes(await self.forsaken_homes())

    async def tidied(self) -> None:
        """`clear`, for whoever does not wait for it: what could not be done is done another day."""
        try:
            await within(_TIDY_SECONDS, self.clear())
        except (SandboxError, TimeoutError) as error:
            logger.warning("what sandboxes left behind stays for now: %s", error)

    @asynccontextmanager
    async def visited(
        self, where: str, workspace: Path, say: Callable[[str], None]
    ) -> AsyncIterator[tuple[Sandbox, str]]:
        """The sandbox of a conversation (a part of its id), or a fresh one by a preset or spec; with its spec.

        A fresh one, and what was kept for it, is gone afterwards, and `say` is told what could not be removed; a
        conversation's stays as it was.

        Raises:
            NotFound, BadInput: there is no such conversation, or several fit.
            ConfigError, MissingPart, SandboxError: it cannot be had; no other is taken.
        """
        settings = self._settings
        if where in settings.presets or ":" in where or where in OURS:
            at = chosen(settings, where)
            name, inside, fresh = PlaceId(sortable_id(self._clock)), workspace_in(at.spec, workspace), True
        else:
            at, name, inside = await self._of_conversation(where)
            fresh = False
        place = SandboxContext(name, inside, self._home, self._state, say, settings.confine, visit=not fresh)
        sandbox_lock = self.locks.hold(SandboxLock(name, at.spec, inside, self._clock()))
        try:
            sandbox = open_sandbox(at.spec, place, at.settings)
            try:
                yield sandbox, at.spec
            finally:
                await sandbox.close()
        finally:
            if fresh:
                try:
                    await self.forget(name)
                except SandboxError as error:  # what was done there is done, and why it failed is not hidden by this
                    say(f"what was kept for {at.spec} stays for now: {error}")
            sandbox_lock.close()

    async def _of_conversation(self, part: str) -> tuple[Chosen, PlaceId, str]:
        try:
            found = await self._transcript.find(OWNER, part)
        except NotFound as error:
            names = ", ".join(self._settings.presets) or "none"
            raise BadInput(
                f"{part!r} is neither a conversation nor a sandbox.",
                f"Presets: {names}.",
                f"`angelia sessions` lists conversations; sandboxes are your presets, and {SPECS}.",
            ) from error
        summary = await self._transcript.summary(OWNER, found)
        first = (await self._transcript.entries(found))[0].fact
        preset = getattr(first, "preset", "")
        return kept(self._settings, summary.sandbox, preset), summary.place, summary.workspace


async def end_all(found: Sequence[FoundPlace]) -> None:
    """End these places; those that have nothing which outlives their process are left alone."""
    for place in found:
        if place.lasting is not None:
            await _keeper(place.lasting).end(place.lasting)


def _keeper(lasting: PersistentPlace) -> Keeper:
    return keeper_of(lasting.kind)


async def remove_homes(homes: Sequence[Path]) -> None:
    """Remove such folders."""
    for home in homes:
        await asyncio.to_thread(remove_tree, home)


async def target_in(sandbox: Sandbox, path: str, name: str) -> str:
    """Where a file called `name` goes: into the workspace, into the folder `path`, or to `path` itself."""
    if not path:
        return name
    if path.endswith("/"):
        return f"{path}{name}"
    try:
        folder = (await sandbox.stat(path)).kind is FileKind.FOLDER
    except NoSuchFile:
        return path
    return f"{path}/{name}" if folder else path


async def stands(sandbox: Sandbox, path: str) -> bool:
    """Whether anything is there."""
    try:
        await sandbox.stat(path)
    except NoSuchFile:
        return False
    return True
