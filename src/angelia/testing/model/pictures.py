"""Pictures of one colour, and the name of a picture's dominant colour."""

import io
from collections import Counter

COLOURS: dict[str, tuple[tuple[int, int, int], ...]] = {
    "red": ((255, 0, 0), (200, 0, 0)),
    "green": ((0, 128, 0), (0, 255, 0)),
    "blue": ((0, 0, 255), (0, 0, 160)),
    "yellow": ((255, 255, 0),),
    "orange": ((255, 165, 0), (255, 128, 0)),
    "purple": ((128, 0, 128), (160, 32, 240)),
    "pink": ((255, 192, 203), (255, 105, 180)),
    "cyan": ((0, 255, 255),),
    "magenta": ((255, 0, 255),),
    "brown": ((139, 69, 19),),
    "black": ((0, 0, 0),),
    "gray": ((128, 128, 128),),
    "white": ((255, 255, 255),),
}
"""The colours that can be named, each with the RGB values that people call so; the first is how it is painted."""


def one_colour(colour: str, *, size: tuple[int, int] = (64, 64), form: str = "PNG") -> bytes:
    """A picture of one of `COLOURS`; `size` is pixels, `form` a Pillow format: PNG, JPEG, WEBP, GIF."""
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", size, COLOURS[colour][0]).save(file, form)
    return file.getvalue()


def dominant_colour(data: bytes) -> str:
    """The name of the colour that most of the picture has; `unreadable` if no decoder takes it.

    >>> dominant_colour(one_colour("blue", form="WEBP"))
    'blue'
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data)) as image:
            small = image.convert("RGB").resize((16, 16))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError):
        return "unreadable"
    pixels = small.tobytes()
    names = Counter(_name(*pixels[at : at + 3]) for at in range(0, len(pixels), 3))
    return names.most_common(1)[0][0]


def _name(red: int, green: int, blue: int) -> str:
    def distance(of: tuple[int, int, int]) -> int:
        return (red - of[0]) ** 2 + (green - of[1]) ** 2 + (blue - of[2]) ** 2

    return min(COLOURS, key=lambda name: min(distance(value) for value in COLOURS[name]))


_SIGNATURES = {
    b"\x89PNG": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
    b"%PDF": "application/pdf",
}


def true_mime(data: bytes) -> str:
    """What the first bytes say a picture or document is; empty when they say nothing."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for start, mime in _SIGNATURES.items() if data.startswith(start)), "")
