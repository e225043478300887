"""Ways within a workspace, walked from its own open folder without following a link."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def joined(folder: str, name: str) -> str:
    """A path relative to the workspace; the workspace itself is the empty one."""
    return f"{folder}/{name}" if folder else name


@contextmanager
def open_parent(root: int, path: str) -> Iterator[tuple[int, str]]:
    """The open folder that holds `path`, which is relative to the open folder `root`, and the last name.

    Raises:
        OSError: a folder on the way is missing, or is a link.
    """
    *steps, name = path.split("/")
    handle = os.open(".", FOLDER, dir_fd=root)
    try:
        for step in steps:
            inner = os.open(step, FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle, name
    finally:
        os.close(handle)


def entries_below(folder: int, name: str, path: str, most: int) -> Iterator[tuple[str, int, str]]:
    """Every entry below the folder `name`, as (path, open parent folder, name), parents before what they hold.

    Raises:
        TooManyEntries: there are more than `most`.
        OSError: a folder cannot be read.
    """
    left = most
    waiting = [path]
    root = os.open(name, FOLDER, dir_fd=folder)
    try:
        while waiting:
            at = waiting.pop()
            inside = at[len(path) :].lstrip("/")
            handle = os.open(inside or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root)
            try:
                with os.scandir(handle) as found:
                    for entry in found:
                        left -= 1
                        if left < 0:
                            raise TooManyEntries
                        here = joined(at, entry.name)
                        yield here, handle, entry.name
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(here)
            finally:
                os.close(handle)
    finally:
        os.close(root)


class TooManyEntries(Exception):
    """A folder holds more than can be written down at once."""
