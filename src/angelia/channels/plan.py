"""What one delivery becomes on one network: messages in their order, and what cannot go with its reason.

Pure and deterministic. One file's failure touches no other.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeGuard, assert_never

from msgspec import Struct

from angelia.channels.capabilities import Capabilities, Kind, NativeMethod
from angelia.channels.kinds import ENDINGS, UNKNOWN, WORDS, ChosenKind, Misfit, fit
from angelia.channels.markup.dialect import Dialect
from angelia.channels.markup.renderer import Rendered, render, render_blocks, render_within
from angelia.channels.markup.tree import MarkupLink, Paragraph, PlainWords
from angelia.context.media_forms import size_words
from angelia.core.content import Content, Media, Text


class TextPiece(Struct, frozen=True):
    """A message of words: `marked` in the dialect, `plain` without markup."""

    marked: str
    plain: str


class FilePiece(Struct, frozen=True):
    """A file as one message. `note` tells people that it changed its shape: `sent as a file: too large for a photo`."""

    media: Media
    kind: Kind
    name: str
    mime: str
    caption: Rendered | None = None
    note: str = ""


class AlbumPiece(Struct, frozen=True):
    """Two or more pictures and films as one message; the first one's caption is the album's."""

    files: tuple[FilePiece, ...]


class CannotPiece(Struct, frozen=True):
    """A file that cannot go; `because` is a sentence with the limit and the numbers."""

    media: Media
    because: str


Piece = TextPiece | FilePiece | AlbumPiece | CannotPiece


def plan(
    parts: Sequence[Content],
    capabilities: Capabilities,
    dialect: Dialect,
    link: Callable[[Media], str] | None = None,
) -> tuple[Piece, ...]:
    """The messages of a delivery. Words right before a file are its caption, if they fit.

    `link` gives an address under which a file can be had; it is used for what the network does not take.
    """
    planning = _Planning(capabilities, dialect, link)
    return tuple(_albums(list(planning.pieces(parts)), capabilities))


class _Planning:
    """The pieces of one delivery, albums aside."""

    def __init__(self, capabilities: Capabilities, dialect: Dialect, link: Callable[[Media], str] | None) -> None:
        self._abilities = capabilities
        self._dialect = dialect
        self._link = link

    def pieces(self, parts: Sequence[Content]) -> Iterator[Piece]:
        """Each part in its order."""
        words = ""
        for part in parts:
            match part:
                case Text(text=text):
                    yield from self._texts(words)
                    words = text
                case Media():
                    yield from self._file(part, words)
                    words = ""
                case _:
                    assert_never(part)
        yield from self._texts(words)

    def _texts(self, words: str) -> Iterator[Piece]:
        for one in render(words, self._dialect, self._abilities):
            yield TextPiece(one.marked, one.plain)

    def _file(self, media: Media, words: str) -> Iterator[Piece]:
        match fit(media, self._abilities):
            case ChosenKind(kind=kind, way=way, note=note):
                caption = self._caption(words, way)
                if not caption:
                    yield from self._texts(words)
                mime = media.blob.mime or UNKNOWN
                yield FilePiece(media, kind, _name(media, kind), mime, caption, note)
            case Misfit(because=because):
                yield from self._texts(words)
                yield from self._instead(media, because)

    def _caption(self, words: str, way: NativeMethod) -> Rendered | None:
        """The words, if they fit beneath the file whole."""
        if not way.caption or not words.strip():
            return None
        found = render_within(words, self._dialect, min(way.caption, self._abilities.text_limit), self._abilities.units)
        return found[0] if len(found) == 1 else None

    def _instead(self, media: Media, because: str) -> Iterator[Piece]:
        """A link to a file that the network does not take, or why it cannot go."""
        name, size = _name(media, Kind.DOCUMENT), size_words(media.blob.size)
        if not self._link:
            yield CannotPiece(media, f"{name} ({size}) cannot go to this chat: {because}.")
            return
        shown = Paragraph(
            (MarkupLink((PlainWords(name),), self._link(media)), PlainWords(f" ({size}), sent as a link: {because}"))
        )
        for one in render_blocks((shown,), self._dialect, self._abilities):
            yield TextPiece(one.marked, one.plain)


def _name(media: Media, kind: Kind) -> str:
    return media.name or WORDS[kind].replace(" ", "-") + ENDINGS.get(media.blob.mime, "")


def _albums(pieces: list[Piece], capabilities: Capabilities) -> Iterator[Piece]:
    """Neighbouring pictures and films together, as many as an album holds; a caption begins another."""
    way = capabilities.ways[Kind.ALBUM]
    run: list[FilePiece] = []
    for piece in pieces:
        if run and not (_visual(piece) and isinstance(way, NativeMethod) and _holds(way, run, piece)):
            yield _album(run)
            run = []
        if _visual(piece):
            run.append(piece)
        else:
            yield piece
    if run:
        yield _album(run)


def _visual(piece: Piece) -> TypeGuard[FilePiece]:
    return isinstance(piece, FilePiece) and piece.kind in (Kind.PHOTO, Kind.VIDEO)


def _holds(way: NativeMethod, run: list[FilePiece], piece: FilePiece) -> bool:
    size = sum(one.media.blob.size for one in (*run, piece))
    return piece.caption is None and (not way.most or len(run) < way.most) and (not way.limit or size <= way.limit)


def _album(run: list[FilePiece]) -> Piece:
    return AlbumPiece(tuple(run)) if len(run) > 1 else run[0]
