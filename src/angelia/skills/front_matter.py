"""Reads the front matter of a `SKILL.md`: the part of YAML that such files need; the rest is a fault with its line.

What it reads is what StrictYAML reads, which the reference validator of the standard uses: block mappings, block
sequences and scalars, each scalar a text. Flow style (`[a, b]`), anchors, tags and keys that stand twice are faults
there as here: they are how a file says one thing to a person and another to a program. A document that ends itself
(`...`), keys of more than one line (`?`) and indents that are not what they seem are not read at all.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

Node = str | dict[str, "Node"] | list["Node"]
"""A value: a text, a mapping or a sequence."""

MARK = "---"
"""The line before and after the front matter."""

_KEY = re.compile(
    r"""(?P<key>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|(?:[^\s\-?:,\[\]{}\#&*!|>'"%@`]|[-?:](?=\S))(?:[^:\#]|:(?=\S)|(?<=\S)\#){0,200}?)"""
    r"""[ ]{0,20}:(?:[ ]+(?P<value>.*)|$)"""
)
_BLOCK = re.compile(r"(?P<style>[|>])(?:(?P<indent>[1-9])(?P<chomp1>[+-])?|(?P<chomp2>[+-])?(?P<indent2>[1-9])?)?")
_MOST_NESTED = 20
"""Levels; what people write has three."""
_COMMENT = re.compile(r"(?:^|[ \t])#.*$")
_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
"""What no YAML document holds (YAML 1.2.2, 5.1, which names what it may hold: that takes 5 ms to compile)."""
_ESCAPED = {
    **dict(zip("0abtnvfre", "\0\a\b\t\n\v\f\r\x1b", strict=True)),
    **dict(zip('\t "/\\N_LP', '\t "/\\\x85\xa0\u2028\u2029', strict=True)),
}
"""What stands behind a backslash, and what it means (YAML 1.2.2, 5.7)."""
_NUMBERED = {"x": 2, "u": 4, "U": 8}


class BadFrontMatter(Exception):
    """It cannot be read. `line` counts from 1 in the whole file; `text` is a sentence without its full stop."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(f"line {line}: {text}")
        self.line = line
        self.text = text


class FrontMatter(Struct, frozen=True):
    """The fields, the line of each in the file, and what follows them, from line `body_line` on."""

    fields: Mapping[str, Node]
    lines: Mapping[str, int]
    body: str
    body_line: int


def read_front_matter(text: str) -> FrontMatter:
    r"""The front matter of a file's whole text.

    >>> read = read_front_matter("---\nname: tea\ndescription: >-\n  Makes\n  tea.\n---\nBoil water.\n")
    >>> read.fields, read.lines, read.body
    ({'name': 'tea', 'description': 'Makes tea.'}, {'name': 2, 'description': 3}, 'Boil water.\n')

    Raises:
        BadFrontMatter: there is none, it does not end, or it is not of the kind that is read.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != MARK:
        raise BadFrontMatter(
            1, f"the file does not begin with a line {MARK}, after which its name and description stand"
        )
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == MARK), 0)
    if not end:
        raise BadFrontMatter(1, f"the front matter does not end: there is no second line {MARK}")
    reader = _Reader(lines[1:end])
    fields = reader.document()
    return FrontMatter(fields, reader.lines, "\n".join(lines[end + 1 :]), end + 2)


class _Row(NamedTuple):
    number: int
    indent: int
    text: str
    """Without its indent; empty for a line of blanks."""


class _Reader:
    def __init__(self, lines: Sequence[str]) -> None:
        self._rows = [_row(number, line) for number, line in enumerate(lines, 2)]
        self._at = 0
        self._nested = 0
        self.lines: dict[str, int] = {}

    def document(self) -> dict[str, Node]:
        row = self._next()
        if row is None:
            raise BadFrontMatter(2, "the front matter is empty")
        found = self._block(row)
        if (rest := self._next()) is not None:
            raise BadFrontMatter(rest.number, "this line belongs to nothing: its indent fits no line above it")
        if not isinstance(found, dict):
            raise BadFrontMatter(row.number, "this is no field: `name: …` was expected")
        return found

    def _next(self) -> _Row | None:
        """The next line that says something; those before it are behind us."""
        while self._at < len(self._rows):
            row = self._rows[self._at]
            if row.text and not row.text.startswith("#"):
                return row
            self._at += 1
        return None

    def _block(self, first: _Row) -> Node:
        if self._nested == _MOST_NESTED:
            raise BadFrontMatter(first.number, f"it is nested more than {_MOST_NESTED} levels deep")
        self._nested += 1
        try:
            return self._nested_block(first)
        finally:
            self._nested -= 1

    def _nested_block(self, first: _Row) -> Node:
        if "\t" in first.text[: len(first.text) - len(first.text.lstrip())]:
            raise BadFrontMatter(first.number, "it is indented by a tab: YAML takes blanks only")
        if _is_item(first.text):
            return self._sequence(first.indent)
        if _KEY.fullmatch(first.text):
            return self._mapping(first.indent)
        self._at += 1
        return self._scalar(first.text, first, first.indent - 1)

    def _mapping(self, indent: int) -> dict[str, Node]:
        found: dict[str, Node] = {}
        top = not self.lines
        while (row := self._next()) is not None and row.indent == indent:
            match = _KEY.fullmatch(row.text)
            if match is None:
                raise BadFrontMatter(row.number, _no_field(row.text))
            key = _key(match["key"], row)
            if key in found:
                raise BadFrontMatter(row.number, f"`{key}` stands here a second time")
            if top:
                self.lines[key] = row.number
            self._at += 1
            found[key] = self._value(match["value"] or "", row, indent)
        return found

    def _sequence(self, indent: int) -> list[Node]:
        found: list[Node] = []
        while (row := self._next()) is not None and row.indent == indent and _is_item(row.text):
            rest = row.text[1:].lstrip(" ")
            if not rest or rest.startswith("#"):
                self._at += 1
                found.append(self._below(indent))
                continue
            inner = _Row(row.number, indent + len(row.text) - len(rest), rest)
            self._rows[self._at] = inner
            found.append(self._block(inner))
        return found

    def _value(self, text: str, row: _Row, indent: int) -> Node:
        if not text or text.startswith("#"):
            following = self._next()
            if following and following.indent == indent and _is_item(following.text):
                return self._sequence(indent)
            return self._below(indent)
        return self._scalar(text, row, indent)

    def _below(self, indent: int) -> Node:
        """What stands deeper than `indent` from here on; nothing for an empty value."""
        following = self._next()
        return self._block(following) if following and following.indent > indent else ""

    # -- scalars ------------------------------------------------------------------------------------------------

    def _scalar(self, text: str, row: _Row, indent: int) -> str:
        """A scalar that begins with `text` on `row`, which is behind us; it goes on deeper than `indent`."""
        if text[0] in "\"'":
            return self._quoted(text, row, indent)
        if text[0] in "|>":
            return self._literal(text, row, indent)
        if fault := _not_plain(text):
            raise BadFrontMatter(row.number, fault)
        words = _COMMENT.sub("", text).rstrip()
        return words if words != text.rstrip() else self._continued(words, row, indent)

    def _continued(self, words: str, first: _Row, indent: int) -> str:
        _refuse_colon(words, first.number)
        parts, gap = [words], 0
        while self._at < len(self._rows):
            row = self._rows[self._at]
            if not row.text:
                gap += 1
            elif row.indent <= indent or row.text.startswith("#"):
                break
            else:
                plain = _COMMENT.sub("", row.text).rstrip()
                _refuse_colon(plain, row.number)
                parts.append(("\n" * gap if gap else " ") + plain)
                gap = 0
                if plain != row.text.rstrip():
                    self._at += 1
                    break
            self._at += 1
        return "".join(parts)

    def _quoted(self, text: str, row: _Row, indent: int) -> str:
        quote, held = text[0], text[1:]
        pieces, number = [""], row.number
        while (end := _closing(held, quote)) < 0:
            pieces[-1] += held
            if self._at == len(self._rows) or (self._rows[self._at].text and self._rows[self._at].indent <= indent):
                raise BadFrontMatter(row.number, f"what begins with {quote} does not end")
            held, number = self._rows[self._at].text, self._rows[self._at].number
            self._at += 1
            pieces.append("")
        pieces[-1] += held[:end]
        after = held[end + 1 :]
        if after.strip() and not re.match(r"[ \t]+#", after):
            raise BadFrontMatter(number, f"after the closing {quote} stands {after.strip()[:20]!r}")
        whole = _folded(pieces, escaped=quote == '"')
        return whole.replace("''", "'") if quote == "'" else _unescaped(whole, row.number)

    def _literal(self, text: str, row: _Row, indent: int) -> str:
        head = _COMMENT.sub("", text).rstrip()
        match = _BLOCK.fullmatch(head)
        if match is None:
            raise BadFrontMatter(row.number, f"`{head[:20]}` begins no block: write | or >, perhaps with - behind it")
        given, chomp = match["indent"] or match["indent2"], match["chomp1"] or match["chomp2"] or ""
        deep = max(indent, 0) + int(given) if given else 0
        lines: list[str] = []
        while self._at < len(self._rows):
            one = self._rows[self._at]
            if one.text and not deep:
                deep = one.indent
            if one.text and (one.indent <= indent or one.indent < deep):
                break
            lines.append(" " * (one.indent - deep) + one.text if one.text else "")
            self._at += 1
        return _chomped(lines, chomp, folded=match["style"] == ">")


def _row(number: int, line: str) -> _Row:
    line = line.removesuffix("\r")
    if found := _UNREADABLE.search(line):
        raise BadFrontMatter(number, f"it holds the character U+{ord(found[0]):04X}, which YAML does not take")
    text = line.lstrip(" ")
    if text.startswith("\t") and text.strip():
        raise BadFrontMatter(number, "it is indented by a tab: YAML takes blanks only")
    return _Row(number, len(line) - len(text), text if text.strip() else "")


def _is_item(text: str) -> bool:
    return text == "-" or text.startswith("- ")


def _key(written: str, row: _Row) -> str:
    if written[0] == '"':
        return _unescaped(written[1:-1], row.number)
    if written[0] == "'":
        return written[1:-1].replace("''", "'")
    if written == "<<":
        raise BadFrontMatter(row.number, "`<<` merges mappings, which is not taken")
    return written


def _no_field(text: str) -> str:
    if text[0] in "[{":
        return "flow style ([a, b] and {a: b}) is not taken: write each on a line of its own"
    return f"`{text[:30]}` is no field: `name: …` was expected"


def _not_plain(text: str) -> str:
    """Why a value cannot begin so; empty if it can."""
    first, alone = text[0], len(text) == 1 or text[1] in " \t"
    if first in "[{":
        return "flow style ([a, b] and {a: b}) is not taken: put the value in quotes, or each on a line of its own"
    if first in "&*!":
        return (
            f"a value that begins with {first} is an anchor, an alias or a tag, which are not taken: put it in quotes"
        )
    if first in "]},@`%" or (first in "-?:" and alone):
        return f"a value cannot begin with {first}: put it in quotes"
    if text.strip() in ("<<", "="):
        return f"`{text.strip()}` alone has a meaning of its own in YAML: put it in quotes"
    if "\t" in text:
        return "there is a tab in it: put it in quotes"
    return ""


def _refuse_colon(text: str, line: int) -> None:
    if ": " in text or ":\t" in text or text.endswith(":"):
        raise BadFrontMatter(line, "there is a second colon with a blank behind it: put the value in quotes")


def _closing(text: str, quote: str) -> int:
    """Where the quote ends; -1 if it does not on this line."""
    at = 0
    while at < len(text):
        if (quote == '"' and text[at] == "\\") or (text[at] == quote and quote == "'" and text[at + 1 : at + 2] == "'"):
            at += 2
        elif text[at] == quote:
            return at
        else:
            at += 1
    return -1


def _folded(pieces: Sequence[str], *, escaped: bool) -> str:
    """The lines of a quoted scalar as one (YAML 1.2.2, 6.5): a break is a blank, an empty line is a break."""
    found, gap = pieces[0].rstrip(" \t") if len(pieces) > 1 else pieces[0], 0
    for at, piece in enumerate(pieces[1:], 1):
        last = at == len(pieces) - 1
        words = piece.lstrip(" \t") if last else piece.strip(" \t")
        if not words and not last:
            gap += 1
            continue
        if escaped and found.endswith("\\") and not gap and (len(found) - len(found.rstrip("\\"))) % 2:
            found = found[:-1] + words
        else:
            found += ("\n" * gap if gap else " ") + words
        gap = 0
    return found


def _unescaped(text: str, line: int) -> str:
    def one(match: re.Match[str]) -> str:
        sign, number = match[1], match[2]
        if number is not None:
            if int(number, 16) > 0x10FFFF or 0xD800 <= int(number, 16) <= 0xDFFF:
                raise BadFrontMatter(line, f"\\{sign}{number} is no character")
            return chr(int(number, 16))
        if sign not in _ESCAPED:
            raise BadFrontMatter(line, f"\\{sign} is no escape in double quotes: write \\\\ for a backslash")
        return _ESCAPED[sign]

    numbers = "|".join(f"(?<={sign})[0-9A-Fa-f]{{{count}}}" for sign, count in _NUMBERED.items())
    return re.sub(rf"\\(.)({numbers})?", one, text, flags=re.DOTALL)


def _chomped(lines: list[str], chomp: str, *, folded: bool) -> str:
    kept = len(lines)
    while kept and not lines[kept - 1]:
        kept -= 1
    empty, body = len(lines) - kept, lines[:kept]
    text = _fold(body) if folded else "\n".join(body)
    match chomp:
        case "-":
            return text
        case "+":
            return text + "\n" * (empty + bool(body))
        case _:
            return f"{text}\n" if body else ""


def _fold(lines: Sequence[str]) -> str:
    """Lines of a folded block: a single break between two lines that are not indented further is a blank."""
    text, breaks, before = "", 0, " "
    for line in lines:
        if not line:
            breaks += 1
            continue
        if text:
            deeper = line[0] in " \t" or before[0] in " \t"
            text += "\n" * (breaks + 1) if deeper else ("\n" * breaks or " ")
        elif breaks:
            text += "\n" * breaks
        text, breaks, before = text + line, 0, line
    return text
