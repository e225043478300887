"""Text from outside, made safe to store and to show."""

import re

_UNSTORABLE = "[\ud800-\udfff\x00]"
_CONTROL = r"[\x00-\x1f\x7f-\x9f]"
_ENDING = 16
"""Bytes of the longest ending of a name that is taken for one."""


def clean(text: str) -> str:
    """Replace what UTF-8 cannot carry (lone surrogates) and NUL by U+FFFD; everything else stays.

    >>> clean("a" + chr(0xD83D) + chr(0) + "é") == "a" + chr(0xFFFD) * 2 + "é"
    True
    """
    return text if text.isascii() and "\0" not in text else re.sub(_UNSTORABLE, "\ufffd", text)


def file_name(name: str, most: int = 255) -> str:
    r"""`name` as one step of a path: without folders and control characters, in at most `most` bytes of UTF-8.

    What is cut is cut before the ending. Empty where nothing is left.

    >>> file_name("a/b\\c\n.txt"), file_name(".."), file_name("x" * 300 + ".txt", 10)
    ('c .txt', '', 'xxxxxx.txt')
    """
    step = re.sub(_CONTROL, " ", clean(name).replace("\\", "/").rstrip("/").rpartition("/")[2]).strip()
    stem, dot, ending = step.rpartition(".")
    tail = f"{dot}{ending}" if stem and len(ending.encode()) <= _ENDING else ""
    space = most - len(tail.encode())
    head = step.removesuffix(tail) if tail else step
    return "" if step.strip(".") == "" else head.encode()[:space].decode(errors="ignore") + tail


def numbered(name: str, number: int) -> str:
    """A file's name for the second and each further one of that name.

    >>> numbered("a.tar.gz", 1), numbered("a.tar.gz", 2), numbered(".env", 3)
    ('a.tar.gz', 'a.tar-2.gz', '.env-3')
    """
    stem, dot, ending = name.rpartition(".")
    if number == 1:
        return name
    return f"{stem}-{number}.{ending}" if stem else f"{dot}{ending}-{number}"


def shorten(text: str, most: int) -> str:
    """At most about `most` characters: head and tail, with what was left out counted between them.

    >>> shorten("abcdefghij" * 10, 60)
    'abcdefghijabcdefgh … (76 characters left out) … efghij'
    """
    if len(text) <= most:
        return text
    space = max(most - 36, 4)
    head, tail = space * 3 // 4, space // 4
    return f"{text[:head]} … ({len(text) - head - tail} characters left out) … {text[-tail:]}"


def one_line(text: str, most: int = 120) -> str:
    r"""The first words of `text` on one line, for titles and status lines.

    >>> one_line("two\n  words")
    'two words'
    """
    joined = " ".join(text.split())
    return joined if len(joined) <= most else joined[: most - 1] + "…"


def fenced(text: str) -> str:
    """Text that is shown letter by letter where Markdown is shown.

    >>> fenced("a ``` b").splitlines()
    ['````', 'a ``` b', '````']
    """
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}\n{text}\n{fence}"


_MARKS = r"[\\`*_\[\]<>#|~&$^{}]"


def literally(text: str) -> str:
    """Text of one line for where Markdown is shown: as it is where none of it is markup, else letter by letter.

    What stands between two single backticks is code already, and stays so.

    >>> literally("Run `a_b`?"), literally("Read a_b?").splitlines()
    ('Run `a_b`?', ['```', 'Read a_b?', '```'])
    """
    parts = text.split("`")
    plain = len(parts) % 2 == 1 and "" not in parts[1:-1] and not any(re.search(_MARKS, part) for part in parts[::2])
    return text if plain else fenced(text)
