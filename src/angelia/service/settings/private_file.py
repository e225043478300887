"""Writes a file that only its owner can read."""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read: whole or not at all, through a link to the file that it names."""
    target = path.resolve()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with NamedTemporaryFile("w", dir=target.parent, prefix=f".{target.name}.", encoding="utf-8", delete=False) as file:
        unfinished = Path(file.name)
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            unfinished.replace(target)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
