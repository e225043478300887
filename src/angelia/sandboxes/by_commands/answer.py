"""What a script of `scripts.py` says: its first line as the port's errors, and the bytes that follow."""

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping, Sequence

from angelia.core.text import clean, one_line
from angelia.sandboxes.by_commands.scripts import WORDS
from angelia.sandboxes.local.safe_open import shown
from angelia.sandboxes.port import (
    AccessRefused,
    FileChanged,
    FileTooLarge,
    IsFolder,
    NoSuchFile,
    NotAFile,
    OutOfSpace,
    Running,
    SandboxError,
)

SECONDS_TO_SPEAK = 30.0
"""A script that has said nothing by then hangs: a FIFO has taken the file's place while it was opened."""
BEGUN = "begun"
"""Said in a line of its own by a script that has opened everything, and whose answer may take longer than that."""
UNTOUCHED = "Nothing was changed."

_LONGEST_LINE = 10_000

_KINDS_OF_FAILURE: Mapping[str, type[SandboxError]] = {
    "no space left": OutOfSpace,
    "quota exceeded": OutOfSpace,
    "permission denied": AccessRefused,
    "read-only file system": AccessRefused,
    "not permitted": AccessRefused,
    "name too long": NoSuchFile,
    "is a directory": IsFolder,
}
"""By the words of the far side's programs (strerror(3) in the C locale)."""


class ScriptAnswer:
    """A script's output after its first line `ok`; `rest` is what else stood in that line."""

    def __init__(self, running: Running, *, plain: bool) -> None:
        output = running.output()
        self._running, self._chunks = running, output if plain else _decoded(output)
        self._held = b""
        self.rest = ""

    async def first_line(self) -> str:
        """One line; what there is, when the output ends before."""
        while b"\n" not in self._held and len(self._held) < _LONGEST_LINE and (chunk := await self._next()):
            self._held += chunk
        line, _, self._held = self._held.partition(b"\n")
        return line.decode(errors="replace")

    async def read(self, count: int) -> bytes:
        """Exactly `count` bytes, fewer only at the end."""
        while len(self._held) < count and (chunk := await self._next()):
            self._held += chunk
        taken, self._held = self._held[:count], self._held[count:]
        return taken

    async def some(self, most: int) -> bytes:
        """What has come, at most so many bytes; nothing only at the end."""
        held = self._held or await self._next()
        self._held = held[most:]
        return held[:most]

    async def whole(self) -> bytes:
        """Everything to the end."""
        while chunk := await self._next():
            self._held += chunk
        return self._held

    async def end(self) -> None:
        """Leave nothing running, whether or not all was read."""
        await self._running.kill()
        await self._running.wait()

    async def _next(self) -> bytes:
        return await anext(self._chunks, b"")


async def answer(running: Running, path: str, roots: Sequence[str], *, plain: bool) -> ScriptAnswer:
    """The answer to a script, if it is `ok`.

    Raises:
        SandboxError: as the port says for the deed; also when the script could not run at all.
    """
    said = ScriptAnswer(running, plain=plain)
    try:
        async with asyncio.timeout(SECONDS_TO_SPEAK):
            line = await said.first_line()
        if line == BEGUN:
            line = await said.first_line()
    except BaseException as error:
        await running.kill()
        if isinstance(error, TimeoutError):
            raise FileChanged(
                f"{shown(path)} gave no sign for {SECONDS_TO_SPEAK:g} s.",
                "Something that has no end took its place while it was opened.",
                "Try again.",
            ) from error
        raise
    word, _, said.rest = line.partition(" ")
    if word == "ok":
        return said
    more = (await said.read(_LONGEST_LINE)).decode(errors="replace")
    await said.end()
    raise _error(word, f"{said.rest}\n{more}".strip() if word in WORDS else f"{line}\n{more}", path, roots)


def _error(word: str, rest: str, path: str, roots: Sequence[str]) -> SandboxError:
    match word:
        case "missing":
            return NoSuchFile(f"There is no {shown(path)}.")
        case "nofolder":
            return NoSuchFile(f"{shown(path)} is a file, not a folder.", then="Read it instead.")
        case "outside":
            return AccessRefused(
                f"{shown(path)} is outside the sandbox.",
                f"Files move only within {' and '.join(roots)}, after links are resolved.",
                "Copy it into the workspace first.",
            )
        case "loop":
            return AccessRefused(f"{shown(path)} leads in circles: over 40 links.")
        case "folder":
            return IsFolder(f"{shown(path)} is a folder.", then="List it, or pack it into an archive.")
        case "other":
            return NotAFile(f"{shown(path)} is a device, socket or FIFO.", "It has no end, so it is not read.")
        case "made":
            return NotAFile(
                f"{shown(path)} is made up by the kernel as it is read.", "Its size is not true; nothing was read."
            )
        case "denied":
            return AccessRefused(f"{shown(path)}: permission denied.")
        case "large":
            return FileTooLarge(
                f"{shown(path)} is {rest} bytes long, which is more than was asked for.", "No byte was moved."
            )
        case "changed":
            return FileChanged(f"{shown(path)} changed while it was worked on.", UNTOUCHED, "Try again.")
        case _:
            told = one_line(clean(rest), 300)
            kind = next((kind for words, kind in _KINDS_OF_FAILURE.items() if words in told.lower()), SandboxError)
            return kind(f"{shown(path)}: {told or 'the sandbox gave no answer'}.")


async def _decoded(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Base64 as it comes, in whatever lines."""
    held = b""
    async for chunk in chunks:
        held += b"".join(chunk.split())
        whole = len(held) // 4 * 4
        yield base64.b64decode(held[:whole])
        held = held[whole:]
