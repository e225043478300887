"""The whole output of a command: on disk beyond a quarter of a megabyte, up to a set size, and counted beyond that.

A model reads both ends of it, and is told by its numbers what stands between and where that is. What is not kept is
said as such: to the model in the result, to the person in a notice.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import BinaryIO

from msgspec import Struct

from angelia.core.content import BlobRef
from angelia.core.errors import StoreError
from angelia.core.text import clean
from angelia.tools.port import ToolBlobs
from angelia.tools.shell.output import SHOWN, BothEnds, plain

SPOOLED = 1_000_000_000
"""Bytes of one output that are kept; of a longer one its beginning, and its last quarter of a megabyte."""

IN_MEMORY = 250_000
"""Bytes kept without a file, and the bytes at the end of an output that is too long."""

_BLOCK = 250_000
"""Bytes that are made plain at a time."""


class KeptOutput(Struct, frozen=True):
    """An output that has ended. `full` holds it where it is longer than what is shown; `lost` says what is not kept,
    and why, and is empty if all is.
    """

    ends: BothEnds
    full: BlobRef | None = None
    lost: str = ""


class Spool:
    """A growing output. `scratch` opens an unnamed file, and is asked for one as soon as memory would not do."""

    def __init__(self, scratch: Callable[[], BinaryIO], most: int = SPOOLED) -> None:
        self._scratch = scratch
        self._most = most
        self._begun = bytearray()
        self._file: BinaryIO | None = None
        self._written = 0
        self._tail = bytearray()
        self._dropped = 0
        self._failed = ""

    @property
    def size(self) -> int:
        """Bytes that were written in all."""
        return len(self._begun) + self._written + self._dropped + len(self._tail)

    def feed(self, chunk: bytes) -> None:
        """Take some more bytes; a disk that takes no more ends the keeping, not the command."""
        fits = 0 if self._failed else max(self._most - len(self._begun) - self._written, 0)
        if fits and not self._tail:
            self._keep(chunk[:fits])
            chunk = chunk[fits:] if not self._failed else chunk
        self._tail += chunk
        if len(self._tail) > 2 * IN_MEMORY:
            excess = len(self._tail) - IN_MEMORY
            del self._tail[:excess]
            self._dropped += excess

    def _keep(self, chunk: bytes) -> None:
        if self._file is None and len(self._begun) + len(chunk) <= IN_MEMORY:
            self._begun += chunk
            return
        try:
            if self._file is None:
                self._file = self._scratch()
            self._file.write(chunk)
            self._written += len(chunk)
        except OSError as error:
            self._failed = error.strerror or str(error)

    async def keep(self, blobs: ToolBlobs) -> KeptOutput:
        """The output as plain text, stored where it is longer than what is shown; call it once it has ended."""
        ends = BothEnds(SHOWN)
        if self.size <= SHOWN:
            return KeptOutput(self._seen(ends))
        try:
            full = await blobs.put_stream(self._stored(ends), limit=4 * self._most + 4 * IN_MEMORY, mime="text/plain")
        except StoreError as error:  # what the command did and how it ended is told all the same
            ends = await asyncio.to_thread(self._seen, BothEnds(SHOWN))
            return KeptOutput(ends, None, f"only both ends of {self.size:,} bytes of output are kept: {error.what}")
        return KeptOutput(ends, full if ends.characters > SHOWN else None, self._lost())

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

    def _seen(self, ends: BothEnds) -> BothEnds:
        for text in self._texts():
            ends.feed(text)
        return ends

    async def _stored(self, ends: BothEnds) -> AsyncIterator[bytes]:
        texts = self._texts()
        while (text := await asyncio.to_thread(next, texts, None)) is not None:
            ends.feed(text)
            yield text.encode()

    def _texts(self) -> Iterator[str]:
        """All of it as plain text, a block at a time, invalid UTF-8 as U+FFFD."""
        yield from _plain(self._blocks())
        if self._dropped:
            yield f"\n… ({self._lost()}) …\n"
            yield from _plain(iter((bytes(self._tail),)))

    def _blocks(self) -> Iterator[bytes]:
        yield bytes(self._begun)
        if self._file is not None:
            self._file.flush()
            self._file.seek(0)
            left = self._written
            while left and (block := self._file.read(min(_BLOCK, left))):
                left -= len(block)
                yield block
        if not self._dropped:
            yield bytes(self._tail)

    def _lost(self) -> str:
        if not self._dropped:
            return ""
        why = (
            f"the disk took no more: {self._failed}"
            if self._failed
            else f"at most {self._most / 1e6:,.0f} MB of an output are kept, of this one its beginning and its end"
        )
        return f"{self._dropped:,} of {self.size:,} bytes of output were dropped: {why}"


def _plain(blocks: Iterator[bytes]) -> Iterator[str]:
    """Blocks as plain text, cut at line ends where there are any, so that no line is taken for two."""
    rest = b""
    for block in blocks:
        data = rest + block
        cut = data.rfind(b"\n") + 1
        if not cut and len(data) > _BLOCK:  # one line without end: cut between characters
            cut = len(data) - _begun_character(data)
        rest = data[cut:]
        if cut:
            yield clean(plain(data[:cut].decode("utf-8", "replace")))
    if rest:
        yield clean(plain(rest.decode("utf-8", "replace")))


def _begun_character(data: bytes) -> int:
    """How many bytes at the end begin a character of UTF-8 that is not whole yet, at most 3."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            needed = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return back if needed > back else 0
    return 0
