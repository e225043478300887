"""Files by commands alone: a sandbox that can run a command gets `get`, `put`, `stat` and `list` from here.

    class MySandbox(FilesByExec):
        async def start(self, command: Command) -> Running: ...
        async def describe(self) -> Description: ...
        async def close(self) -> None: ...

A plain stream with a line in front and a SHA-256 behind is used where others use tar: busybox's tar follows a link that
is swapped in, and the far side needs one program less.
"""

import asyncio
import base64
import hashlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import suppress
from typing import ClassVar

from angelia.sandboxes.by_commands import scripts as scripts
from angelia.sandboxes.by_commands.answer import BEGUN, UNTOUCHED, ScriptAnswer, answer
from angelia.sandboxes.local.safe_open import shown
from angelia.sandboxes.port import (
    Command,
    Description,
    FileChanged,
    FileKind,
    FileStat,
    Judged,
    NoSuchFile,
    Reach,
    Running,
    SandboxError,
)

PIECE = 8_000_000
"""Bytes that one command takes in; so many are held in memory."""
WORD = 60_000
"""Bytes that one argument takes in where input is not binary-safe; Linux takes 131,071 (execve(2))."""
CHUNK = 1 << 20
"""Bytes handed on at once."""

_KINDS = {0o10: FileKind.FILE, 0o04: FileKind.FOLDER, 0o12: FileKind.LINK}
"""By the upper four bits of a mode (inode(7))."""
_ROW = re.compile(rb"([0-9a-f]+) (\d+) (-?\d+) \./")


class FilesByExec(ABC):
    """The file half of `sandboxes.port.Sandbox`, by way of its other half.

    Everything moves in constant memory; every put is hashed inside before it takes its name, every get on both sides
    unless the stream is `trusted`.
    Files move beneath `roots`, after links are resolved.
    """

    binary_safe: ClassVar[bool] = True
    """Whether bytes go in and out as they are; False makes all of it base64, and sends nothing by standard input."""
    trusted: ClassVar[bool] = False
    """Whether the stream is known to bring what was sent, as a daemon's framing does. Then a get is judged by length
    and times, as on this machine: a hash inside takes longer than the transfer (busybox: 120 MB a second)."""

    @abstractmethod
    async def start(self, command: Command) -> Running:
        """See the port."""

    @abstractmethod
    async def describe(self) -> Description:
        """See the port."""

    async def roots(self) -> Sequence[str]:
        """The folders inside that files may move in and out of, the workspace first."""
        return ((await self.describe()).workspace,)

    async def get(self, path: str, *, limit: int) -> AsyncIterator[bytes]:
        """See the port."""
        said = await self._ask(scripts.GET, path, [f"limit={limit}", f"hashed={int(not self.trusted)}"])
        try:
            digest, left = hashlib.sha256(), int(said.rest)
            while left:
                chunk = await said.some(min(left, CHUNK))
                if not chunk:
                    raise FileChanged(f"{shown(path)} became {left} bytes shorter while it was read.")
                left -= len(chunk)
                if not self.trusted:
                    digest.update(chunk)
                yield chunk
            told = (await said.read(64)).decode(errors="replace")
            if self.trusted and told != scripts.SAME:
                raise FileChanged(
                    f"{shown(path)} was written to while it was read.",
                    then="Read it again. Where something writes to it all the time, copy it there first.",
                )
            if not self.trusted and told != digest.hexdigest():
                raise FileChanged(
                    f"{shown(path)} is not what came: its SHA-256 inside is {told}.",
                    "Something wrote to it meanwhile, or bytes are changed on the way.",
                    "Read it again.",
                )
        finally:
            await said.end()

    async def put(
        self,
        path: str,
        content: AsyncIterator[bytes],
        *,
        size: int,
        sha256: str,
        mode: int = 0o644,
        modified: float | None = None,
    ) -> None:
        """See the port."""
        draft, offset, begun = f".angelia-{os.urandom(8).hex()}", 0, False
        when = "" if modified is None else str(int(modified))  # busybox knows whole seconds
        digest, pending, most = hashlib.sha256(), bytearray(), PIECE if self.binary_safe else WORD * 3 // 4 - 2

        async def send(count: int, *, last: bool) -> None:
            nonlocal offset, begun
            begun = True
            settings = [f"draft={draft}", f"offset={offset}", f"count={count}", f"last={int(last)}"]
            settings += [f"sha256={sha256}", f"mode={mode & 0o777:o}", f"modified={when}"]
            with memoryview(pending)[:count] as view:
                piece = bytes(view)
            del pending[:count]  # before it is sent: one copy of a piece is enough
            await self._append(path, piece, settings)
            offset += count

        try:
            async for chunk in content:
                digest.update(chunk)
                pending += chunk
                if offset + len(pending) > size:
                    raise FileChanged(f"More than the {size} bytes promised for {shown(path)} came.", UNTOUCHED)
                while len(pending) > most:
                    await send(most, last=False)
            if offset + len(pending) != size or digest.hexdigest() != sha256:
                raise FileChanged(
                    f"{offset + len(pending)} bytes with SHA-256 {digest.hexdigest()} came for {shown(path)}, "
                    f"and {size} bytes with {sha256} were promised.",
                    UNTOUCHED,
                )
            await send(len(pending), last=True)
        except BaseException:
            if begun:
                await _to_the_end(self._drop(path, draft))
            raise

    async def stat(self, path: str) -> FileStat:
        """See the port."""
        said = await self._ask(scripts.STAT, path, [])
        whole = await said.whole()
        facts, _, target = whole.partition(b"\n")
        if not facts:
            raise NoSuchFile(f"{shown(path)} was removed while it was looked at.")
        mode, size, modified = facts.split()
        return _stat(path, (mode, size, modified), os.fsdecode(target))

    async def list(self, path: str) -> AsyncIterator[FileStat]:
        """See the port."""
        said = await self._ask(scripts.LIST, path, [])
        try:
            held, more = b"", True
            while more:
                chunk = await said.read(CHUNK)
                held, more = held + chunk, bool(chunk)
                rows = list(_ROW.finditer(held))
                ends = [row.start() for row in rows[1:]] + ([len(held)] if not more else [])
                for row, end in zip(rows, ends, strict=False):
                    name = os.fsdecode(held[row.end() : end - 1])
                    inside = f"{path.rstrip('/')}/{name}" if path else name
                    yield _stat(inside, (row[1], row[2], row[3]))
                held = held[ends[-1] :] if ends else held
        finally:
            await said.end()

    async def _append(self, path: str, data: bytes, settings: Sequence[str]) -> None:
        source, stdin = ["source=cat", f"word={BEGUN}"], data
        if not self.binary_safe:
            word = base64.b64encode(f"{BEGUN}\n".encode()).decode()
            source, stdin = [f"source='printf %s {base64.b64encode(data).decode()} | base64 -d'", f"word={word}"], b""
        await (await self._ask(scripts.PUT, path, [*settings, *source], stdin)).end()

    async def _drop(self, path: str, draft: str) -> None:
        await (await self._ask(scripts.DROP, path, [f"draft={draft}"])).end()

    async def _ask(self, script: str, path: str, settings: Sequence[str], stdin: bytes = b"") -> ScriptAnswer:
        if "\0" in path:
            raise NoSuchFile(f"No file is called {shown(path)}: a name has no NUL in it.")
        roots = await self.roots()
        settings = [*settings, f"straight={1 if isinstance(path, Judged) else ''}"]
        argv = scripts.words(script, path, settings, roots)
        if not self.binary_safe:
            argv = ("/bin/sh", "-c", '{ "$@" | base64; } 4>&1', "sh", *argv)  # 4: past what waits for the end
        reach = Reach.CONFINED if (await self.describe()).confined else Reach.OUTSIDE
        running = await self.start(Command(argv=argv, stdin=stdin, reach=reach))
        return await answer(running, path, roots, plain=self.binary_safe)


def _stat(path: str, facts: tuple[bytes, bytes, bytes], target: str = "") -> FileStat:
    mode, size, modified = int(facts[0], 16), int(facts[1]), float(facts[2])
    return FileStat(path, _KINDS.get(mode >> 12, FileKind.OTHER), size, mode & 0o7777, modified, target)


async def _to_the_end(deed: Awaitable[None]) -> None:
    """Tidy up also while we are being cancelled; that it cannot be done is not worth hiding why we came here."""
    task = asyncio.ensure_future(deed)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])
    with suppress(SandboxError):
        task.result()
