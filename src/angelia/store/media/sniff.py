"""What kind of bytes these are, by their beginning; names and claims do not count."""

import codecs

HEAD = 16 * 1024
"""How many bytes from the beginning `sniff` wants, if there are as many."""

_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (8, b"AVI ", "video/x-msvideo"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"OggS", "audio/ogg"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"\x1f\x8b", "application/gzip"),
)
"""Offset, bytes, type. The three at offset 8 stand in a RIFF container."""

_BRANDS: tuple[tuple[bytes, str], ...] = (
    (b"M4A", "audio/mp4"),
    (b"M4B", "audio/mp4"),
    (b"qt  ", "video/quicktime"),
    (b"3gp", "video/3gpp"),
    (b"avif", "image/avif"),
    (b"heic", "image/heic"),
    (b"heix", "image/heic"),
    (b"mif1", "image/heic"),
)
"""Major brands of ISO base media files (ISO/IEC 14496-12, `ftyp`); any other is a film."""

_OOXML = "application/vnd.openxmlformats-officedocument"
_IN_ZIP: tuple[tuple[bytes, str], ...] = (
    (b"mimetypeapplication/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"),
    (b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "application/vnd.oasis.opendocument.spreadsheet"),
    (b"mimetypeapplication/vnd.oasis.opendocument.presentation", "application/vnd.oasis.opendocument.presentation"),
    (b"mimetypeapplication/epub+zip", "application/epub+zip"),
    (b"word/", f"{_OOXML}.wordprocessingml.document"),
    (b"xl/", f"{_OOXML}.spreadsheetml.sheet"),
    (b"ppt/", f"{_OOXML}.presentationml.presentation"),
)
"""Names that stand readable near the beginning of a ZIP archive of that kind."""

_MP3_SYNC = {b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"\xff\xfa"}
_NOT_IN_TEXT = bytes(set(range(32)) - {8, 9, 10, 12, 13, 27})


def sniff(head: bytes) -> str:
    """The MIME type of a file that begins with `head` (at least `HEAD` bytes, or all there are).

    >>> sniff(b"%PDF-1.7 ..."), sniff("naïve".encode()), sniff(bytes(4))
    ('application/pdf', 'text/plain', 'application/octet-stream')
    """
    for offset, magic, mime in _MAGIC:
        if head[offset : offset + len(magic)] == magic and (offset == 0 or head[:4] == b"RIFF"):
            return mime
    if head[4:8] == b"ftyp":
        return next((mime for brand, mime in _BRANDS if head[8:12].startswith(brand)), "video/mp4")
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return next((mime for name, mime in _IN_ZIP if name in head), "application/zip")
    if head[:2] in _MP3_SYNC:
        return "audio/mpeg"
    return "text/plain" if _is_text(head) else "application/octet-stream"


def _is_text(head: bytes) -> bool:
    if head.translate(None, _NOT_IN_TEXT) != head:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)  # a character may be cut at the end
    except UnicodeDecodeError:
        return False
    return True
