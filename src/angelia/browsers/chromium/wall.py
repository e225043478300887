"""Whether this machine has what the wall around a browser is made of, and what would mend it where it has not."""

from typing import assert_never

from msgspec import Struct

from angelia.sandboxes.local.confinement import Confined, Unconfined, confinement


class NoWall(Struct, frozen=True):
    """There is none: why, and what to do, both as parts of a sentence."""

    why: str
    mend: str


def no_wall() -> NoWall | None:
    """None where one holds. It is tried for real, once in a process."""
    match confinement():
        case Confined("bubblewrap"):
            return None
        case Confined(by):
            return NoWall(f"{by} makes no network of its own for a browser", "use a machine with Linux and bubblewrap")
        case Unconfined(why, mend):
            return NoWall(why, mend)
        case other:
            assert_never(other)
