"""Text files of any encoding: their beginning and their end, with what was left out between them."""

import codecs
from pathlib import Path

from angelia.context.media_forms import size_words
from angelia.core.text import clean

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks (Unicode 16, section 23.8); UTF-32's begin with UTF-16's, so they come first."""

_UNIT = 4
"""Cuts are made at multiples of this many bytes, so that no unit of UTF-16 or UTF-32 is torn."""


def read_text(path: Path, most: int) -> str:
    """The text in a file of at most `most` bytes; of a longer one its first three quarters of `most` and its last one.

    UTF-8, UTF-16 or UTF-32 by its mark, UTF-8 without, else Windows-1252 (which prints all of Latin-1).
    Reads no more than it returns, and says in between how much it left out. What cannot be decoded becomes U+FFFD.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        if size <= most:
            data = file.read()
            return _tidy(_decoded(data, _encoding(data)))
        head = file.read(most * 3 // 4 // _UNIT * _UNIT)
        file.seek((size - most // 4) // _UNIT * _UNIT)
        tail = file.read()
    encoding = _encoding(head)
    if encoding == "utf-8":
        head, tail = _whole_end(head), _whole_start(tail)
    said = f"\n… ({size_words(size - len(head) - len(tail))} of {size_words(size)} left out here) …\n"
    return _tidy(_decoded(head, encoding) + said + _decoded(tail, encoding))


def _encoding(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    read = _whole_end(data).decode("utf-8", "replace")
    bad = read.count("\ufffd")
    if not bad:
        return "utf-8"
    good = sum(c > "\x7f" for c in read) - bad
    return "utf-8" if good >= bad else "cp1252"


def _decoded(data: bytes, encoding: str) -> str:
    return data.decode(encoding, "replace").removeprefix("\ufeff")


def _tidy(text: str) -> str:
    return clean(text).replace("\r\n", "\n")


def _whole_start(data: bytes) -> bytes:
    """Without the rest of a UTF-8 character whose beginning was cut off (at most 3 bytes, RFC 3629)."""
    skip = next((i for i, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0)
    return data[skip:]


def _whole_end(data: bytes) -> bytes:
    """Without the beginning of a UTF-8 character whose rest was cut off."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            length = 2 if byte & 0xE0 == 0xC0 else 3 if byte & 0xF0 == 0xE0 else 4 if byte & 0xF8 == 0xF0 else 1
            return data[:-back] if length > back else data
    return data
