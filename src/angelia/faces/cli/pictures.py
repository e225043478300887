"""A picture within the text of a terminal that can show one: kitty's way, iTerm2's, or sixels."""

from base64 import b64encode
from collections.abc import Mapping
from enum import StrEnum
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from angelia.core.errors import BadInput
from angelia.faces.words.output import Painted

if TYPE_CHECKING:
    from PIL.Image import Image

_WIDE, _HIGH = 640, 480
"""Pixels that a picture takes at most."""
_CELL = 8
"""Pixels that a column has at least; a narrow terminal gets a smaller picture."""
_CHUNK = 4096
"""Characters of data in one command (kitty, "Terminal graphics protocol", "Remote client")."""


class Way(StrEnum):
    """How a terminal takes pictures."""

    NONE = ""
    KITTY = "kitty"
    ITERM = "iterm"
    SIXEL = "sixel"


def way_of(environ: Mapping[str, str]) -> Way:
    """What the terminal says of itself, which nobody has to be asked for: questions would be answered as if typed.

    Behind tmux and screen there is none: they would have to pass it on.

    >>> way_of({"TERM": "xterm-kitty"}), way_of({"TERM": "foot"}), way_of({"TERM": "xterm-256color"})
    (<Way.KITTY: 'kitty'>, <Way.SIXEL: 'sixel'>, <Way.NONE: ''>)
    """
    term, program = environ.get("TERM", ""), environ.get("TERM_PROGRAM", "")
    if environ.get("TMUX") or term.startswith(("tmux", "screen")):
        return Way.NONE
    if environ.get("KITTY_WINDOW_ID") or term in ("xterm-kitty", "xterm-ghostty") or program == "ghostty":
        return Way.KITTY
    if program in ("iTerm.app", "WezTerm", "mintty") or environ.get("LC_TERMINAL") == "iTerm2":
        return Way.ITERM
    return Way.SIXEL if term.startswith(("foot", "mlterm", "contour", "yaft")) else Way.NONE


def drawn(path: Path, way: Way, columns: int) -> Painted:
    """What shows the picture at `path`, ended by a newline; empty where it cannot be drawn. Up to half a second.

    The file is opened in a process of its own; here only what that made of it is. Not to be called on an event loop.
    """
    if way is Way.NONE:
        return Painted("")
    import asyncio

    from PIL import Image

    from angelia.sandboxes.local.confined_program import confined_prefix, start_confined
    from angelia.store.media.processes import MediaProcesses, program_folders

    processes = MediaProcesses(lambda: confined_prefix(program_folders()), start=start_confined)
    try:
        small = asyncio.run(processes.redraw(path, _WIDE))
        with Image.open(BytesIO(small.data), formats=("PNG", "JPEG")) as picture:
            picture.thumbnail((min(_WIDE, max(columns, 10) * _CELL), _HIGH))
            return Painted(f"{_DRAW[way](picture.convert('RGBA'))}\n")
    except (BadInput, OSError, ValueError, SyntaxError):  # the last three are Pillow's
        return Painted("")


def _kitty(picture: "Image") -> str:
    """A PNG in commands of 4096 characters (f=100), shown at once (a=T), without an answer (q=2)."""
    data = _png(picture)
    chunks = [data[at : at + _CHUNK] for at in range(0, len(data), _CHUNK)]
    heads = ["f=100,a=T,q=2,"] + [""] * (len(chunks) - 1)
    last = len(chunks) - 1
    return "".join(
        f"\x1b_G{head}m={int(at < last)};{chunk}\x1b\\"
        for at, (head, chunk) in enumerate(zip(heads, chunks, strict=True))
    )


def _iterm(picture: "Image") -> str:
    """iTerm2, "Inline Images Protocol"."""
    data = _png(picture)
    return f"\x1b]1337;File=inline=1;preserveAspectRatio=1:{data}\x07"


def _sixel(picture: "Image") -> str:
    """Bands of six rows, a run of characters for each colour of a band (DEC STD 070, "Sixel Graphics")."""
    from PIL import Image

    white = Image.new("RGB", picture.size, "white")
    white.paste(picture, mask=picture.getchannel("A"))
    flat = white.quantize(255)
    palette, (wide, high), dots = flat.getpalette() or [], flat.size, flat.tobytes()
    colours = [
        f"#{n};2;" + ";".join(str(level * 100 // 255) for level in palette[3 * n : 3 * n + 3])
        for n in range(len(palette) // 3)
    ]
    bands = [_band(dots[top * wide : (top + 6) * wide], wide) for top in range(0, high, 6)]
    return f'\x1bP0;1q"1;1;{wide};{high}{"".join(colours)}{"-".join(bands)}\x1b\\'


def _band(dots: bytes, wide: int) -> str:
    rows: dict[int, bytearray] = {}
    for at, colour in enumerate(dots):
        row = rows.setdefault(colour, bytearray(wide))
        row[at % wide] |= 1 << (at // wide)
    return "$".join(f"#{colour}{_runs(row)}" for colour, row in rows.items())


def _runs(row: bytearray) -> str:
    """Repeated characters are counted.

    >>> _runs(bytearray([0, 0, 0, 0, 1, 1]))
    '!4?@@'
    """
    from itertools import groupby

    runs = ((chr(63 + bits), len(list(same))) for bits, same in groupby(row))
    return "".join(f"!{count}{sign}" if count > 3 else sign * count for sign, count in runs)


def _png(picture: "Image") -> str:
    out = BytesIO()
    picture.save(out, "PNG")
    return b64encode(out.getvalue()).decode()


_DRAW = {Way.KITTY: _kitty, Way.ITERM: _iterm, Way.SIXEL: _sixel}
