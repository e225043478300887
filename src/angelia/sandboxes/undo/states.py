"""What stands at a path, as far as it takes to tell whether it changed and to make it again."""

import os
import stat

from msgspec import Struct


class Inode(Struct, frozen=True, array_like=True, order=True):
    """Names a file apart from its names, for as long as it has one."""

    device: int
    number: int


class NothingThere(Struct, frozen=True, tag="none"):
    """No entry of this name."""


class FileState(Struct, frozen=True, tag="file"):
    """A regular file; `modified` is Unix nanoseconds. Its content is a matter of its inode, not of its name."""

    inode: Inode
    mode: int
    size: int
    modified: int


class LinkState(Struct, frozen=True, tag="link"):
    """A symbolic link, and where it points in its own words."""

    target: str


class FolderState(Struct, frozen=True, tag="folder"):
    """A folder, without what is in it."""

    inode: Inode
    mode: int


class SpecialState(Struct, frozen=True, tag="special"):
    """A FIFO, socket or device: it holds nothing that could be kept."""

    mode: int


PathState = NothingThere | FileState | LinkState | FolderState | SpecialState


def inode_of(entry: os.stat_result) -> Inode:
    """The inode of an entry that was looked at."""
    return Inode(entry.st_dev, entry.st_ino)


def look_at(folder: int, name: str) -> PathState:
    """What stands at `name` in an open folder, links not followed.

    Raises:
        OSError: it cannot be looked at.
    """
    try:
        entry = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return NothingThere()
    if stat.S_ISLNK(entry.st_mode):
        return LinkState(os.readlink(name, dir_fd=folder))
    if stat.S_ISDIR(entry.st_mode):
        return FolderState(inode_of(entry), stat.S_IMODE(entry.st_mode))
    if stat.S_ISREG(entry.st_mode):
        return FileState(inode_of(entry), stat.S_IMODE(entry.st_mode), entry.st_size, entry.st_mtime_ns)
    return SpecialState(entry.st_mode)
