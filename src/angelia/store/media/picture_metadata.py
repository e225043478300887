"""A picture without what it tells of place, device and time: taken out of its container, its pixels untouched.

Only what is needed to show the picture stays, by a list for each format; whatever else there is goes, known or not:
EXIF, XMP, IPTC, comments, thumbnails, a second picture or film behind the end. Which side is up stays, as an EXIF of
this one tag. A picture in which there is nothing to take out stays as it is, byte for byte.

JPEG: ITU-T T.81, B.1; PNG: W3C PNG 3rd edition, 5; GIF: GIF89a, 12 to 26; WebP: RFC 9649, 2; EXIF: CIPA DC-008, 4.5.
"""

import re
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

_ORIENTATION = 0x0112
_PLAIN_TAGS = {_ORIENTATION, 0x011A, 0x011B, 0x0128, 0x0213}
"""Orientation, resolution in both directions and its unit, YCbCrPositioning: they tell of nobody."""
_MOST_PLAIN = 128
"""Bytes of an EXIF that holds no more than these; more could hide something."""
_XMP_ORIENTATION = re.compile(rb"tiff:Orientation(?:=[\"']|>)([2-8])")
"""What Pillow, and so all that measures pictures here, goes by where EXIF does not say."""

_JPEG_MARKER = re.compile(rb"\xff+([^\x00\xff\xd0-\xd7])")
"""Any but restarts, which belong to the picture's data, and stuffed zeros."""
_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_KEPT = frozenset(
    b"IHDR PLTE IDAT IEND tRNS gAMA cHRM sRGB iCCP sBIT bKGD pHYs hIST sPLT cICP mDCV cLLI acTL fcTL fdAT".split()
)
_WEBP_KEPT = frozenset({b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF", b"ICCP"})
_GIF_KEPT = frozenset({b"NETSCAPE2.0", b"ANIMEXTS1.0", b"ICCRGBG1012"})
"""How often it is shown, and its colours."""


class UnknownLayout(ValueError):
    """The container does not read as its format says; drawn anew, the picture holds nothing else."""


class _Part(NamedTuple):
    """A piece of the file; `kind` says what it is."""

    kind: bytes
    data: bytes
    body: bytes = b""


def without_metadata(data: bytes, mime: str) -> bytes:
    """The same picture; of any type but JPEG, PNG, GIF and WebP it is returned as it is.

    Raises:
        UnknownLayout: it is no such file, or cut off.
    """
    clean = {"image/jpeg": _jpeg, "image/png": _png, "image/gif": _gif, "image/webp": _webp}.get(mime)
    if clean is None:
        return data
    try:
        return clean(data)
    except (IndexError, struct.error) as error:
        raise UnknownLayout(str(error)) from error


def _jpeg(data: bytes) -> bytes:
    parts = list(_jpeg_parts(data))
    turn = _turn(
        [part.body[6:] for part in parts if part.kind == b"\xe1" and part.body.startswith(b"Exif\0\0")],
        [part.body for part in parts if part.kind == b"\xe1"],
    )
    kept = [part for part in parts if _shows(part)]
    if turn > 1 and not any(part.kind == b"\xe1" for part in kept):
        exif = b"Exif\0\0" + _exif(turn)
        after = 2 if kept[1].kind == b"\xe0" else 1
        kept.insert(after, _Part(b"\xe1", b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif))
    return b"".join(part.data for part in kept)


def _shows(part: _Part) -> bool:
    """Whether a segment of a JPEG is needed to show it."""
    match part.kind[0]:
        case 0xE0:
            return part.body.startswith(b"JFIF\0")
        case 0xE1:
            return part.body.startswith(b"Exif\0\0") and _is_plain(part.body[6:])
        case 0xE2:
            return part.body.startswith(b"ICC_PROFILE\0")
        case 0xEE:
            return part.body.startswith(b"Adobe")
        case kind:
            return not (0xE0 <= kind <= 0xEF or kind == 0xFE)


def _jpeg_parts(data: bytes) -> Iterator[_Part]:
    """Its segments, and after SOS the picture's data up to the next marker; nothing behind the first EOI."""
    if not data.startswith(b"\xff\xd8"):
        raise UnknownLayout("no JPEG")
    yield _Part(b"\xd8", data[:2])
    at, kind = 2, b""
    while found := _JPEG_MARKER.search(data, at):
        if kind == b"\xda":
            yield _Part(b"\0", data[at : found.start()])
        kind = found[1]
        if kind == b"\xd9":
            yield _Part(kind, found[0])
            return
        length = struct.unpack_from(">H", data, found.end())[0] if kind != b"\x01" else 0
        at = found.end() + length
        if at > len(data):
            break
        yield _Part(kind, data[found.start() : at], data[found.end() + 2 : at])
    raise UnknownLayout("the JPEG has no end")


def _png(data: bytes) -> bytes:
    parts = list(_png_parts(data))
    if any(part.body.startswith((b"Raw profile type ", b"XML:com.adobe.xmp\0\1")) for part in parts):
        raise UnknownLayout("which side is up may stand in packed text")
    turn = _turn(
        [part.body for part in parts if part.kind == b"eXIf"], [part.body for part in parts if part.kind == b"iTXt"]
    )
    kept = [part for part in parts if part.kind in _PNG_KEPT or (part.kind == b"eXIf" and _is_plain(part.body))]
    if turn > 1 and not any(part.kind == b"eXIf" for part in kept):
        body = b"eXIf" + _exif(turn)
        crc = struct.pack(">I", zlib.crc32(body))
        kept.insert(1, _Part(b"eXIf", struct.pack(">I", len(body) - 4) + body + crc))
    return _PNG + b"".join(part.data for part in kept)


def _png_parts(data: bytes) -> Iterator[_Part]:
    if not data.startswith(_PNG):
        raise UnknownLayout("no PNG")
    at, kind = len(_PNG), b""
    while kind != b"IEND":
        length, kind = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        if end > len(data):
            raise UnknownLayout("the PNG has no end")
        yield _Part(kind, data[at:end], data[at + 8 : end - 4])
        at = end


def _gif(data: bytes) -> bytes:
    if data[:6] not in (b"GIF87a", b"GIF89a"):
        raise UnknownLayout("no GIF")
    at = 13 + _colours(data[10])
    kept = [data[:at]]
    while data[at] != 0x3B:
        start = at
        if data[at] == 0x21:
            label, name = data[at + 1], data[at + 3 : at + 3 + data[at + 2]]
            at = _behind_blocks(data, at + 2)
            if label in (0x01, 0xF9) or (label == 0xFF and name in _GIF_KEPT):
                kept.append(data[start:at])
        elif data[at] == 0x2C:
            at = _behind_blocks(data, at + 11 + _colours(data[at + 9]))
            kept.append(data[start:at])
        else:
            raise UnknownLayout("no block of a GIF")
    return b"".join([*kept, b"\x3b"])


def _colours(packed: int) -> int:
    """Bytes of the table of colours that these flags announce."""
    return 3 << (packed & 7) + 1 if packed & 0x80 else 0


def _behind_blocks(data: bytes, at: int) -> int:
    while data[at]:
        at += data[at] + 1
    return at + 1


def _webp(data: bytes) -> bytes:
    parts = list(_webp_parts(data))
    exifs = [part.body.removeprefix(b"Exif\0\0") for part in parts if part.kind == b"EXIF"]
    turn = _turn(exifs, [part.body for part in parts if part.kind == b"XMP "])
    kept = [part for part in parts if part.kind in _WEBP_KEPT or (part.kind == b"EXIF" and _is_plain(part.body))]
    if kept == parts:
        return data[: struct.unpack_from("<I", data, 4)[0] + 8]
    if turn > 1 and not any(part.kind == b"EXIF" for part in kept):
        exif = _exif(turn)
        kept.append(_Part(b"EXIF", b"EXIF" + struct.pack("<I", len(exif)) + exif))
    has_exif = any(part.kind == b"EXIF" for part in kept)
    body = b"".join(_flagged(part, exif=has_exif) if part.kind == b"VP8X" else part.data for part in kept)
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def _flagged(part: _Part, *, exif: bool) -> bytes:
    """VP8X with its flags for EXIF (0x08) and XMP (0x04) as things are now."""
    flags = part.body[0] & ~0x0C | (0x08 if exif else 0)
    return part.data[:8] + bytes([flags]) + part.data[9:]


def _webp_parts(data: bytes) -> Iterator[_Part]:
    form, size, kind = struct.unpack_from("<4sI4s", data)
    end = size + 8
    if (form, kind) != (b"RIFF", b"WEBP") or end > len(data):
        raise UnknownLayout("no WebP")
    at = 12
    while at + 8 <= end:
        kind, length = struct.unpack_from("<4sI", data, at)
        behind = at + 8 + length + length % 2
        if at + 8 + length > end:
            raise UnknownLayout("a chunk of the WebP has no end")
        yield _Part(kind, data[at:behind].ljust(behind - at, b"\0"), data[at + 8 : at + 8 + length])
        at = behind


def _turn(exifs: list[bytes], xmps: list[bytes]) -> int:
    """Which side is up, as EXIF numbers it; 1 where nobody says."""
    for exif in exifs:
        if found := _tags(exif).get(_ORIENTATION):
            return found if 1 <= found <= 8 else 1
    for xmp in xmps:
        if said := _XMP_ORIENTATION.search(xmp):
            return int(said[1])
    return 1


def _is_plain(exif: bytes) -> bool:
    """Whether it tells no more than how to show the picture."""
    tags = _tags(exif)
    return len(exif) <= _MOST_PLAIN and bool(tags) and tags.keys() <= _PLAIN_TAGS


def _tags(exif: bytes) -> dict[int, int]:
    """The tags of the first directory with their first 16 bits; 0 as a tag where there is another directory."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(exif[:4])
    if order is None:
        return {}
    try:
        at = struct.unpack_from(f"{order}I", exif, 4)[0]
        count = struct.unpack_from(f"{order}H", exif, at)[0]
        entries = [struct.unpack_from(f"{order}HHIH", exif, at + 2 + 12 * number) for number in range(count)]
        tags = {tag: value for tag, _, _, value in entries}
        following = exif[at + 2 + 12 * count : at + 6 + 12 * count]
    except struct.error:
        return {0: 0}
    return tags | ({0: 0} if following.strip(b"\0") else {})


def _exif(turn: int) -> bytes:
    """An EXIF of one tag."""
    return struct.pack(">4sIHHHIHHI", b"MM\0*", 8, 1, _ORIENTATION, 3, 1, turn, 0, 0)
