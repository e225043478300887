"""One word of a shell command, as literally as it can be known without running anything."""

import re
from itertools import product

from msgspec import Struct

HOLE = "\x00"
"""Stands for a piece that only running would tell. A command that holds this character itself is not read."""
GLOB = "\x01"
"""Stands for a live wildcard (`*`, `?`, `[…]`); a quoted one is itself."""
OPEN, CLOSE = "\x02", "\x03"
"""A live `{` and `}`, until `braces` has seen to them."""

_MOST_BRACES = 64

_BARE = r"(?s)\\(\n|.)|(\*|\?|\[[^\]\s]+\])|(\{)|(\})|\\$"
_QUOTED = r"\\(\n|[$`\"\\])"
_ANSI = r"(?s)\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))"
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_INNERMOST = f"{OPEN}([^{OPEN}{CLOSE}]*){CLOSE}"

_WIDE = "[^\x00-\x7f]"
_SPELLED = "\x05([0-9a-f]+)\x06"


class Word(Struct, frozen=True):
    """A word: `text` is its value with `HOLE` and `GLOB` for what is not literal, `source` is as written."""

    text: str
    source: str

    @property
    def known(self) -> bool:
        """Whether nothing in it has to be computed."""
        return HOLE not in self.text

    @property
    def literal(self) -> bool:
        """Whether it is exactly its text: nothing computed, no wildcard."""
        return self.known and GLOB not in self.text

    @property
    def script(self) -> str:
        """The word as shell text that can be read again: unknown pieces are unknown variables."""
        return self.text.replace(HOLE, "${_}").replace(GLOB, "*")


def names(text: str) -> frozenset[str]:
    """A set of names from one line, for tables.

    >>> sorted(names("rm mv"))
    ['mv', 'rm']
    """
    return frozenset(text.split())


def bare_text(raw: str) -> str:
    r"""The value of unquoted text: escapes taken away, wildcards and braces marked.

    >>> bare_text(r"r\m") == "rm" and bare_text("*.o") == GLOB + ".o"
    True
    """

    def value(match: re.Match[str]) -> str:
        escaped, glob, opened, closed = match.groups()
        if escaped is not None:
            return "" if escaped == "\n" else escaped
        return GLOB if glob else OPEN if opened else CLOSE if closed else "\\"

    return re.sub(_BARE, value, raw)


def quoted_text(raw: str) -> str:
    r"""The value of text in double quotes, without its expansions.

    >>> quoted_text(r"a\$b\c")
    'a$b\\c'
    """
    return re.sub(_QUOTED, lambda match: match[1].replace("\n", ""), raw)


def ansi_text(raw: str) -> str:
    r"""The value of the text in `$'…'` (Bash manual, section 3.1.2.4).

    >>> ansi_text(r"\x72\155")
    'rm'
    """

    def value(match: re.Match[str]) -> str:
        two, four, eight, octal, letter = match.groups()
        if letter is not None:
            return _ANSI_LETTERS.get(letter, letter)
        code = int(octal, 8) if octal else int(two or four or eight, 16)
        # Control characters below the tab are our marks: such a piece is as good as unknown.
        return chr(code) if 9 <= code < 0x110000 and not 0xD800 <= code < 0xE000 else HOLE

    return re.sub(_ANSI, value, raw)


def braces(text: str) -> list[str]:
    """The words that live braces make of one: `a{b,c}` is `ab` and `ac`. Too many of them are one unknown word.

    >>> braces("/" + OPEN + "bin,etc" + CLOSE)
    ['/bin', '/etc']
    """
    parts: list[list[str]] = []
    rest = text
    while match := re.search(_INNERMOST, rest):
        if OPEN in rest[: match.start()] and CLOSE in rest[match.end() :]:
            return [HOLE]  # nested braces: nobody writes them by hand for good reasons
        choices = match[1].split(",")
        parts += [[rest[: match.start()]], choices if len(choices) > 1 else ["{" + match[1] + "}"]]
        rest = rest[match.end() :]
    words = ["".join(pick) for pick in product(*parts, [rest])] if _count(parts) <= _MOST_BRACES else [HOLE]
    return [word.replace(OPEN, "{").replace(CLOSE, "}") for word in words]


def _count(parts: list[list[str]]) -> int:
    count = 1
    for part in parts:
        count *= len(part)
    return count


def in_ascii(command: str) -> bytes:
    """The command with every other character spelled out, each its own way, so that equal stays equal.

    The grammar's scanner looks characters up in C's table of 256 (`isalpha`), and a wide one can end the process
    (tree-sitter-bash issue 337). Lines that hold the marks of this spelling themselves are not read at all.
    """
    return re.sub(_WIDE, lambda wide: f"\x05{ord(wide[0]):x}\x06", command).encode("ascii")


def as_it_was(text: bytes | None) -> str:
    """What `in_ascii` spelled out, as it was."""
    return re.sub(_SPELLED, lambda spelled: chr(int(spelled[1], 16)), (text or b"").decode("ascii"))
