"""Writes a file that only its owner can read."""

import fcntl
import glob
import os
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

from angelia.core.crash import crash_point

_PART = ".part"


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read: whole or not at all, through a link to the file that it names.

    What a process that was killed left unfinished beside it goes first: it may hold a secret that is taken away now.
    """
    target = path.resolve()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_leftovers(target)
    with _unfinished(target) as file:
        unfinished = Path(file.name)
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            crash_point("private.written")
            unfinished.replace(target)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise


def _unfinished(target: Path) -> IO[str]:
    """A new file beside it, locked for as long as it is open, which nobody took for a leftover before that."""
    while True:
        file = NamedTemporaryFile(  # noqa: SIM115 - whoever asked for it closes it
            "w", dir=target.parent, prefix=f".{target.name}.", suffix=_PART, encoding="utf-8", delete=False
        )
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()


def _remove_leftovers(target: Path) -> None:
    for left in target.parent.glob(f".{glob.escape(target.name)}.????????{_PART}"):
        try:
            with left.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()
        except OSError:
            continue  # its writer lives, or is done
