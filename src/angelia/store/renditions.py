"""Media opened in the form in which a model gets them; what took work is kept on disk, and can be made again."""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from angelia.context.forms import MOST_PAGES, MOST_TEXT, WIRE_PICTURES, Nature, label, nature
from angelia.context.request import Opened, OpenedBytes, OpenedText, Shown
from angelia.core.content import Form, Media
from angelia.core.errors import BadInput, MissingPart, NotFound, StoreDamaged
from angelia.core.ids import sortable_id
from angelia.store.documents import Missing, Page, PagePicture, PageText, read_pages
from angelia.store.pictures import check, redraw
from angelia.store.plaintext import read_text

_RECIPE = 1
"""Raised when what is made from the same bytes changes, so that nothing old is served."""

_log = logging.getLogger(__name__)


class Blobs(Protocol):
    """What renditions need of the blob store."""

    async def get(self, sha256: str) -> bytes:
        """The bytes, or NotFound."""
        ...

    def path(self, sha256: str) -> Path:
        """Where the bytes lie."""
        ...


class _Piece(Struct, frozen=True):
    """One piece as it is kept; `mime` is empty for text."""

    mime: str
    data: bytes


class Renditions:
    """Opens media for model rooms (`context.request.OpenMedia`).

    The same `Shown` gives the same bytes every time, also after a restart: what is drawn or read out is kept in
    `folder`, whose loss costs time only. `most_text` and `most_pages` bound what one document may become.
    """

    def __init__(self, blobs: Blobs, folder: Path, *, most_text: int = MOST_TEXT, most_pages: int = MOST_PAGES) -> None:
        self._blobs, self._folder = blobs, folder
        self._most_text, self._most_pages = most_text, most_pages

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

    async def forget(self, sha256: str) -> None:
        """Erase all that was made from a blob; for the erasure of a conversation."""
        await asyncio.to_thread(_erase, self._place(sha256), f"{sha256}.*")

    async def _open(self, shown: Shown) -> tuple[Opened, ...]:
        media = shown.media
        match nature(media), shown.form:
            case Nature.WORDS, _:
                return (await asyncio.to_thread(self._words, media),)
            case Nature.PICTURE, Form.NATIVE:
                return await self._picture(shown)
            case _, Form.NATIVE:
                return (OpenedBytes(media.blob.mime, await self._blobs.get(media.blob.sha256)),)
            case Nature.PDF, _:
                return await self._kept(shown, lambda data: self._pages(shown, data))
            case _:
                return _sorry(media, "there is no text in it")

    def _words(self, media: Media) -> OpenedText:
        if not media.blob.size:
            return OpenedText(f"[{label(media)}: it is empty]")
        return _framed(media, read_text(self._blobs.path(media.blob.sha256), self._most_text))

    async def _picture(self, shown: Shown) -> tuple[Opened, ...]:
        media = shown.media
        edge = max(media.width, media.height)
        if media.blob.mime in WIRE_PICTURES and (not shown.long_edge or 0 < edge <= shown.long_edge):
            return (OpenedBytes(media.blob.mime, await self._blobs.get(media.blob.sha256)),)
        return await self._kept(shown, lambda data: _drawn(shown, data))

    def _pages(self, shown: Shown, data: bytes) -> tuple[Opened, ...]:
        pages = read_pages(
            data,
            long_edge=shown.long_edge if shown.form is Form.TEXT_OR_PAGES else 0,
            most_text=self._most_text,
            most_pictures=self._most_pages,
            name=shown.media.name,
        )
        return _told(shown.media, pages)

    async def _kept(self, shown: Shown, make: Callable[[bytes], tuple[Opened, ...]]) -> tuple[Opened, ...]:
        """What was made of `shown` before, else what `make` makes of its bytes now."""
        sha256 = shown.media.blob.sha256
        # Names appear in what is made, and limits shape it: whatever differs in one of them is another rendition.
        recipe = (_RECIPE, shown.media.name, shown.media.blob.mime, self._most_text, self._most_pages)
        mark = f"{sha256}.{shown.form}.{shown.long_edge}.{_digest(recipe)}"
        place = self._place(sha256) / mark
        found = await asyncio.to_thread(_read, place)
        if found is None:
            data = await self._blobs.get(sha256)
            found = await asyncio.to_thread(make, data)
            await asyncio.to_thread(_keep, place, found)
        return found

    def _place(self, sha256: str) -> Path:
        return self._folder / sha256[:2]


def _drawn(shown: Shown, data: bytes) -> tuple[Opened, ...]:
    media = shown.media
    if media.blob.mime in WIRE_PICTURES and not media.width:
        size = check(data, media.name)
        if max(size.width, size.height) <= shown.long_edge:
            return (OpenedBytes(media.blob.mime, data),)
    drawn = redraw(data, shown.long_edge, media.name)
    picture = OpenedBytes(drawn.mime, drawn.data)
    if drawn.frames == 1:
        return (picture,)
    return (picture, OpenedText(f"[{label(media)}: the first of its {drawn.frames} pictures is shown]"))


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
    """Write beside and rename, so that a file is whole or absent. Without room it is made again next time."""
    pieces = tuple(
        _Piece(piece.mime, piece.data) if isinstance(piece, OpenedBytes) else _Piece("", piece.text.encode())
        for piece in made
    )
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = place.with_name(f"{place.name}.{sortable_id()}")
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(msgspec.msgpack.encode(pieces))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(place)
    except OSError as error:
        _log.warning("A rendition could not be kept in %s: %s", place.parent, error)


def _erase(folder: Path, pattern: str) -> None:
    for file in folder.glob(pattern):
        file.unlink(missing_ok=True)
