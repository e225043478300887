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
from angelia.sandboxes.lasting import LASTING, Keeper, Lasting, Use, keeper_of
from angelia.sandboxes.place import Place
from angelia.sandboxes.port import FileKind, NoSuchFile, Sandbox, SandboxError
from angelia.sandboxes.rooms import OURS, SPECS, open_sandbox, workspace_in
from angelia.sandboxes.tree_removal import remove_tree
from angelia.service.presets import Chosen, chosen, kept
from angelia.service.tenancy import Tenancy, move_in, tenancies
from angelia.store.transcript import Summary

if TYPE_CHECKING:
    from angelia.service.assemble import House


_TIDY_SECONDS = 20.0

logger = logging.getLogger("angelia.service")


class Standing(StrEnum):
    """How a place stands."""

    OPEN = "open"
    """A living process of ours holds it."""
    IDLE = "idle"
    """Nobody does; it ends by itself."""
    ENDED = "ended"
    """Nothing runs in it, and it was left behind."""


class Found(Struct, frozen=True):
    """One place. `title` is how its conversation began; `known` says whether that is in the store.

    `since` is Unix milliseconds; `by` are the processes that hold it open. `lasting` is what would outlive them.
    """

    conversation: ConversationId
    spec: str
    where: str
    standing: Standing
    since: int
    title: str = ""
    known: bool = False
    by: tuple[Tenancy, ...] = ()
    lasting: Lasting | None = None

    @property
    def left_over(self) -> bool:
        """Nobody holds it, and nobody will ask for it again."""
        return self.standing is Standing.ENDED or (self.standing is Standing.IDLE and not self.known)

    @property
    def unused(self) -> bool:
        """Nobody holds it, and no conversation's files go with it."""
        return self.standing is not Standing.OPEN and not (self.known and self.only_copy)

    @property
    def only_copy(self) -> bool:
        """Whether its conversation's files lie there alone."""
        return self.lasting is not None and self.lasting.only_copy


async def places(house: "House") -> list[Found]:
    """All places that belong to this home: those that are open in a process of ours, on this machine or another, and
    those that outlive processes. Oldest first.

    Raises:
        SandboxError: a daemon is there, and does not tell.
    """
    open_now = tenancies(house.running)
    rows = []
    for lasting in await _lasting(house):
        by = tuple(one for one in open_now if one.conversation == lasting.conversation)
        rows.append(await _row(house, by, lasting))
    covered = {row.conversation for row in rows}
    others = dict.fromkeys(one.conversation for one in open_now if one.conversation not in covered)
    rows += [await _row(house, tuple(one for one in open_now if one.conversation == name)) for name in others]
    return sorted(rows, key=lambda row: row.since)


async def _lasting(house: "House", rooms: Container[str] = LASTING) -> list[Lasting]:
    """What outlives processes, in those `rooms` that were ever used from this home."""
    return [
        place
        for room in LASTING
        if room in rooms and (house.running / room).is_dir()
        for place in await keeper_of(room).found(house.running, _settings_of(house, room))
    ]


def _settings_of(house: "House", room: str) -> list[object]:
    sandbox = house.loaded.config.sandbox
    own = [getattr(preset, room) for preset in sandbox.presets.values()]
    return [getattr(sandbox, room), *(one for one in own if one is not None)]


async def _row(house: "House", by: tuple[Tenancy, ...], lasting: Lasting | None = None) -> Found:
    name = ConversationId(lasting.conversation) if lasting else by[0].conversation
    summary = await _summary(house, name)
    if lasting is None:
        spec, where, standing, since = by[0].spec, by[0].workspace, Standing.OPEN, by[0].since
    else:
        spec, where, since = f"{lasting.room}:{lasting.what}", lasting.name, round(lasting.since * 1000)
        used = lasting.use is Use.IN_USE
        standing = Standing.OPEN if used else Standing.ENDED if lasting.use is Use.ENDED else Standing.IDLE
    title = summary.title if summary else ""
    return Found(name, spec, where, standing, since, title, summary is not None, by, lasting)


async def _summary(house: "House", conversation: ConversationId) -> Summary | None:
    try:
        return await house.transcript.summary(conversation)
    except NotFound:
        return None


async def stop(house: "House", place: Found) -> str:
    """End a place, and whatever runs in it; what was done, as a sentence.

    Where nothing outlives the process that works there, its running turn is stopped, which ends its commands.
    """
    if place.lasting is not None:
        await _keeper(place.lasting).end(place.lasting)
        return f"{place.where} is ended."
    if not place.known:
        return f"Nothing of {place.spec} outlives process {place.by[0].process}; it ends with it."
    session = await house.resume(place.conversation, door="terminal")
    stopped = await session.stop("owner")
    await house.leave(session)
    holds = f"process {place.by[0].process} still holds {place.spec} open, and nothing of it outlives that"
    return f"The running turn is told to stop; {holds}." if stopped else f"No turn runs there; {holds}."


async def end_all(found: Sequence[Found]) -> None:
    """End these places; those that have nothing which outlives their process are left alone."""
    for place in found:
        if place.lasting is not None:
            await _keeper(place.lasting).end(place.lasting)


def _keeper(lasting: Lasting) -> Keeper:
    return keeper_of(lasting.room)


async def forsaken_homes(house: "House") -> list[Path]:
    """Folders that sandboxes kept for conversations which are not in the store, and open nowhere."""
    open_now = {one.conversation for one in tenancies(house.running)}
    homes = [home for room in OURS if (house.running / room).is_dir() for home in (house.running / room).iterdir()]
    return [
        home for home in homes if home.name not in open_now and await _summary(house, ConversationId(home.name)) is None
    ]


async def remove_homes(homes: Sequence[Path]) -> None:
    """Remove such folders."""
    for home in homes:
        await asyncio.to_thread(remove_tree, home)


async def forget(house: "House", conversation: ConversationId) -> None:
    """For a conversation that is being erased: end what outlives its processes, and remove what was kept for it.

    Raises:
        SandboxError: it cannot be ended.
    """
    homes = {room: home for room in OURS if (home := house.running / room / conversation).is_dir()}
    for lasting in await _lasting(house, homes):  # no other room was used, and none has to answer
        if lasting.conversation == conversation:
            await _keeper(lasting).end(lasting)
    await remove_homes(list(homes.values()))


async def clear(house: "House") -> None:
    """End and remove what nobody will ask for again.

    Raises:
        SandboxError: a daemon is there, and does not tell or obey.
    """
    await end_all([place for place in await places(house) if place.left_over])
    await remove_homes(await forsaken_homes(house))


async def tidied(house: "House") -> None:
    """`clear`, for whoever does not wait for it: what could not be done is done another day."""
    try:
        async with asyncio.timeout(_TIDY_SECONDS):
            await clear(house)
    except (SandboxError, TimeoutError) as error:
        logger.warning("what sandboxes left behind stays for now: %s", error)


@asynccontextmanager
async def visited(
    house: "House", where: str, workspace: Path, say: Callable[[str], None]
) -> AsyncIterator[tuple[Sandbox, str]]:
    """The sandbox of a conversation (a part of its id), or a fresh one by a preset or spec; with its spec.

    A fresh one, and what was kept for it, is gone afterwards, and `say` is told what could not be removed; a
    conversation's stays as it was.

    Raises:
        NotFound, BadInput: there is no such conversation, or several fit.
        ConfigError, MissingPart, SandboxError: it cannot be had; no other is taken.
    """
    settings = house.loaded.config.sandbox
    if where in settings.presets or ":" in where or where in OURS:
        at = chosen(settings, where)
        name, inside, fresh = new_conversation(house.clock), workspace_in(at.spec, workspace), True
    else:
        at, name, inside = await _of_conversation(house, where)
        fresh = False
    place = Place(name, inside, house.loaded.home, house.running, say, settings.confine, visit=not fresh)
    tenancy = move_in(house.running, Tenancy(name, at.spec, inside, house.clock()))
    try:
        sandbox = open_sandbox(at.spec, place, at.rooms)
        try:
            yield sandbox, at.spec
        finally:
            await sandbox.close()
    finally:
        if fresh:
            try:
                await forget(house, name)
            except SandboxError as error:  # what was done there is done, and why it failed is not hidden by this
                say(f"what was kept for {at.spec} stays for now: {error}")
        tenancy.close()


async def _of_conversation(house: "House", part: str) -> tuple[Chosen, ConversationId, str]:
    try:
        found = await house.transcript.find(part)
    except NotFound as error:
        names = ", ".join(house.loaded.config.sandbox.presets) or "none"
        raise BadInput(
            f"{part!r} is neither a conversation nor a sandbox.",
            f"Presets: {names}.",
            f"`angelia sessions` lists conversations; sandboxes are your presets, and {SPECS}.",
        ) from error
    summary = await house.transcript.summary(found)
    first = (await house.transcript.entries(found))[0].fact
    preset = getattr(first, "preset", "")
    return kept(house.loaded.config.sandbox, summary.sandbox, preset), found, summary.workspace


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
