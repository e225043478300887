"""Media opened in the form in which a model gets them; what took work is kept on disk, and can be made again."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from angelia.context.media_forms import MOST_PAGES, MOST_TEXT, WIRE_PICTURES, Nature, label, nature
from angelia.context.request import Opened, OpenedBytes, OpenedText, Shown
from angelia.core.content import Form, Media, MediaKind
from angelia.core.errors import BadInput, MissingPart, NotFound, StoreDamaged
from angelia.core.ids import sortable_id
from angelia.store.media.documents import Missing, Page, PagePicture, PageText
from angelia.store.media.jobs import MediaLimitMet, ReadPages
from angelia.store.media.processes import MediaProcesses

_RECIPE = 2
"""Raised when what is made from the same bytes changes, so that nothing old is served."""

_log = logging.getLogger(__name__)


class RenditionBlobs(Protocol):
    """What renditions need of the blob store."""

    async def get(self, sha256: str) -> bytes:
        """The bytes, or NotFound."""
        ...

    async def local(self, sha256: str) -> Path:
        """A file with the bytes, or NotFound."""
        ...


class _Piece(Struct, frozen=True):
    """One piece as it is kept; `mime` is empty for text."""

    mime: str
    data: bytes


class Renditions:
    """Opens media for providers (`context.request.OpenMedia`).

    The same `Shown` gives the same bytes every time, also after a restart: what is drawn or read out is kept in
    `folder`, whose loss costs time only; so is what took too much to be opened, which is not tried again. `most_text`
    and `most_pages` bound what one document may become. `keep_metadata` leaves place and device in pictures.
    """

    def __init__(
        self,
        blobs: RenditionBlobs,
        folder: Path,
        processes: MediaProcesses | None = None,
        *,
        most_text: int = MOST_TEXT,
        most_pages: int = MOST_PAGES,
        keep_metadata: bool = False,
    ) -> None:
        self._blobs = blobs
        self._folder = folder
        self._processes = processes or MediaProcesses()
        self._most_text = most_text
        self._most_pages = most_pages
        self._keep_metadata = keep_metadata

    async def open(self, shown: Shown) -> tuple[Opened, ...]:
        """The medium in its form: bytes, text, or both in the order of its pages.

        What cannot be opened (gone, damaged, a part not installed) is one line of text that says so: a model
        that is told goes on, where an error would stop every later turn of the conversation.
        """
        try:
            return await self._open(shown)
        except (BadInput, MissingPart) as error:
            return _sorry(shown.media, str(error))
        except (NotFound, FileNotFoundError):
            _log.warning("The bytes of the %s (%s) are gone.", label(shown.media), shown.media.blob.sha256)
            return _sorry(shown.media, "its bytes are no longer kept")
        except StoreDamaged as error:
            _log.error("The %s cannot be shown to the model: %s", label(shown.media), error)
            return _sorry(shown.media, "its stored bytes are damaged")

    async def path_for_chat(self, media: Media) -> Path:
        """Where the bytes lie that a chat gets of `media`: a picture's without place and device, unless they are kept
        by setting; what is sent as a file (`MediaKind.DOCUMENT`), and all else, is the blob itself.

        Raises:
            NotFound, StoreDamaged: as the blob store.
            BadInput: the picture can neither be read nor drawn anew; nothing of it is sent.
        """
        sha256, mime = media.blob.sha256, media.blob.mime
        itself = await self._blobs.local(sha256)
        if self._keep_metadata or media.media is not MediaKind.IMAGE or mime not in WIRE_PICTURES:
            return itself
        place = self._place(sha256) / f"{sha256}.chat.{_digest((_RECIPE, mime))}"
        if await asyncio.to_thread(place.is_file):
            return place
        data = await self._blobs.get(sha256)
        bare = await self._as_it_is(media, data)
        if bare.data == data:
            return itself
        await asyncio.to_thread(_write, place, bare.data)
        return place

    async def forget(self, sha256: str) -> None:
        """Erase all that was made from a blob; for the erasure of a conversation."""
        await asyncio.to_thread(_erase, self._place(sha256), f"{sha256}.*")

    async def _open(self, shown: Shown) -> tuple[Opened, ...]:
        media = shown.media
        match nature(media), shown.form:
            case Nature.WORDS, _:
                return (await self._words(media),)
            case Nature.PICTURE, Form.NATIVE:
                return await self._picture(shown)
            case _, Form.NATIVE:
                return (OpenedBytes(media.blob.mime, await self._blobs.get(media.blob.sha256)),)
            case Nature.PDF, _:
                return await self._kept(shown, self._pages)
            case _:
                return _sorry(media, "there is no text in it")

    async def _words(self, media: Media) -> OpenedText:
        if not media.blob.size:
            return OpenedText(f"[{label(media)}: it is empty]")
        path = await self._blobs.local(media.blob.sha256)
        from angelia.store.media.plaintext import read_text

        return _framed(media, await asyncio.to_thread(read_text, path, self._most_text))

    async def _picture(self, shown: Shown) -> tuple[Opened, ...]:
        media = shown.media
        edge = max(media.width, media.height)
        if media.blob.mime in WIRE_PICTURES and (not shown.long_edge or 0 < edge <= shown.long_edge):
            return (await self._as_it_is(media, await self._blobs.get(media.blob.sha256)),)
        return await self._kept(shown, self._drawn)

    async def _as_it_is(self, media: Media, data: bytes) -> OpenedBytes:
        """The picture itself, without what it tells of place and device; anew where that cannot be found in it."""
        mime = media.blob.mime
        if self._keep_metadata or mime not in WIRE_PICTURES:
            return OpenedBytes(mime, data)
        from angelia.store.media.picture_metadata import UnknownLayout, without_metadata

        try:
            return OpenedBytes(mime, await asyncio.to_thread(without_metadata, data, mime))
        except UnknownLayout:
            drawn = await self._processes.redraw(data, 0, media.name)
            return OpenedBytes(drawn.mime, drawn.data)

    async def _drawn(self, shown: Shown, data: bytes) -> tuple[Opened, ...]:
        media = shown.media
        if media.blob.mime in WIRE_PICTURES and not media.width:
            size = await self._processes.check(data, media.name)
            if max(size.width, size.height) <= shown.long_edge:
                return (await self._as_it_is(media, data),)
        drawn = await self._processes.redraw(data, shown.long_edge, media.name)
        picture = OpenedBytes(drawn.mime, drawn.data)
        if drawn.frames == 1:
            return (picture,)
        return (picture, OpenedText(f"[{label(media)}: the first of its {drawn.frames} pictures is shown]"))

    async def _pages(self, shown: Shown, data: bytes) -> tuple[Opened, ...]:
        long_edge = shown.long_edge if shown.form is Form.TEXT_OR_PAGES else 0
        job = ReadPages(long_edge, self._most_text, self._most_pages, shown.media.name)
        return _told(shown.media, await self._processes.read_pages(data, job))

    async def _kept(
        self, shown: Shown, make: Callable[[Shown, bytes], Awaitable[tuple[Opened, ...]]]
    ) -> tuple[Opened, ...]:
        """What was made of `shown` before, else what `make` makes of its bytes now; what took too much is not tried
        again, under any name and at any size.
        """
        sha256, limits = shown.media.blob.sha256, tuple(self._processes.limits.values())
        # Names appear in what is made, and limits shape it: whatever differs in one of them is another rendition.
        shaping = (self._most_text, self._most_pages, self._keep_metadata)
        recipe = (_RECIPE, shown.media.name, shown.media.blob.mime, *shaping)
        place = self._place(sha256) / f"{sha256}.{shown.form}.{shown.long_edge}.{_digest(recipe)}"
        beyond = self._place(sha256) / f"{sha256}.{shown.form}.beyond.{_digest((_RECIPE, *limits, *shaping))}"
        found = await asyncio.to_thread(_read, place)
        if found is None:
            known = await asyncio.to_thread(_read, beyond) or ()
            if known and isinstance(known[0], OpenedText):
                return _beyond(shown.media, known[0].text)
            data = await self._blobs.get(sha256)
            try:
                found = await make(shown, data)
            except MediaLimitMet as error:
                _log.warning("%s", error)
                await asyncio.to_thread(_keep, beyond, (OpenedText(error.took),))
                return _beyond(shown.media, error.took)
            await asyncio.to_thread(_keep, place, found)
        return found

    def _place(self, sha256: str) -> Path:
        return self._folder / sha256[:2]


def _told(media: Media, pages: Iterable[Page]) -> tuple[Opened, ...]:
    """Pages as a model reads them: neighbouring text in one piece, each picture with its page's number before it."""
    pieces: list[Opened] = []
    said: list[str] = [f"[{label(media)}]"]
    for page in pages:
        match page:
            case PageText(number=number, text=text):
                said.append(f"[page {number}]\n{text}" if text else f"[page {number}: no text]")
            case Missing(first=first, last=last, because=because):
                which = f"page {first}" if first == last else f"pages {first} to {last}"
                said.append(f"[{which} left out: {because}]")
            case PagePicture(number=number, mime=mime, data=data):
                pieces += [OpenedText("\n".join([*said, f"[page {number}, as a picture]"])), OpenedBytes(mime, data)]
                said = []
    return (*pieces, OpenedText("\n".join([*said, "[end of file]"])))


def _framed(media: Media, text: str) -> OpenedText:
    return OpenedText(f"[{label(media)}]\n{text}\n[end of file]")


def _sorry(media: Media, why: str) -> tuple[Opened, ...]:
    return (OpenedText(f"[{label(media)}: not shown: {why}]"),)


def _beyond(media: Media, took: str) -> tuple[Opened, ...]:
    return _sorry(media, f"it {took}, and opening it was ended. Tell the person, who may save it as a new file")


def _digest(recipe: object) -> str:
    import hashlib

    return hashlib.sha256(msgspec.json.encode(recipe)).hexdigest()[:12]


def _read(place: Path) -> tuple[Opened, ...] | None:
    try:
        pieces = msgspec.msgpack.decode(place.read_bytes(), type=tuple[_Piece, ...])
    except (OSError, msgspec.DecodeError):
        return None
    return tuple(OpenedBytes(p.mime, p.data) if p.mime else OpenedText(p.data.decode()) for p in pieces)


def _keep(place: Path, made: tuple[Opened, ...]) -> None:
    """Write beside and rename, so that a file is whole or absent. On a full disk it is made again next time."""
    pieces = tuple(
        _Piece(piece.mime, piece.data) if isinstance(piece, OpenedBytes) else _Piece("", piece.text.encode())
        for piece in made
    )
    try:
        _write(place, msgspec.msgpack.encode(pieces))
    except OSError as error:
        _log.warning("A rendition could not be kept in %s: %s", place.parent, error)


def _write(place: Path, data: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_name(f"{place.name}.{sortable_id()}")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(place)


def _erase(folder: Path, pattern: str) -> None:
    for file in folder.glob(pattern):
        file.unlink(missing_ok=True)
