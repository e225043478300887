"""Further folders of this machine for a container, as a person writes them."""

import os
import posixpath
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from angelia.core.errors import ConfigError


class Volume(Struct, frozen=True):
    """A folder of this machine that a container sees, at a path of its own."""

    outside: str
    inside: str
    writable: bool = False


def volumes(texts: Sequence[str]) -> tuple[Volume, ...]:
    """Those that `/here:/inside` or `/here:/inside:rw` name.

    Raises:
        ConfigError: one is not written as it should be, or is not there.
    """
    return tuple(map(_volume, texts))


def refuse_within(volume: Volume, places: Iterable[str]) -> None:
    """Refuse a volume inside folders whose files are moved on this machine: there its files lie elsewhere.

    Raises:
        ConfigError: it lies in one of `places`, which are paths inside.
    """
    for place in places:
        if PurePosixPath(volume.inside).is_relative_to(place):
            raise ConfigError(
                f"The volume {volume.outside}:{volume.inside} cannot lie in {place}.",
                "Files move in and out of there on this machine, past the mount: they would not be the volume's.",
                f"Mount it beside that, such as at /volumes{volume.inside}.",
            )


def _volume(text: str) -> Volume:
    match text.split(":"):
        case [outside, inside] if inside.startswith("/"):
            volume = Volume(os.path.expanduser(outside), inside)  # noqa: PTH111 - a string is wanted
        case [outside, inside, ("ro" | "rw") as how] if inside.startswith("/"):
            volume = Volume(os.path.expanduser(outside), inside, writable=how == "rw")  # noqa: PTH111
        case _:
            raise ConfigError(f"{text!r} is no volume.", then="Write /here:/inside, or /here:/inside:rw.")
    if not Path(volume.outside).is_absolute() or not Path(volume.outside).exists():
        raise ConfigError(f"The volume {text!r} names no folder of this machine.", then="Make it, or take it away.")
    return replace(volume, inside=posixpath.normpath(f"/{volume.inside.lstrip('/')}"))
