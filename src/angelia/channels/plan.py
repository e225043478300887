"""What one delivery becomes on one network: messages in their order, and what cannot go with its reason.

Pure and deterministic. One file's failure touches no other.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import assert_never

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


class CannotPiece(Struct, frozen=True):
    """A file that cannot go; `because` is a sentence with the limit and the numbers."""

    media: Media
    because: str


Piece = TextPiece | FilePiece | CannotPiece


def plan(
    parts: Sequence[Content],
    capabilities: Capabilities,
    dialect: Dialect,
    link: Callable[[Media], str] | None = None,
) -> tuple[Piece, ...]:
    """The messages of a delivery. Words right before a file are its caption, if they fit.

    `link` gives an address under which a file can be had; it is used for what the network does not take.
    """
    return tuple(_Planning(capabilities, dialect, link).pieces(parts))


class _Planning:
    """The pieces of one delivery."""

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
