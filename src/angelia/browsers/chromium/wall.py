"""Whether this machine has what the wall around a browser is made of, and what would mend it where it has not."""

import os
import stat
from typing import assert_never

from msgspec import Struct

from angelia.sandboxes.local.confinement import Confined, Unconfined, bubblewrap_program, confinement


class NoWall(Struct, frozen=True):
    """There is none: why, and what to do, both as parts of a sentence."""

    why: str
    mend: str


def no_wall() -> NoWall | None:
    """None where one holds. It is tried for real, once in a process."""
    match confinement():
        case Confined("bubblewrap"):
            return _of_root_alone(bubblewrap_program())
        case Confined(by):
            return NoWall(f"{by} makes no network of its own for a browser", "use a machine with Linux and bubblewrap")
        case Unconfined(why, mend):
            return NoWall(why, mend)
        case other:
            assert_never(other)


def _of_root_alone(program: str) -> NoWall | None:
    """A bubblewrap that is root's for whoever runs it confines commands, but the network that it makes is root's, too,
    and nobody else may enter it to open the one way out.
    """
    if not os.geteuid() or not os.stat(program).st_mode & stat.S_ISUID:  # noqa: PTH116 - as the program is found
        return None
    mend = f"take the mark away where the kernel lets users make namespaces: sudo chmod u-s {program}"
    return NoWall("bubblewrap is marked to run as root here, and what it makes only root may enter", mend)
