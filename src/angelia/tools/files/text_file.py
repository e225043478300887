"""A text file as bytes and as lines: byte order mark, line endings and what is not text."""

import codecs
from enum import StrEnum

from msgspec import Struct

BOM = codecs.BOM_UTF8


class Look(StrEnum):
    """What some bytes look like, by their content."""

    TEXT = "text"
    IMAGE = "image"
    PDF = "pdf"
    BINARY = "binary"


_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"II*\x00", b"MM\x00*")
"""First bytes of PNG, JPEG, GIF, BMP and TIFF files, from their specifications."""

_BRANDS = frozenset({b"ftypavif", b"ftypheic", b"ftypheix", b"ftypmif1"})
"""Bytes 4 to 11 of AVIF and HEIC pictures (ISO/IEC 14496-12, box `ftyp`)."""

_PEEK = 8192


def look(data: bytes) -> Look:
    """What the first 8 kB say: a NUL byte outside of UTF-16 means that it is no text."""
    head = data[:_PEEK]
    if head.startswith(b"%PDF-"):
        return Look.PDF
    if _is_text(head):
        return Look.TEXT
    if head.startswith(_IMAGES) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP") or head[4:12] in _BRANDS:
        return Look.IMAGE
    return Look.BINARY


def _is_text(head: bytes) -> bool:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return not head.startswith(b"\xff\xfe\x00\x00")
    if b"\x00" in head:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # the last character may be cut by the peek
    except UnicodeDecodeError:
        return _mostly_letters(head)
    return True


def _mostly_letters(head: bytes) -> bool:
    """Latin-1 and its kin: hardly any control characters."""
    controls = sum(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in head)
    return not head.startswith(_IMAGES) and controls * 100 <= len(head)


class DecodedText(Struct, frozen=True):
    """Bytes read as text. `foreign` says that they are not UTF-8, so that writing them back would change them."""

    text: str
    foreign: bool


def words(data: bytes) -> DecodedText:
    """Bytes as text, line endings as they are and a byte order mark left out; what is not UTF-8 reads as U+FFFD."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return DecodedText(data.decode("utf-16", "replace"), foreign=True)
    try:
        return DecodedText(data.removeprefix(BOM).decode(), foreign=False)
    except UnicodeDecodeError:
        return DecodedText(data.removeprefix(BOM).decode("utf-8", "replace"), foreign=True)


def newline_of(text: str) -> str:
    r"""The line ending that most lines have; "\n" where there is none.

    >>> newline_of("a\r\nb\r\nc\n")
    '\r\n'
    """
    windows = text.count("\r\n")
    return "\r\n" if windows > text.count("\n") - windows else "\n"


def with_newlines(text: str, newline: str) -> str:
    """Every line ending of `text` (both kinds) as `newline`."""
    plain = text.replace("\r\n", "\n")
    return plain if newline == "\n" else plain.replace("\n", newline)
