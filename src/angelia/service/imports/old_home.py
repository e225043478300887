"""Another agent's home on disk: every file of it by name, read and never written, with no link followed.

It may be anybody's: a copy from another machine, or what somebody else prepared. So files are opened from the folder
before them (openat(2), O_NOFOLLOW), what is no ordinary file is not opened, and everything that is read has a bound.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from angelia.core.errors import AngeliaError, BadInput

MOST_FILES = 500_000
MOST_WHOLE = 16_000_000
"""Bytes of a file that is read at once."""
MOST_LINE = 32_000_000
"""Bytes of a line: one message with all that it holds."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class UnreadableFile(AngeliaError):
    """A file of the old home cannot be read; says why."""


class HomeFile(Struct, frozen=True):
    """A file by its path within the home, as the system names it. `why` says why it is not looked into, if it is so;
    what it is, is `known` then, or not.
    """

    path: str
    size: int
    why: str = ""
    known: bool = True

    @property
    def shown(self) -> str:
        """The path with a sign for each byte of it that is no text."""
        return os.fsencode(self.path).decode("utf-8", "backslashreplace")


class OldHome:
    """A folder that is only read."""

    def __init__(self, path: Path, now: int) -> None:
        """`now` is the moment at which it is read, Unix milliseconds.

        Raises:
            BadInput: it is no folder, or cannot be read.
        """
        self.path = path.expanduser().resolve()
        self.now = now
        if not self.path.is_dir():
            raise BadInput(f"There is no folder {path}.", then="Name the folder that holds the other agent's files.")
        try:
            os.scandir(self.path).close()
        except OSError as error:
            raise BadInput(f"{path} cannot be read: {error.strerror}.", then="Nothing was taken.") from error

    def files(self) -> Iterator[HomeFile]:
        """Every file, folder by folder in order of their names; what is no file or folder says so in `why`.

        Raises:
            BadInput: there are more than `MOST_FILES`.
        """
        count = 0
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(self.path / folder) as found:
                    entries = sorted(found, key=lambda entry: entry.name)
            except OSError as error:
                yield HomeFile(f"{folder}/", 0, f"this folder cannot be read: {error.strerror}", known=False)
                continue
            inside = []
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_dir(follow_symlinks=False):
                    inside.append(path)
                    continue
                count += 1
                if count > MOST_FILES:
                    raise BadInput(
                        f"{self.path} holds more than {MOST_FILES:,} files.", then="Copy what you want first."
                    )
                yield _file(entry, path)
            waiting += reversed(inside)

    def open(self, path: str) -> BinaryIO:
        """A file, to be read.

        Raises:
            UnreadableFile: it cannot be opened, is a link or no ordinary file, or a folder before it is a link.
        """
        *folders, name = path.split("/")
        try:
            at = os.open(self.path, _FOLDER & ~os.O_NOFOLLOW)
            try:
                for folder in folders:
                    inner = os.open(folder, _FOLDER, dir_fd=at)
                    os.close(at)
                    at = inner
                file = os.open(name, _FILE, dir_fd=at)
            finally:
                os.close(at)
        except OSError as error:
            raise UnreadableFile(f"it cannot be opened: {error.strerror}") from error
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise UnreadableFile("it is no ordinary file")
        return os.fdopen(file, "rb")

    def read(self, path: str, most: int = MOST_WHOLE) -> bytes:
        """All of a file.

        Raises:
            UnreadableFile: as `open`, or it has more than `most` bytes.
        """
        with self.open(path) as file:
            try:
                data = file.read(most + 1)
            except OSError as error:
                raise UnreadableFile(f"it cannot be read: {error.strerror}") from error
        if len(data) > most:
            raise UnreadableFile(f"it has more than {most:,} bytes")
        return data

    def text(self, path: str, most: int = MOST_WHOLE) -> str:
        """All of a file of text; bytes that are no UTF-8 become a sign.

        Raises:
            UnreadableFile: as `read`.
        """
        return self.read(path, most).decode("utf-8-sig", "replace")

    def lines(self, path: str) -> Iterator[bytes]:
        """The lines of a file; one of more than `MOST_LINE` bytes comes in pieces, which are no JSON.

        Raises:
            UnreadableFile: as `open`.
        """
        with self.open(path) as file:
            while True:
                try:
                    line = file.readline(MOST_LINE)
                except OSError as error:
                    raise UnreadableFile(f"it cannot be read to its end: {error.strerror}") from error
                if not line:
                    return
                yield line


def _file(entry: "os.DirEntry[str]", path: str) -> HomeFile:
    if entry.is_symlink():
        return HomeFile(path, 0, "a link, and links are not followed")
    try:
        known = entry.stat(follow_symlinks=False)
    except OSError as error:
        return HomeFile(path, 0, f"it cannot be looked at: {error.strerror}", known=False)
    if not stat.S_ISREG(known.st_mode):
        return HomeFile(path, 0, "a device, socket or FIFO, which has no end")
    return HomeFile(path, known.st_size)


def fits(pattern: str, path: str) -> bool:
    """Whether a path is one of the pattern's.

    >>> fits("cron/output/**", "cron/output/a/b.md"), fits("*.db", "a/x.db"), fits("a/**/x", "a/x")
    (True, False, True)
    """
    words = re.split(r"(\*\*/?|\*)", pattern)
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*"}
    return re.fullmatch("".join(signs.get(word, re.escape(word)) for word in words), path, re.DOTALL) is not None
