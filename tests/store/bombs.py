"""Files of some hundred bytes or some kilobytes that take for ever, or gigabytes, to open."""

import io
import struct
import zlib

from PIL import Image


def endless_pdf() -> bytes:
    """A page filled with a pattern whose tiles are a ten-thousandth of a point apart: 81 million million of them."""
    pattern = "/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 1 1]/XStep .0001/YStep .0001/Resources<<>>"
    return _pdf(
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Count 1/Kids[3 0 R]>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 900 900]/Contents 4 0 R/Resources<</Pattern<</P 5 0 R>>>>>>",
        _stream(b"/Pattern cs /P scn 0 0 900 900 re f"),
        _stream(b"1 0 0 rg 0 0 1 1 re f", pattern),
    )


def heavy_pdf(kilobytes: int) -> bytes:
    """A page that saves the state of its graphics again and again, packed to a thousandth."""
    return _pdf(
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Count 1/Kids[3 0 R]>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>",
        _stream(zlib.compress(b"q " * (kilobytes * 513_000), 9), "/Filter/FlateDecode"),
    )


def endless_count_pdf() -> bytes:
    """A document that claims two thousand million pages and has one."""
    return _pdf(
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Count 2000000000/Kids[3 0 R]>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
    )


def flat_png(width: int, height: int) -> bytes:
    """A PNG of one colour: RGBA, packed to a thousandth."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    pack, rows = zlib.compressobj(1), bytes(1 + 4 * width)
    data = b"".join(pack.compress(rows) for _ in range(height)) + pack.flush()
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def long_gif(frames: int) -> bytes:
    """A GIF of so many pictures of one dot."""
    out = io.BytesIO()
    Image.new("P", (1, 1)).save(out, "GIF")
    whole = out.getvalue()
    at = whole.index(b"\x2c")
    return whole[:at] + whole[at:-1] * frames + b"\x3b"


def _stream(data: bytes, about: str = "") -> bytes:
    return f"<<{about}/Length {len(data)}>>stream\n".encode() + data + b"\nendstream "


def _pdf(*objects: str | bytes) -> bytes:
    body = b"%PDF-1.4\n"
    for number, one in enumerate(objects, 1):
        body += b"%d 0 obj%bendobj\n" % (number, one if isinstance(one, bytes) else one.encode())
    return body + b"trailer<</Size %d/Root 1 0 R>>\n%%%%EOF" % (len(objects) + 1)
