"""Pictures, opened safely: their size, whether they decode, and the same picture smaller or in another format.

What is drawn anew is the same, byte for byte, every time with one version of Pillow: the encoders' settings are fixed.
"""

import io
import re
import struct
import threading
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from angelia.context.media_forms import Pixels, quoted, scaled, worst_bytes
from angelia.core.errors import BadInput

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFile import ImageFile

MOST_PIXELS = 120_000_000
"""More is not opened: decoded it would take over 360 MB. The largest cameras of phones make 108 million or 50."""

ONE_AT_A_TIME = threading.Lock()
"""Decoding takes memory by the hundred megabytes; Python's warning filters and PDFium are not made for threads."""

_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF", "JPEG2000", "ICO")
_PHOTOS = ("JPEG", "MPO", "AVIF", "JPEG2000", "WEBP")
_SHOWING = frozenset({"icc_profile", "transparency", "gamma"})
"""What Pillow notes of a picture and is needed to show it; the encoders write comments of the original otherwise."""
_BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    RuntimeError,
    EOFError,
    LookupError,
    ArithmeticError,
    struct.error,
    zlib.error,
)
"""What Pillow raises for broken files, seen by cutting and flipping bytes."""


class Drawn(Struct, frozen=True):
    """A picture drawn anew. `frames` is how many the original has; only the first is drawn."""

    mime: str
    data: bytes
    frames: int = 1


def check(source: bytes | Path | BinaryIO, name: str = "") -> Pixels:
    """Decode a picture to its end; return the size at which it is shown, turned where EXIF says so.

    A broken picture in a conversation makes providers refuse every later request, so none is let in.

    Raises:
        BadInput: not a picture, broken, cut off, or more than `MOST_PIXELS`.
    """
    with _opened(source, name) as image:
        size = Pixels(image.width, image.height)
        image.draft(None, (max(1, image.width // 8), max(1, image.height // 8)))  # an eighth of the memory, for JPEG
        image.load()
        return _as_shown(image, size)


def is_transparent(source: bytes | Path | BinaryIO, name: str = "") -> bool:
    """Whether something shines through anywhere in its first frame; a channel for it that is full is not enough.

    Raises:
        BadInput: as `check`.
    """
    with _opened(source, name) as image:
        return image.has_transparency_data and any(image.convert("RGBA").getchannel("A").histogram()[:255])


def redraw(source: bytes | Path | BinaryIO, long_edge: int, name: str = "") -> Drawn:
    """The picture upright, at most `long_edge` pixels long (0: as it is), as PNG or JPEG; transparency stays.

    Its size is `context.media_forms.scaled` of what `check` returns, and its bytes at most `worst_bytes` of that.

    Raises:
        BadInput: not a picture, broken, cut off, or more than `MOST_PIXELS`.
    """
    with _opened(source, name) as image:
        from PIL import ImageOps

        photo = image.format in _PHOTOS
        frames = 1 if image.format == "MPO" else getattr(image, "n_frames", 1)
        target = scaled(Pixels(image.width, image.height), long_edge)
        image.draft(None, (target.width, target.height))
        upright = _plain(ImageOps.exif_transpose(image))
        upright.info = {key: value for key, value in upright.info.items() if key in _SHOWING}  # no comments, no EXIF
        drawn = encode(_resized(upright, _as_shown(image, target)), photo=photo)
        return Drawn(drawn.mime, drawn.data, frames)


def encode(image: "Image", *, photo: bool) -> Drawn:
    """PNG for drawings and for what is transparent, JPEG for photos and for drawings too rich for PNG."""
    from PIL import Image

    most = worst_bytes(Pixels(image.width, image.height))
    if image.mode == "RGBA" and image.getchannel("A").getextrema()[0] == 255:
        image = image.convert("RGB")
    if image.mode == "RGBA" or not photo:
        data = _saved(image, "PNG")
        if len(data) > most and image.mode == "RGBA":
            data = _saved(image.quantize(256, Image.Quantize.FASTOCTREE), "PNG")
        if len(data) <= most:
            return Drawn("image/png", data)
    if image.mode == "RGBA":
        paper = Image.new("RGB", image.size, "white")
        paper.paste(image, mask=image.getchannel("A"))
        image = paper
    data = b""
    for quality in (85, 70, 50, 30):
        data = _saved(image, "JPEG", quality=quality)
        if len(data) <= most:
            break
    return Drawn("image/jpeg", data)


def _as_shown(image: "Image", size: Pixels) -> Pixels:
    """`size` with its sides exchanged where EXIF's orientation (tag 0x0112) turns the picture by a quarter."""
    return Pixels(size.height, size.width) if image.getexif().get(0x0112, 1) in (5, 6, 7, 8) else size


def _saved(image: "Image", form: str, quality: int = 0) -> bytes:
    out = io.BytesIO()
    if form == "JPEG":
        image.save(out, "JPEG", quality=quality, subsampling=2, optimize=True)
    else:
        image.save(out, "PNG", compress_level=6)
    return out.getvalue()


def _plain(image: "Image") -> "Image":
    """In grey, RGB or RGBA with 8 bits a channel."""
    if image.has_transparency_data:
        return image.convert("RGBA")
    if image.mode.startswith(("I", "F")):
        deep = image.convert("F")
        _, brightest = deep.getextrema()
        assert isinstance(brightest, float)
        return deep.point(lambda value: value * (255 / max(brightest, 255.0))).convert("L")
    return image.convert("L" if image.mode in ("1", "L") else "RGB")


def _resized(image: "Image", size: Pixels) -> "Image":
    from PIL import Image

    if (size.width, size.height) == image.size:
        return image
    return image.resize((size.width, size.height), Image.Resampling.LANCZOS, reducing_gap=3.0)


@contextmanager
def _opened(source: bytes | Path | BinaryIO, name: str) -> "Iterator[ImageFile]":
    """The picture, for one thread at a time; what Pillow says of a broken one becomes a sentence."""
    called = f"The picture {quoted(name)}".rstrip()
    with ONE_AT_A_TIME, _stream(source) as stream, warnings.catch_warnings():
        from PIL import Image, UnidentifiedImageError

        Image.MAX_IMAGE_PIXELS = MOST_PIXELS
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(stream, formats=_FORMATS) as image:
                yield image
        except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
            raise BadInput(
                f"{called} has {_millions(str(error))} million pixels; at most {MOST_PIXELS // 1_000_000} are opened.",
                "Unpacked it would fill the memory.",
                "Scale it down, or cut out the part that matters.",
            ) from error
        except UnidentifiedImageError as error:
            raise BadInput(
                f"{called} cannot be read.",
                "Its content is damaged, or of a kind that is not known here.",
                "Save it as PNG or JPEG.",
            ) from error
        except _BROKEN as error:
            raise BadInput(
                f"{called} is damaged or incomplete: it does not decode.", then="Copy or export it once more."
            ) from error


def _stream(source: bytes | Path | BinaryIO) -> BinaryIO:
    match source:
        case bytes():
            return io.BytesIO(source)
        case Path():
            return source.open("rb")
        case _:
            return source


def _millions(said: str) -> str:
    pixels = re.search(r"\((\d+) pixels\)", said)
    return f"{int(pixels[1]) / 1e6:.0f}" if pixels else "too many"
