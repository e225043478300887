"""Skills that MCP servers serve, as their person knows them: listed, read when looked at, kept as they were seen.

What is listed is remembered, so that a list needs no server. A file is read from its server when its person looks at
the skill, and lies from then on under its digest in the home, where no skills are looked for; each time it is used it
is held to that digest again.

A list need not be all that a server has: a skill that its person said yes to by its address is asked for by it. And a
skill may be dynamic, without digests: then the yes is to the bytes that were there when its person looked, and each
time it is used they are asked for anew and held to those.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec.structs import replace

from angelia.core.crash import crash_point
from angelia.core.errors import UNREADABLE
from angelia.core.principal import OWNER
from angelia.path_queries import is_folder
from angelia.skills.find import FoundSkill
from angelia.skills.places import SkillOwner
from angelia.skills.served import (
    FOLDER,
    MOST_SERVED_BYTES,
    MOST_SERVED_FILES,
    ROOT,
    ServedSkill,
    UnverifiedSkill,
    as_it_was_found,
    held_to,
    verified,
)
from angelia.skills.skill import Skill
from angelia.store.tables.key_value import KeyValue
from angelia.store.tables.seen_skills import SeenSkills
from angelia.tools.mcp.failures import ServerLost, ServerRefused, Unavailable

ReadFile = Callable[[str, str], Awaitable[bytes]]
"""The bytes of a file of a server, by the server's name here and the file's URI."""

_LISTED, _FOUND = "served-skills:", "found-skill:"


class SkillServers(Protocol):
    """Servers as one conversation reaches them; what fails raises Unavailable, ServerRefused or ServerLost."""

    @property
    def skills(self) -> tuple[ServedSkill, ...]:
        """What they list."""
        ...

    @property
    def reached(self) -> tuple[str, ...]:
        """Those that have said what they list now."""
        ...

    async def skill_at(self, server: str, uri: str) -> ServedSkill | None:
        """The skill at an address of a server, listed or not; None where it serves none there."""
        ...

    async def files_below(self, server: str, folder: str, most: int) -> list[str]:
        """The addresses of the files in a folder of a server, as far as it tells."""
        ...

    async def read(self, server: str, uri: str) -> bytes:
        """The bytes of a file of a server."""
        ...


class ServedSkills:
    """Those of one home."""

    def __init__(self, values: KeyValue, seen: SeenSkills, own_home: Path) -> None:
        """`own_home` is Angelia's own."""
        self._values = values
        self._seen = seen
        self._folder = own_home / FOLDER

    async def there(self, servers: SkillServers) -> list[ServedSkill]:
        """What these servers list now, and what else of theirs their person said yes to; it is remembered."""
        listed = {one.identity: one for one in servers.skills}
        for server in servers.reached:
            for uri in await self._named(server):
                if f"{server}:{uri}" not in listed and (named := await self._at(server, uri, servers)):
                    listed[named.identity] = named
        found = [await self._as_found(one) if one.dynamic else one for one in listed.values()]
        for server in servers.reached:
            now = msgspec.json.encode([one for one in found if one.server == server]).decode()
            if await self._values.get(_LISTED + server, "[]") != now:
                await self._values.put(_LISTED + server, now)
        return found

    async def _at(self, server: str, uri: str, servers: SkillServers) -> ServedSkill | None:
        """One that is not listed, as its server says; as it said last where it does not answer."""
        try:
            return await servers.skill_at(server, uri)
        except (Unavailable, ServerRefused, ServerLost):
            last = await self.listed_last([server])
            return next((one for one in last if one.uri == uri), None)

    async def _named(self, server: str) -> list[str]:
        """The addresses of a server's skills that their person said yes to."""
        answers = await self._seen.list(OWNER)
        return [one.path.partition(":")[2] for one in answers if one.pinned and one.path.startswith(f"{server}:")]

    async def listed_last(self, servers: Collection[str]) -> list[ServedSkill]:
        """What each of these servers listed the last time that it was reached."""
        found: list[ServedSkill] = []
        for server in servers:
            try:
                found += msgspec.json.decode(await self._values.get(_LISTED + server, "[]"), type=list[ServedSkill])
            except UNREADABLE:  # written by another version; the next listing is written in its place
                continue
        return found

    async def look_at(self, served: ServedSkill, servers: SkillServers) -> Skill:
        """The skill for its person, with all of its files: those of a dynamic one as they are now, which is remembered.

        Raises:
            UnverifiedSkill, Unavailable, ServerRefused, ServerLost: as `read`.
        """
        return await self.read(await self._found_now(served, servers) if served.dynamic else served, servers.read)

    async def read(self, served: ServedSkill, read: ReadFile) -> Skill:
        """The skill with all of its files, each held to what is listed or was found; those that are not here are read
        and kept.

        Raises:
            UnverifiedSkill: a file is not that one, or its front matter is not.
            Unavailable, ServerRefused, ServerLost: its server did not answer.
        """
        data = {}
        for file in sorted(served.files, key=lambda one: one.path != ROOT):  # where that is another, no more is read
            known = await asyncio.to_thread(self._kept, file.sha256)
            data[file.path] = await read(served.server, file.uri) if known is None else known
            held_to(served, file, data[file.path])
            if known is None:
                await asyncio.to_thread(self._keep, file.sha256, data[file.path])
        return verified(served, data)

    async def use(self, served: ServedSkill, servers: SkillServers) -> Skill:
        """The skill for a model: one that is dynamic is asked for anew, and forgotten as it was found if it differs.

        Raises:
            UnverifiedSkill, Unavailable, ServerRefused, ServerLost: as `read`.
        """
        if not served.dynamic:
            return await self.read(served, servers.read)
        try:
            for file in served.files:
                held_to(served, file, await servers.read(served.server, file.uri))
        except UnverifiedSkill:
            await self._values.forget(_FOUND + served.identity)
            raise
        return await self.read(served, servers.read)

    async def _found_now(self, served: ServedSkill, servers: SkillServers) -> ServedSkill:
        more = await servers.files_below(served.server, served.root, MOST_SERVED_FILES)
        data: dict[str, bytes] = {}
        for uri in dict.fromkeys((served.uri, *more)):
            data[uri] = await servers.read(served.server, uri)
            if sum(map(len, data.values())) > MOST_SERVED_BYTES:
                break
        found = as_it_was_found(served, data)
        for file in found.files:
            held_to(found, file, data[file.uri])
            await asyncio.to_thread(self._keep, file.sha256, data[file.uri])
        await self._values.put(_FOUND + served.identity, msgspec.json.encode(found).decode())
        return found

    async def _as_found(self, served: ServedSkill) -> ServedSkill:
        """A dynamic skill as it was found, as long as it is listed as it was then; else without files."""
        try:
            kept = await self._values.get(_FOUND + served.identity, "null")
            known = msgspec.json.decode(kept, type=ServedSkill | None)
        except UNREADABLE:  # written by another version
            return served
        found = replace(served, files=known.files if known else ())
        return found if known and replace(known, name=served.name) == found else served

    async def sweep(self) -> None:
        """Let go of files that no skill is made of which its person said yes to."""
        answers = [one for one in await self._seen.list(OWNER) if one.pinned]
        wanted = {file.sha256 for one in answers for file in await self._seen.files(one.digest)}
        await asyncio.to_thread(self._remove_all_but, wanted)

    def _kept(self, digest: str) -> bytes | None:
        try:
            data = (self._folder / digest).read_bytes()
        except OSError:
            return None
        return data if sha256(data).hexdigest() == digest else None

    def _keep(self, digest: str, data: bytes) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        draft = self._folder / f".{digest}.{os.getpid()}"
        draft.write_bytes(data)
        crash_point("skill.served_file")
        draft.replace(self._folder / digest)

    def _remove_all_but(self, wanted: Collection[str]) -> None:
        if is_folder(self._folder):
            for path in self._folder.iterdir():
                if path.name not in wanted:
                    path.unlink(missing_ok=True)


def as_found(listed: Sequence[ServedSkill]) -> list[FoundSkill]:
    """Them as skills like any other, as far as they are listed: their files have not been read."""
    return [FoundSkill(one.shown(), SkillOwner.SERVER) for one in listed]
