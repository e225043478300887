"""Text from outside, made safe to store and to show."""

import re

_UNSTORABLE = re.compile("[\ud800-\udfff\x00]")


def clean(text: str) -> str:
    """Replace what UTF-8 cannot carry (lone surrogates) and NUL by U+FFFD; everything else stays.

    >>> clean("a" + chr(0xD83D) + chr(0) + "é") == "a" + chr(0xFFFD) * 2 + "é"
    True
    """
    return _UNSTORABLE.sub("\ufffd", text)


def shorten(text: str, most: int) -> str:
    """At most about `most` characters: head and tail, with what was left out counted between them.

    >>> shorten("abcdefghij" * 10, 60)
    'abcdefghijabcdefgh … (76 characters left out) … efghij'
    """
    if len(text) <= most:
        return text
    room = max(most - 36, 4)
    head, tail = room * 3 // 4, room // 4
    return f"{text[:head]} … ({len(text) - head - tail} characters left out) … {text[-tail:]}"


def one_line(text: str, most: int = 120) -> str:
    r"""The first words of `text` on one line, for titles and status lines.

    >>> one_line("two\n  words")
    'two words'
    """
    joined = " ".join(text.split())
    return joined if len(joined) <= most else joined[: most - 1] + "…"
