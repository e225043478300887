"""Text that somebody else wrote, with everything in it that the eye would miss shown as a sign.

A person says yes to what they read. So a character that moves the cursor, turns the direction of writing, takes no
room or looks like a blank is never handed on: in its place stands a sign. The signs are reversible, since what could be
taken for one is shown as one too: two different texts never look the same for what they hide. Letters of other scripts
that resemble Latin ones are letters, and stay.

| what | sign |
|---|---|
| a control character (U+0000 to U+001F, U+007F) | its picture: `␈` for a backspace, `␛` for an escape |
| any other such character | its number: `⟨U+202E⟩` |
| a blank at the end of a line, or one of very many | `␠` |
| a line end at the end of the text, or one of very many | `␤` |
| a letter's fifth mark and later ones, and marks of nothing | its number |
"""

import re
import unicodedata
from collections.abc import Callable

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
"""Unicode's general categories of what has no shape of its own (Unicode Standard, table 4-4)."""

_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U0001d159\U00016fe4") | frozenset(
    map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)
"""Letters, marks and symbols that are drawn as nothing: fillers, joiners, selectors of a variant (Unicode's
`Default_Ignorable_Code_Point`), and the Braille cell and the note head without dots or head."""

_JOINING = frozenset("\u200c\u200d\ufe0e\ufe0f")
"""What Persian, Hindi and emoji are not written without."""

_SIGNS = frozenset(map(chr, range(0x2400, 0x2440))) | {"⟨"}
"""What begins a sign of ours."""

_MOST_MARKS = 4
"""Marks on one letter; Hebrew with its accents has three or four."""

_ALL = r"[^\x20-\x7e\n]"
_LONG_BLANK = r"(?m) {32,}| +$"
_LONG_GAP = r"\n{4,}|\n+\Z|\A\n+"


def unambiguous(text: str) -> str:
    r"""`text` as it is to be shown to whoever says yes to it: lines stay lines, and nothing hides.

    >>> unambiguous("touch MARK #" + chr(8) * 3 + "ls -la")
    'touch MARK #␈␈␈ls -la'
    >>> unambiguous("rm a" + chr(0x202E) + "b  "), unambiguous("␈⟨")
    ('rm a⟨U+202E⟩b␠␠', '⟨U+2408⟩⟨U+27E8⟩')
    """
    return _spaced(_signed(text, _hides))


def unambiguous_line(text: str) -> str:
    r"""The same on one line, for titles, names and labels: a line end is a sign too.

    >>> unambiguous_line("Ann\nyes, once")
    'Ann␤yes, once'
    """
    return unambiguous(text).replace("␤\n", "␤").replace("\n", "␤")


def readable(text: str) -> str:
    """The same for words that are read and not said yes to: joiners stay, without which some scripts cannot be read."""
    return _spaced(_signed(text, lambda letter: letter not in _JOINING and _hides(letter)))


def claimed(name: str, most: int = 40) -> str:
    """A name that a stranger gave to themselves: on one line, at most `most` characters of it.

    >>> claimed("A" * 50)
    'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA…'
    """
    return unambiguous_line(name[:most].strip()) + ("…" if len(name) > most else "")


def _hides(letter: str) -> bool:
    return letter in _SIGNS or letter in _BLANK or unicodedata.category(letter) in _HIDDEN


def _signed(text: str, hides: Callable[[str], bool]) -> str:
    if not re.search(_ALL, text):
        return text
    shown: list[str] = []
    marks = _MOST_MARKS  # nothing stands before the first letter that a mark could belong to
    for letter in text:
        if letter == "\n" or letter == " ":
            marks = _MOST_MARKS
        elif unicodedata.category(letter) in ("Mn", "Me") and letter not in _BLANK:
            marks += 1
            if marks > _MOST_MARKS:
                shown.append(_number(letter))
                continue
        elif letter not in _JOINING:
            marks = 0
        shown.append(_sign(letter) if letter != "\n" and letter != " " and hides(letter) else letter)
    return "".join(shown)


def _sign(letter: str) -> str:
    code = ord(letter)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else _number(letter)


def _number(letter: str) -> str:
    return f"⟨U+{ord(letter):04X}⟩"


def _spaced(text: str) -> str:
    text = re.sub(_LONG_BLANK, lambda found: "␠" * len(found.group()), text)
    return re.sub(_LONG_GAP, lambda found: "␤\n" * len(found.group()), text).removesuffix("\n")
