r"""Finds base64 and hexadecimal forms of secrets although line ends and separators stand within them.

`base64` wraps at 76 columns, `openssl` at 64, `xxd -p` at 60, `od -tx1` writes pairs with blanks between, Python
`\x73\x6b`. Where a line is cut depends on what stands before it, so separators are left out of what is searched, and
what is found is traced back to where it stands. A dump with addresses in each line (`xxd`) is not found.
"""

import base64
import re
from collections.abc import Mapping

from msgspec import Struct

SHORTEST = 6
"""Characters. Shorter values occur by chance in ordinary text; redacting them would spoil it."""

_BETWEEN = b" \t\r\n:,"
_ESCAPES = (b"\\x", b"0x")
_KEPT = rb"(?s)[ \t\r\n:,]|\\x|0x|(.)"
_MOST_SPREAD = 6
"""Bytes that one character of a form may take up with what stands around it."""


class SpreadSpan(Struct, frozen=True):
    """A secret from `start` to before `end`, and what is put in its place."""

    start: int
    end: int
    mark: bytes


class Spread:
    """Forms with what is put in their places; hexadecimal ones are in small letters and found in either case."""

    def __init__(self, marks: Mapping["SpreadForm", bytes]) -> None:
        self._marks = marks
        self._longest = max((len(form.text) for form in marks), default=0) * _MOST_SPREAD

    def found(self, data: bytes) -> list[SpreadSpan]:
        """Every place of a form."""
        if not self._marks:
            return []
        bare = {hexadecimal: _bare(data, hexadecimal=hexadecimal) for hexadecimal in (False, True)}
        there = [form for form in self._marks if form.text in bare[form.hexadecimal]]
        if not there:
            return []
        spans = []
        for form in there:
            at = _positions(data, hexadecimal=form.hexadecimal)
            start = bare[form.hexadecimal].find(form.text)
            while start >= 0:
                end = start + len(form.text)
                spans.append(SpreadSpan(at[start], at[end - 1] + 1, self._marks[form]))
                start = bare[form.hexadecimal].find(form.text, start + 1)
        return spans

    def begins(self, data: bytes) -> int:
        """Where an unfinished form begins at the end of `data`; the length of `data` if none does."""
        if not self._marks:
            return len(data)
        offset = max(len(data) - self._longest, 0)
        tails = [data[offset:]]
        if data.endswith((b"\\", b"0")):
            tails.append(tails[0][:-1])  # an escape may begin there
        hold = len(data)
        for tail in tails:
            for hexadecimal in (False, True):
                bare = _bare(tail, hexadecimal=hexadecimal)
                forms = (form.text for form in self._marks if form.hexadecimal is hexadecimal)
                first = min((begins(form, bare) for form in forms), default=len(bare))
                if first < len(bare):
                    hold = min(hold, offset + _positions(tail, hexadecimal=hexadecimal)[first])
        return hold


class SpreadForm(Struct, frozen=True):
    """A secret as it gets encoded."""

    text: bytes
    hexadecimal: bool


def spread_forms(value: str) -> set[SpreadForm]:
    """The forms of a value that are written with separators."""
    raw = value.encode("utf-8", "surrogatepass")
    return {SpreadForm(raw.hex().encode(), hexadecimal=True)} | {
        SpreadForm(form, hexadecimal=False) for form in base64_forms(raw)
    }


def base64_forms(raw: bytes) -> set[bytes]:
    """What of base64 gives a value away, wherever in a longer text it stands."""
    forms: set[bytes] = set()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        forms |= {encode(raw), encode(raw).rstrip(b"=")}
        # Within a longer text the value may begin at the second or third byte of a group of three.
        for shift in (0, 1, 2):
            whole = encode(b"\0" * shift + raw)
            usable = whole[(0, 2, 3)[shift] : (len(raw) + shift) * 8 // 6]
            forms |= {usable} if len(usable) >= SHORTEST else set()
    return forms


def begins(form: bytes, data: bytes) -> int:
    """Where the unfinished `form` begins at the end of `data`; the length of `data` if it does not."""
    at = data.find(form[:1], max(len(data) - len(form) + 1, 0))
    while at >= 0 and not form.startswith(data[at:]):
        at = data.find(form[:1], at + 1)
    return at if at >= 0 else len(data)


def _bare(data: bytes, *, hexadecimal: bool) -> bytes:
    if not hexadecimal:
        return data.translate(None, b" \t\r\n")
    bare = data.lower().translate(None, _BETWEEN)
    for escape in _ESCAPES:
        bare = bare.replace(escape, b"")
    return bare


def _positions(data: bytes, *, hexadecimal: bool) -> list[int]:
    """Where in `data` each byte of `_bare` stands."""
    if not hexadecimal:
        return [at for at, byte in enumerate(data) if byte not in b" \t\r\n"]
    return [match.start(1) for match in re.finditer(_KEPT, data.lower()) if match[1]]
