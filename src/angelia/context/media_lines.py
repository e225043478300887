"""The files that a reply names: `MEDIA:` lines and pictures by their URL, and its words without them.

A line counts only whole and outside code: `MEDIA:/reports/may.pdf`, with `[[audio_as_voice]]` or `[[as_document]]`
before or behind it. A tag on a line of its own holds for every file of the reply. A path in prose is prose.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Literal
from urllib.parse import unquote

from msgspec import Struct

Kind = Literal["auto", "document", "voice", "picture"]

PICTURES = 10
"""Pictures by URL that one reply may show; the others stay links. As many as the largest album of a chat network."""

_VOICE, _DOCUMENT = "[[audio_as_voice]]", "[[as_document]]"
_SOUNDS = (".ogg", ".opus", ".mp3", ".wav", ".m4a", ".flac", ".aac")

_TAG = r"\[\[(?:audio_as_voice|as_document)\]\]"
_FENCE = r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})"
_TAGS_ALONE = rf" {{0,3}}{_TAG}(?:[ \t]*{_TAG})*[ \t]*$"
_LINE = rf" {{0,3}}((?:{_TAG}[ \t]*)*)MEDIA:[ \t]*(\S.*?)((?:[ \t]*{_TAG})*)[ \t]*$"
_BEGUN = rf" {{0,3}}(?:{_TAG}[ \t]*)*(?:M|ME|MED|MEDI|MEDIA|MEDIA:.*|\[\[?[a-z_]*\]?)$"
_PICTURE = (
    r"!\[(?P<alt>[^\[\]\n]*)\]"
    r"\([ \t]*<?(?P<url>https?://(?:[^\s<>()]|\([^\s<>()]*\))+)>?(?:[ \t]+\"[^\"\n]*\")?[ \t]*\)"
)
_CODE = r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)"


class NamedFile(Struct, frozen=True):
    """One file that a reply wants sent: a path, `blob:ID` or URL, as what, and with which caption."""

    path: str
    kind: Kind
    caption: str = ""


class _Place(Struct, frozen=True):
    """Where a file is named: its line, and what of this line; `instead` stands there once it is sent."""

    file: NamedFile
    line: int
    start: int
    end: int
    instead: str = ""


def files_named(text: str) -> tuple[NamedFile, ...]:
    r"""Every file that a final reply names, in its order.

    >>> [file.path for file in files_named("Here it is, from /tmp:\nMEDIA:/tmp/may.pdf")]
    ['/tmp/may.pdf']
    """
    if "MEDIA:" not in text and "![" not in text:
        return ()  # as most replies
    return tuple(place.file for place in _places(_lines(text)))


def without_files(text: str, sent: Collection[int]) -> str:
    r"""The reply without the files of these numbers (as `files_named` counts them), every other word as it was.

    >>> without_files("Here it is:\nMEDIA:/tmp/may.pdf", {0})
    'Here it is:'
    """
    if not sent:
        return text
    lines = _lines(text)
    places = _places(lines)
    named = {place.line for at, place in enumerate(places) if place.file.kind != "picture"}
    emptied = {at for at, line in enumerate(lines) if named and line is not None and re.match(_TAGS_ALONE, line)}
    if any(at not in sent and place.line in named for at, place in enumerate(places)):
        emptied = set()  # the tag still says something about the file that is not sent
    words = text.split("\n")
    for at in reversed(range(len(places))):
        place = places[at]
        if at in sent:
            line = words[place.line]
            words[place.line] = line[: place.start] + place.instead + line[place.end :]
            if not words[place.line].strip():
                emptied.add(place.line)
    return "\n".join(_closed_up(words, emptied)).strip("\n")


def while_written(text: str) -> str:
    r"""A reply that is still being written, without the lines that name files and without one that may come to.

    >>> while_written("Here it is:\nMEDIA:/tmp/may.pdf"), while_written("Here it is:\nMED"), while_written("My word")
    ('Here it is:', 'Here it is:', 'My word')
    """
    *_, last = words = text.split("\n")
    if "MEDIA:" not in text and "[[" not in text and not re.match(_BEGUN, last):
        return text
    lines = _lines(text)
    emptied = {place.line for place in _places(lines) if place.file.kind != "picture"}
    emptied |= {at for at, line in enumerate(lines) if line is not None and re.match(_TAGS_ALONE, line)}
    if lines[-1] is not None and re.match(_BEGUN, last):
        emptied.add(len(lines) - 1)
    return "\n".join(_closed_up(words, emptied)).strip("\n")


def _lines(text: str) -> list[str | None]:
    """The lines of a text, None for those of code blocks; a block that is not closed goes on to the end."""
    lines: list[str | None] = []
    fence = ""
    for line in text.split("\n"):
        mark = re.match(_FENCE, line)
        if fence:
            closes = mark and mark[1].startswith(fence) and not line.strip().strip(fence[0])
            fence = "" if closes else fence
            lines.append(None)
        elif mark:
            fence = mark[1]
            lines.append(None)
        else:
            lines.append(line.rstrip("\r"))
    return lines


def _places(lines: Sequence[str | None]) -> list[_Place]:
    alone = "".join(line for line in lines if line is not None and re.match(_TAGS_ALONE, line))
    places: list[_Place] = []
    for at, line in enumerate(lines):
        if line is None:
            continue
        if found := re.match(_LINE, line):
            if path := _path(found[2]):
                file = NamedFile(path, _kind(path, found[1] + found[3], alone))
                places.append(_Place(file, at, 0, len(line)))
        else:
            places.extend(_pictures(at, line))
    pictures = [place for place in places if place.file.kind == "picture"]
    return [place for place in places if place not in pictures[PICTURES:]]


def _pictures(at: int, line: str) -> Iterator[_Place]:
    code = [span.span() for span in re.finditer(_CODE, line)]
    for found in re.finditer(_PICTURE, line):
        if any(start <= found.start() < end for start, end in code):
            continue
        alt = found["alt"].strip()
        alone = line.strip() == found[0]
        yield _Place(NamedFile(found["url"], "picture", alt), at, *found.span(), instead="" if alone else alt)


def _path(words: str) -> str:
    """The path that stands behind `MEDIA:`; empty where it is a sentence.

    >>> _path("may report.pdf"), _path('"may report"'), _path("file:///tmp/a%20b"), _path("the press was there")
    ('may report.pdf', 'may report', '/tmp/a b', '')
    """
    for quote in "\"'`":
        if len(words) > 2 and words[0] == words[-1] == quote:
            return words[1:-1].strip()
    if words.startswith("file://"):
        return unquote(words.removeprefix("file://"))
    looks_like_one = re.match(r"[/~.]|\S+$|.*\.\w{1,8}$", words)
    return words if looks_like_one else ""


def _kind(path: str, own: str, alone: str) -> Kind:
    """As what a file goes: by the tags on its line, else by those that hold for the whole reply."""
    if _DOCUMENT in own or (_DOCUMENT in alone and _VOICE not in own):
        return "document"
    if _VOICE in own or (_VOICE in alone and path.lower().endswith(_SOUNDS)):
        return "voice"
    return "auto"


def _closed_up(words: Sequence[str], emptied: Collection[int]) -> Iterator[str]:
    """The lines that stay; where one went from between two blank lines, one of these goes too."""
    before, gone = "", False
    for at, line in enumerate(words):
        if at in emptied:
            gone = True
        elif gone and not line.strip() and not before.strip():
            continue
        else:
            gone, before = False, line
            yield line
