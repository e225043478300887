"""A folder with files of an earlier moment is there whole, or under a name by which the next life removes it."""

import asyncio
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from angelia.sandboxes.shared.tree_removal import remove_tree
from angelia.sandboxes.workspace import earlier_files_folder

_PART = ".part"


@contextmanager
def laying_out(target: Path) -> Iterator[Path]:
    """Where to lay out what is to be `target`: it has that name once this ends without an error, and is removed
    otherwise. Whoever lays it out holds a lock on it, which the kernel lets go with their process.

    Raises:
        OSError: it cannot be made.
    """
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}{_PART}")
    handle = _made(part)
    try:
        yield part
        part.rename(target)
    except BaseException:
        remove_tree(part)
        raise
    finally:
        os.close(handle)


async def tidy_earlier_folders(home: Path) -> None:
    """Remove what killed lives had not laid out to its end."""
    for part in earlier_files_folder(home).glob(f"*{_PART}"):
        await asyncio.to_thread(_remove_unless_held, part)


def _made(part: Path) -> int:
    while True:
        part.mkdir(mode=0o700)
        handle = _opened(part)
        fcntl.flock(handle, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), part.stat()):
                return handle  # nobody took it for a dead one's in the instant between the two
        os.close(handle)


def _remove_unless_held(part: Path) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):
        handle = _opened(part)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_tree(part)
        except BlockingIOError:
            pass  # somebody is at it
        finally:
            os.close(handle)


def _opened(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
