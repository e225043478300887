"""How media come into being: judged by their content, measured, found whole, and only then stored."""

import asyncio
import codecs
import io
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import BinaryIO, Protocol

from msgspec import Struct
from msgspec.structs import replace

from angelia.context.media_forms import REDRAWN_PICTURES, WIRE_PICTURES, quoted
from angelia.core.content import BlobRef, Media, MediaKind
from angelia.core.errors import BadInput
from angelia.core.text import clean
from angelia.store.media.documents import can_read
from angelia.store.media.jobs import MediaLimitMet
from angelia.store.media.processes import MediaProcesses
from angelia.store.media.sniff import HEAD, sniff

UNKNOWN = "application/octet-stream"
"""The type of bytes that nobody recognises, or that are to be taken as mere bytes."""

MOST_BYTES = 100_000_000
"""The largest file that is taken in, by default."""

_OGG_PAGE = 65_536
"""Bytes in which at least one page begins: the largest has 65,307 (RFC 3533, 6)."""

_SIGNS = (
    (codecs.BOM_UTF16_LE, "text/plain"),
    (codecs.BOM_UTF16_BE, "text/plain"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"\x00\x00\x00\x0cjP  \r\n\x87\n", "image/jp2"),
)
"""What is worth knowing beside `store.media.sniff`: text that it takes for bytes, and pictures that are drawn anew."""


class IntakeBlobs(Protocol):
    """What intake needs of the blob store."""

    async def put(self, data: bytes, *, mime: str = "") -> BlobRef:
        """Store bytes, durably."""
        ...

    async def put_file(self, path: Path, *, mime: str = "", limit: int) -> BlobRef:
        """Store a file of at most `limit` bytes, durably."""
        ...

    async def put_stream(self, chunks: AsyncIterator[bytes], *, limit: int, mime: str = "") -> BlobRef:
        """Store what arrives, at most `limit` bytes, durably."""
        ...

    def path(self, sha256: str) -> Path:
        """Where these bytes are."""
        ...


class FileChangedMeanwhile(BadInput):
    """A file changed while it was read; reading it again may do."""


class Measured(Struct, frozen=True):
    """What `Media` says beside its bytes; numbers are 0 where unknown or meaningless."""

    mime: str
    kind: MediaKind
    width: int = 0
    height: int = 0
    pages: int = 0
    seconds: float = 0.0


class Intake:
    """The one way media come into being. What is damaged is refused before anything is stored; it is opened in
    `processes`, whose limits hold.
    """

    def __init__(self, blobs: IntakeBlobs, *, limit: int = MOST_BYTES, processes: MediaProcesses | None = None) -> None:
        self._blobs = blobs
        self.limit = limit
        self._processes = processes or MediaProcesses()

    async def to_media(self, data: bytes, name: str) -> Media:
        """Bytes that came from a tool, a page or a channel.

        Raises:
            BadInput: a picture or PDF that is damaged, locked or too large to open.
        """
        found = await measure(data, name, self._processes)
        return _media(await self._blobs.put(data, mime=found.mime), found, name)

    async def text_to_media(self, text: str, name: str) -> Media:
        """Text that somebody has read as text: the content of a text file, whatever it begins like."""
        blob = await self._blobs.put(clean(text).encode(), mime="text/plain")
        return _media(blob, Measured("text/plain", MediaKind.DOCUMENT), name)

    async def file_to_media(self, path: Path) -> Media:
        """A file of this machine, never held in memory whole.

        Raises:
            BadInput: as `to_media`, or `FileChangedMeanwhile`.
        """
        before = await asyncio.to_thread(path.stat)
        found = await measure(path, path.name, self._processes)
        blob = await self._blobs.put_file(path, mime=found.mime, limit=self.limit)
        after = await asyncio.to_thread(path.stat)
        steady = (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, blob.size)
        if not steady and (found.width or found.pages or found.seconds):
            raise FileChangedMeanwhile(
                f"The file {quoted(path.name)} changed while it was read.", then="Give it again."
            )
        return _media(blob, found, path.name)

    async def stream_to_media(
        self,
        chunks: AsyncIterator[bytes],
        name: str,
        *,
        limit: int = 0,
        unopened: Callable[[MediaLimitMet], object] = lambda error: None,
    ) -> Media:
        """What a channel or a sandbox brings, never held in memory whole; what is damaged goes by name only.

        `limit` is bytes, 0 for that of all intake. `unopened` is told of what took too much to be opened.

        Raises:
            BadInput: it is larger than the limit; nothing was stored. And whatever `chunks` raises.
        """
        blob = await self._blobs.put_stream(chunks, limit=limit or self.limit)
        try:
            found = await measure(self._blobs.path(blob.sha256), name, self._processes)
        except BadInput as error:
            if isinstance(error, MediaLimitMet):
                unopened(error)
            found = Measured(UNKNOWN, MediaKind.DOCUMENT)
        return _media(replace(blob, mime=found.mime), found, name)

    async def file_as_bytes(self, path: Path) -> Media:
        """A file that goes by name only, whatever is in it."""
        blob = await self._blobs.put_file(path, mime=UNKNOWN, limit=self.limit)
        return _media(blob, Measured(UNKNOWN, MediaKind.DOCUMENT), path.name)


async def measure(source: bytes | Path, name: str = "", processes: MediaProcesses | None = None) -> Measured:
    """What `source` is, and how large: a picture's pixels as it is shown, a PDF's pages, a recording's length.

    Raises:
        BadInput: a picture or PDF that is damaged, locked, or too large to open.
    """
    mime, seconds = await asyncio.to_thread(_known_by_reading, source, name)
    if mime.startswith("audio/"):
        return Measured(mime, MediaKind.AUDIO, seconds=seconds)
    opening = processes or MediaProcesses()
    if mime in WIRE_PICTURES or mime in REDRAWN_PICTURES:
        size = await opening.check(source, name)
        return Measured(mime, MediaKind.IMAGE, width=size.width, height=size.height)
    if mime == "application/pdf":
        return Measured(mime, MediaKind.DOCUMENT, pages=await opening.count_pages(source, name) if can_read() else 0)
    return Measured(mime, MediaKind.VIDEO if mime.startswith("video/") else MediaKind.DOCUMENT)


def mime_of(head: bytes, name: str = "") -> str:
    """The MIME type by the first bytes; where they are not known, by whether they read as text, then by the name."""
    found = sniff(head)
    if found != UNKNOWN or not head:
        return found
    for sign, mime in _SIGNS:
        if head.startswith(sign):
            return mime
    if _reads_as_text(head):
        return "text/plain"
    named = _named(name)
    return UNKNOWN if named.startswith("text/") else named


def _known_by_reading(source: bytes | Path, name: str) -> tuple[str, float]:
    """The type, and the length of a recording: read here, by code of ours that reads no more than some headers."""
    with _stream(source) as stream:
        mime = mime_of(stream.read(HEAD), name)
        if not mime.startswith("audio/"):
            return mime, 0.0
        stream.seek(0)
        return mime, _seconds(stream)


def _media(blob: BlobRef, found: Measured, name: str) -> Media:
    return Media(
        blob,
        found.kind,
        name=clean(name),
        width=found.width,
        height=found.height,
        pages=found.pages,
        seconds=found.seconds,
    )


def _stream(source: bytes | Path) -> BinaryIO:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def _reads_as_text(head: bytes) -> bool:
    """No NUL, and almost no control characters: Latin-1 and its kin look like this."""
    odd = len(re.findall(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]", head))
    return b"\0" not in head and odd * 100 <= len(head)


def _named(name: str) -> str:
    import mimetypes

    return mimetypes.MimeTypes(filenames=()).guess_type(name.lower())[0] or UNKNOWN


def _seconds(stream: BinaryIO) -> float:
    """The length of a WAV or Ogg recording; 0 for any other."""
    start = stream.read(_OGG_PAGE)
    if start.startswith(b"OggS"):
        return _ogg_seconds(start, stream)
    import wave

    stream.seek(0)
    try:
        with wave.open(stream) as sound:
            return round(float(sound.getnframes() / sound.getframerate()), 3)
    except (wave.Error, EOFError, ZeroDivisionError):
        return 0.0


def _ogg_seconds(start: bytes, stream: BinaryIO) -> float:
    """The last page's position over the rate: for Opus 48,000, less the pre-skip (RFC 7845, 4); else Vorbis's own."""
    opus, vorbis = start.find(b"OpusHead"), start.find(b"\x01vorbis")
    if opus >= 0:
        rate, skip = 48_000, int.from_bytes(start[opus + 10 : opus + 12], "little")
    elif vorbis >= 0:
        rate, skip = int.from_bytes(start[vorbis + 12 : vorbis + 16], "little"), 0
    else:
        return 0.0
    size = stream.seek(0, 2)
    stream.seek(max(0, size - _OGG_PAGE))
    end = stream.read()
    page = end.rfind(b"OggS")
    position = int.from_bytes(end[page + 6 : page + 14], "little", signed=True) if page >= 0 else 0
    return round(max(position - skip, 0) / rate, 3) if rate else 0.0
