"""The places in which conversations work: which are open or left over, and their end."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Container, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import ConversationId, new_conversation
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.port import FileKind, NoSuchFile, Sandbox, SandboxError
from angelia.sandboxes.registry import OURS, SPECS, open_sandbox, workspace_in
from angelia.sandboxes.shared.lasting import LASTING, Keeper, Lasting, Use, keeper_of
from angelia.sandboxes.shared.tree_removal import remove_tree
from angelia.service.places.presets import Chosen, chosen, kept
from angelia.service.places.sandbox_locks import SandboxLock, move_in, sandbox_locks
from angelia.store.log.transcript import Summary

if TYPE_CHECKING:
    from angelia.service.app import App


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
    """One place. `title` is how its conversation began; `known` says whether that is in the store.

    `since` is Unix milliseconds; `by` are the processes that hold it open. `lasting` is what would outlive them.
    """

    conversation: ConversationId
    spec: str
    where: str
    standing: PlaceState
    since: int
    title: str = ""
    known: bool = False
    by: tuple[SandboxLock, ...] = ()
    lasting: Lasting | None = None

    @property
    def left_over(self) -> bool:
        """Nobody holds it, and nobody will ask for it again."""
        return self.standing is PlaceState.ENDED or (self.standing is PlaceState.IDLE and not self.known)

    @property
    def unused(self) -> bool:
        """Nobody holds it, and no conversation's files go with it."""
        return self.standing is not PlaceState.OPEN and not (self.known and self.only_copy)

    @property
    def only_copy(self) -> bool:
        """Whether its conversation's files lie there alone."""
        return self.lasting is not None and self.lasting.only_copy


async def places(app: "App") -> list[FoundPlace]:
    """All places that belong to this home: those that are open in a process of ours, on this machine or another, and
    those that outlive processes. Oldest first.

    Raises:
        SandboxError: a daemon is there, and does not tell.
    """
    open_now = sandbox_locks(app.running)
    rows = []
    for lasting in await _lasting(app):
        by = tuple(one for one in open_now if one.conversation == lasting.conversation)
        rows.append(await _row(app, by, lasting))
    covered = {row.conversation for row in rows}
    others = dict.fromkeys(one.conversation for one in open_now if one.conversation not in covered)
    rows += [await _row(app, tuple(one for one in open_now if one.conversation == name)) for name in others]
    return sorted(rows, key=lambda row: row.since)


async def _lasting(app: "App", kinds: Container[str] = LASTING) -> list[Lasting]:
    """What outlives processes, of those `kinds` that were ever used from this home."""
    return [
        place
        for kind in LASTING
        if kind in kinds and (app.running / kind).is_dir()
        for place in await keeper_of(kind).found(app.running, _settings_of(app, kind))
    ]


def _settings_of(app: "App", kind: str) -> list[object]:
    sandbox = app.loaded.config.sandbox
    own = [getattr(preset, kind) for preset in sandbox.presets.values()]
    return [getattr(sandbox, kind), *(one for one in own if one is not None)]


async def _row(app: "App", by: tuple[SandboxLock, ...], lasting: Lasting | None = None) -> FoundPlace:
    name = ConversationId(lasting.conversation) if lasting else by[0].conversation
    summary = await _summary(app, name)
    if lasting is None:
        spec, where, standing, since = by[0].spec, by[0].workspace, PlaceState.OPEN, by[0].since
    else:
        spec, where, since = f"{lasting.kind}:{lasting.what}", lasting.name, round(lasting.since * 1000)
        used = lasting.use is Use.IN_USE
        standing = PlaceState.OPEN if used else PlaceState.ENDED if lasting.use is Use.ENDED else PlaceState.IDLE
    title = summary.title if summary else ""
    return FoundPlace(name, spec, where, standing, since, title, summary is not None, by, lasting)


async def _summary(app: "App", conversation: ConversationId) -> Summary | None:
    try:
        return await app.transcript.summary(conversation)
    except NotFound:
        return None


async def stop(app: "App", place: FoundPlace) -> str:
    """End a place, and whatever runs in it; what was done, as a sentence.

    Where nothing outlives the process that works there, its running turn is stopped, which ends its commands.
    """
    if place.lasting is not None:
        await _keeper(place.lasting).end(place.lasting)
        return f"{place.where} is ended."
    if not place.known:
        return f"Nothing of {place.spec} outlives process {place.by[0].process}; it ends with it."
    session = await app.resume(place.conversation, door="terminal")
    stopped = await session.stop("owner")
    await app.leave(session)
    holds = f"process {place.by[0].process} still holds {place.spec} open, and nothing of it outlives that"
    return f"The running turn is told to stop; {holds}." if stopped else f"No turn runs there; {holds}."


async def end_all(found: Sequence[FoundPlace]) -> None:
    """End these places; those that have nothing which outlives their process are left alone."""
    for place in found:
        if place.lasting is not None:
            await _keeper(place.lasting).end(place.lasting)


def _keeper(lasting: Lasting) -> Keeper:
    return keeper_of(lasting.kind)


async def forsaken_homes(app: "App") -> list[Path]:
    """Folders that sandboxes kept for conversations which are not in the store, and open nowhere."""
    open_now = {one.conversation for one in sandbox_locks(app.running)}
    homes = [home for kind in OURS if (app.running / kind).is_dir() for home in (app.running / kind).iterdir()]
    return [
        home for home in homes if home.name not in open_now and await _summary(app, ConversationId(home.name)) is None
    ]


async def remove_homes(homes: Sequence[Path]) -> None:
    """Remove such folders."""
    for home in homes:
        await asyncio.to_thread(remove_tree, home)


async def forget(app: "App", conversation: ConversationId) -> None:
    """For a conversation that is being erased: end what outlives its processes, and remove what was kept for it.

    Raises:
        SandboxError: it cannot be ended.
    """
    homes = {kind: home for kind in OURS if (home := app.running / kind / conversation).is_dir()}
    for lasting in await _lasting(app, homes):  # no other kind was used, and none has to answer
        if lasting.conversation == conversation:
            await _keeper(lasting).end(lasting)
    await remove_homes(list(homes.values()))


async def clear(app: "App") -> None:
    """End and remove what nobody will ask for again.

    Raises:
        SandboxError: a daemon is there, and does not tell or obey.
    """
    await end_all([place for place in await places(app) if place.left_over])
    await remove_homes(await forsaken_homes(app))


async def tidied(app: "App") -> None:
    """`clear`, for whoever does not wait for it: what could not be done is done another day."""
    try:
        async with asyncio.timeout(_TIDY_SECONDS):
            await clear(app)
    except (SandboxError, TimeoutError) as error:
        logger.warning("what sandboxes left behind stays for now: %s", error)


@asynccontextmanager
async def visited(
    app: "App", where: str, workspace: Path, say: Callable[[str], None]
) -> AsyncIterator[tuple[Sandbox, str]]:
    """The sandbox of a conversation (a part of its id), or a fresh one by a preset or spec; with its spec.

    A fresh one, and what was kept for it, is gone afterwards, and `say` is told what could not be removed; a
    conversation's stays as it was.

    Raises:
        NotFound, BadInput: there is no such conversation, or several fit.
        ConfigError, MissingPart, SandboxError: it cannot be had; no other is taken.
    """
    settings = app.loaded.config.sandbox
    if where in settings.presets or ":" in where or where in OURS:
        at = chosen(settings, where)
        name, inside, fresh = new_conversation(app.clock), workspace_in(at.spec, workspace), True
    else:
        at, name, inside = await _of_conversation(app, where)
        fresh = False
    place = SandboxContext(name, inside, app.loaded.home, app.running, say, settings.confine, visit=not fresh)
    sandbox_lock = move_in(app.running, SandboxLock(name, at.spec, inside, app.clock()))
    try:
        sandbox = open_sandbox(at.spec, place, at.settings)
        try:
            yield sandbox, at.spec
        finally:
            await sandbox.close()
    finally:
        if fresh:
            try:
                await forget(app, name)
            except SandboxError as error:  # what was done there is done, and why it failed is not hidden by this
                say(f"what was kept for {at.spec} stays for now: {error}")
        sandbox_lock.close()


async def _of_conversation(app: "App", part: str) -> tuple[Chosen, ConversationId, str]:
    try:
        found = await app.transcript.find(part)
    except NotFound as error:
        names = ", ".join(app.loaded.config.sandbox.presets) or "none"
        raise BadInput(
            f"{part!r} is neither a conversation nor a sandbox.",
            f"Presets: {names}.",
            f"`angelia sessions` lists conversations; sandboxes are your presets, and {SPECS}.",
        ) from error
    summary = await app.transcript.summary(found)
    first = (await app.transcript.entries(found))[0].fact
    preset = getattr(first, "preset", "")
    return kept(app.loaded.config.sandbox, summary.sandbox, preset), found, summary.workspace


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
