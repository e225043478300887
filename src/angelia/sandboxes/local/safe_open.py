"""Walk a path beneath a folder so that no link, and no change while we walk, leads out of it.

Each step opens one name relative to the folder before it and never follows a link (openat(2), O_NOFOLLOW); links are
read and resolved here, against the same roots. What is opened is what was checked: there is no gap between the two.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from angelia.core.text import clean, one_line
from angelia.sandboxes.port import AccessRefused, FileChanged, Judged, NoSuchFile

_MOST_LINKS = 40
"""As many as Linux follows (path_resolution(7))."""
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class AllowedRoot(Struct, frozen=True):
    """A folder that may be entered: how it is called inside the sandbox, and where it is."""

    inside: str
    outside: Path


class AllowedRoots(Struct, frozen=True):
    """All that may be reached: the first root is the workspace; `hidden` places are refused wherever they lie. `state`
    takes the records of files that are being written (`process_ledger.unfinished`). `fixed` places are only read.
    """

    roots: tuple[AllowedRoot, ...]
    state: Path
    hidden: tuple[Path, ...] = ()
    fixed: tuple[Path, ...] = ()


class OpenedPlace(Struct, frozen=True):
    """Where a path led: an open folder and a name in it; `names` is the way from the root, links resolved, and `place`
    the folder's own path at that moment.
    """

    folder: int
    name: str
    names: tuple[str, ...]
    place: Path


@contextmanager
def open_place(roots: AllowedRoots, path: str, *, follow: bool, make: bool = False) -> Iterator[OpenedPlace]:
    """Walk to `path`. With `follow` a link at its end is resolved too; with `make` missing folders are made.

    Whether something stands there is left to the caller.

    Raises:
        AccessRefused: it leads outside, to a hidden place, or in circles.
        FileChanged: a link stands on a path that was judged without.
        NoSuchFile: a folder on the way is missing, or is none.
        OSError: the file system says no for another reason.
    """
    walk = _Walk(roots, path, follow=follow, make=make)
    try:
        yield walk.to_its_end()
    finally:
        walk.leave()


def shown(path: str) -> str:
    """A path as a message may hold it."""
    return repr(one_line(clean(path), 200))


def refuse_link(path: str) -> None:
    """A link stands on `path`.

    Raises:
        FileChanged: it was judged without.
    """
    if isinstance(path, Judged):
        raise FileChanged(
            f"{shown(path)} was replaced by a link since it was looked at.", "Nothing was moved.", "Try again."
        )


class _Walk:
    def __init__(self, roots: AllowedRoots, path: str, *, follow: bool, make: bool) -> None:
        self._roots = roots
        self._path = path
        self._follow = follow
        self._make = make
        self._hidden = _identities(roots.hidden)
        self._folders: list[int] = []
        self._names: list[str] = []
        self._root: Path
        self._todo: list[str] = []
        if "\0" in path:
            raise NoSuchFile(f"No file is called {shown(path)}: a name has no NUL in it.")
        self._enter(path)

    def to_its_end(self) -> OpenedPlace:
        links = 0
        while self._todo:
            name = self._todo.pop()
            if name == "..":
                self._up()
                continue
            target = self._link(name) if self._todo or self._follow else None
            if target is not None:
                refuse_link(self._path)
                links += 1
                if links > _MOST_LINKS:
                    raise AccessRefused(f"{shown(self._path)} leads in circles: over {_MOST_LINKS} links.")
                self._redirect(target)
                continue
            if not self._todo:
                self._refuse_hidden(self._entry(name))
                return OpenedPlace(self._folders[-1], name, (*self._names, name), self._root.joinpath(*self._names))
            self._down(name)
        return OpenedPlace(self._folders[-1], ".", tuple(self._names), self._root.joinpath(*self._names))

    def leave(self) -> None:
        for folder in self._folders:
            os.close(folder)
        self._folders.clear()

    def _enter(self, path: str) -> None:
        """Begin at the innermost root that an absolute `path` lies in, or at the workspace."""
        words = [word for word in path.split("/") if word not in ("", ".")]
        root, depth = self._roots.roots[0], 0
        if path.startswith("/"):
            inside = [(root, _words(root.inside)) for root in self._roots.roots]
            fitting = [(len(steps), root) for root, steps in inside if words[: len(steps)] == steps]
            if not fitting:
                raise self._outside()
            depth, root = max(fitting, key=lambda fit: fit[0])
        self.leave()
        self._names.clear()
        self._root = root.outside
        self._folders.append(os.open(root.outside, _FOLDER))
        self._todo += reversed(words[depth:])

    def _redirect(self, target: str) -> None:
        if target.startswith("/"):
            self._enter(target)
        else:
            self._todo += reversed([word for word in target.split("/") if word not in ("", ".")])

    def _up(self) -> None:
        if not self._names:
            raise self._outside()
        self._names.pop()
        os.close(self._folders.pop())

    def _down(self, name: str) -> None:
        if self._make:
            with suppress(FileExistsError):  # as it should be; opening it says whether it is a folder
                os.mkdir(name, 0o755, dir_fd=self._folders[-1])
        folder = os.open(name, _FOLDER, dir_fd=self._folders[-1])
        self._folders.append(folder)
        self._names.append(name)
        self._refuse_hidden(os.fstat(folder))

    def _link(self, name: str) -> str | None:
        """Where a link leads; None for anything else."""
        try:
            return os.readlink(name, dir_fd=self._folders[-1])
        except OSError:
            return None  # no link, or nothing: opening it will tell

    def _entry(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(name, dir_fd=self._folders[-1], follow_symlinks=False)
        except OSError:
            return None

    def _refuse_hidden(self, entry: os.stat_result | None) -> None:
        if entry is None:
            return
        second_name = stat.S_ISREG(entry.st_mode) and entry.st_nlink > 1
        identity = _identity_of(entry)
        if identity in self._hidden or (second_name and identity in _within(self._roots.hidden)):
            raise AccessRefused(
                f"{shown(self._path)} is hidden.",
                "It holds credentials or Angelia's own records, which no tool reads or writes.",
            )

    def _outside(self) -> AccessRefused:
        return AccessRefused(
            f"{shown(self._path)} is outside the sandbox.",
            f"Files move only within {self._roots.roots[0].inside}"
            + "".join(f" and {root.inside}" for root in self._roots.roots[1:])
            + ", after links are resolved.",
            "Copy it into the workspace first, or ask a person to put it there.",
        )


def _words(path: str) -> list[str]:
    return [word for word in path.split("/") if word]


def _identities(places: Sequence[Path]) -> frozenset[tuple[int, int]]:
    """By what a folder or file is, not by its name: links, second names and upper case change nothing."""
    found = []
    for place in places:
        try:
            found.append(_identity_of(os.stat(place)))  # noqa: PTH116 - a path of our own, on the way of each transfer
        except OSError:
            continue  # nothing there to hide
    return frozenset(found)


def _within(places: Sequence[Path]) -> frozenset[tuple[int, int]]:
    """What lies in these folders, one level deep: a file of theirs may have another name elsewhere (link(2))."""
    found = []
    for place in places:
        with suppress(OSError), os.scandir(place) as entries:
            found += [_identity_of(entry.stat(follow_symlinks=False)) for entry in entries]
    return frozenset(found)


def _identity_of(entry: os.stat_result) -> tuple[int, int]:
    return entry.st_dev, entry.st_ino
