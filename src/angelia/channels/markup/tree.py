"""A text as a small tree of blocks, which every dialect writes and nothing is lost from."""

from enum import StrEnum
from urllib.parse import unquote

from msgspec import Struct


class Style(StrEnum):
    """How words stand out."""

    STRONG = "strong"
    EMPHASIS = "em"
    STRUCK = "s"


class PlainWords(Struct, frozen=True):
    """Plain words; a line feed is a line break."""

    text: str


class Code(Struct, frozen=True):
    """Code within a line."""

    text: str


class Span(Struct, frozen=True):
    """Words that stand out. Never within a span of the same style."""

    style: Style
    inner: "tuple[Inline, ...]"


class MarkupLink(Struct, frozen=True):
    """A link to the web or a mailbox."""

    inner: "tuple[Inline, ...]"
    url: str


Inline = PlainWords | Code | Span | MarkupLink


class Paragraph(Struct, frozen=True):
    """Words."""

    inner: tuple[Inline, ...]


class Heading(Struct, frozen=True):
    """A heading, `level` 1 to 6."""

    inner: tuple[Inline, ...]
    level: int


class Fence(Struct, frozen=True):
    """Lines of code."""

    text: str
    language: str = ""


class Table(Struct, frozen=True):
    """Rows of cells, and each row as text in columns. The first row is the head, unless it continues one that was cut:
    then it is not `headed`.
    """

    rows: "tuple[tuple[tuple[Inline, ...], ...], ...]"
    lines: tuple[str, ...]
    headed: bool = True


class Quote(Struct, frozen=True):
    """Quoted blocks; quotes within quotes are one. `mark` is empty for what continues one that was cut."""

    inner: "tuple[Block, ...]"
    mark: str = ">"


class ListItem(Struct, frozen=True):
    """One item of a list, without lists within it: those follow as items of a greater `depth`.

    `mark` is `•` or `3.`, and empty for what continues an item.
    """

    inner: "tuple[Block, ...]"
    mark: str
    depth: int


Block = Paragraph | Heading | Fence | Table | Quote | ListItem


def plain_line(inner: tuple[Inline, ...]) -> str:
    """Words without marks; a link whose words do not tell its address is followed by it."""
    return "".join([_plain(one) for one in inner])


def _plain(one: Inline) -> str:
    match one:
        case PlainWords(text=text) | Code(text=text):
            return text
        case Span(inner=inner):
            return plain_line(inner)
        case MarkupLink(inner=inner, url=url):
            shown = plain_line(inner)
            return shown if unquote(shown) == unquote(url.removeprefix("mailto:")) else f"{shown} ({url})"
