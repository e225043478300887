"""Folders that nobody else may look into."""

from pathlib import Path


def make_private(folder: Path, *, exist_ok: bool = False) -> None:
    """Make a folder and what is missing above it, all with mode 0700: `mkdir` gives what is above the person's umask.

    Raises:
        FileExistsError: it is there, unless `exist_ok`.
        OSError: it cannot be made.
    """
    missing = []
    above = folder.parent
    while not above.exists():
        missing.append(above)
        above = above.parent
    for one in reversed(missing):
        one.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=exist_ok)
