"""Words to pictures by a program of this machine: the owner's own command."""

import asyncio
import shlex
from pathlib import Path

from angelia.context.media_forms import Pixels
from angelia.core.errors import ConfigError
from angelia.held_folder import HeldFolder
from angelia.models.pictures.port import (
    MOST_BYTES,
    AspectRatio,
    FetchPicture,
    PaintedPictures,
    PainterCapabilities,
    PaintFailed,
    PaintTrouble,
    PaintWish,
    SourcePicture,
    TellProgress,
)
from angelia.models.program import ProgramFailed, run_program

COMMAND = "command"
"""What stands before the colon of a setting that names no vendor."""

_RATIOS = tuple(AspectRatio(*one) for one in ((1, 1), (4, 3), (3, 4), (3, 2), (2, 3), (16, 9), (9, 16)))


class CommandPainter:
    """Runs one program for each picture, which it writes where `{out}` stands. Cancelled, it is ended.

    What the line names is what it can be asked for: `{width}` and `{height}`, or `{ratio}`; `{pictures}` (paths),
    `{mask}` (a path, or nothing), `{seed}`.
    """

    name = "a program of yours"

    def __init__(self, line: str, seconds: float, price: int) -> None:
        """`seconds` is how long it may take; `price` is millionths of a US dollar a picture, 0 for nothing.

        Raises:
            ConfigError: it does not say where the words or the picture go.
        """
        for place in ("{prompt}", "{out}"):
            if place not in line:
                raise ConfigError(
                    f"The painter's command {line!r} names no {place}.", then="Write it where it belongs."
                )
        self._line, self._seconds = line, seconds
        self._price = price
        sized = "{width}" in line and "{height}" in line
        self._able = PainterCapabilities(
            step=8 if sized else 0,
            ratios=_RATIOS if "{ratio}" in line else (),
            pictures=16 if "{pictures}" in line else 0,
            mask="{mask}" in line,
            seed="{seed}" in line,
        )

    def able(self) -> PainterCapabilities:
        """What its line has a place for."""
        return self._able

    async def paint(self, wish: PaintWish, fetch: FetchPicture, tell: TellProgress) -> PaintedPictures:
        """Paint once.

        Raises:
            PaintFailed: it failed, with its last line; took too long; or wrote no picture.
        """
        with HeldFolder() as folder:
            out = folder / "picture.png"
            line = await asyncio.to_thread(self._filled, wish, folder, out)
            await self._run(line)
            return PaintedPictures((await asyncio.to_thread(self._written, out),), self._price)

    def _filled(self, wish: PaintWish, folder: Path, out: Path) -> str:
        pictures = [_laid(folder, f"given-{number}", one) for number, one in enumerate(wish.pictures, 1)]
        mask = [_laid(folder, "mask", one) for one in wish.mask]
        size = wish.size if isinstance(wish.size, Pixels) else Pixels(1024, 1024)
        shape = wish.size if isinstance(wish.size, AspectRatio) else AspectRatio(1, 1)
        values = {
            "{out}": shlex.quote(str(out)),
            "{pictures}": " ".join(shlex.quote(str(path)) for path in pictures),
            "{mask}": " ".join(shlex.quote(str(path)) for path in mask),
            "{width}": str(size.width),
            "{height}": str(size.height),
            "{ratio}": f"{shape.wide:g}:{shape.high:g}",
            "{seed}": str(wish.seed),
        }
        before, _, after = self._line.partition("{prompt}")  # last: what the words hold is no place to fill
        for place, value in values.items():
            before, after = before.replace(place, value), after.replace(place, value)
        return before + shlex.quote(wish.prompt) + after

    async def _run(self, line: str) -> None:
        try:
            await run_program(("/bin/sh", "-c", line), b"", "paints", self._seconds)
        except ProgramFailed as error:
            raise PaintFailed(
                PaintTrouble.FAILED, " ".join(part for part in (error.what, error.why) if part)
            ) from error

    def _written(self, out: Path) -> bytes:
        size = out.stat().st_size if out.is_file() else 0
        if not size:
            raise PaintFailed(PaintTrouble.EMPTY, "it ended well and wrote no picture", self._price)
        if size > MOST_BYTES:
            raise PaintFailed(PaintTrouble.TOO_LARGE, f"its picture has {size / 1e6:.0f} MB", self._price)
        return out.read_bytes()


def _laid(folder: Path, name: str, picture: SourcePicture) -> Path:
    path = folder / f"{name}.{picture.mime.rpartition('/')[2] or 'png'}"
    path.write_bytes(picture.data)
    return path
