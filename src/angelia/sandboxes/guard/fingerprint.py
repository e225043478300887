"""A fingerprint of a workspace: every folder by inode and ctime, and the few files that programs outside run.

A folder's ctime moves when an entry of it is made, removed or renamed, so a folder that did not move is not read again;
it says nothing of what lies deeper, so every known folder is asked. A file's ctime moves when it is written (mtime can
be put back). Two doubts: clocks of file systems tick, so what moved within the last 20 ms is read again at the next
look; and a mapped page that is written twice moves the ctime once, so what moved since commands began to run is read
at every look until they have ended.
"""

import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path

from msgspec import Struct

from angelia.path_queries import UNKNOWN, beginning_of, is_file, is_link, real_path
from angelia.sandboxes.guard import autorun
from angelia.sandboxes.guard.autorun import AutorunFound, AutorunKind, JudgedFile
from angelia.sandboxes.guard.git_config import Unreadable, entries, is_harmless

_TICK_NS = 20_000_000
"""Older kernels stamp with the time of the last tick, at most 10 ms ago (CONFIG_HZ=100)."""
LARGEST = 4_000_000
"""Bytes of a file that are read; a larger one is a risk as it is."""
_MOST_PROGRAMS = 200


class Seen(Struct, frozen=True):
    """A file that counts, as it is now. `content` is there when it was read in this look."""

    kind: AutorunKind
    judged: JudgedFile
    stamp: tuple[int, int, int, int]
    mode: int
    link: str = ""
    content: bytes | None = None


class _Folder(Struct, frozen=True):
    stamp: tuple[int, int, int]
    sure: bool
    inner: tuple[str, ...]
    marks: tuple[str, ...]
    leading: tuple[str, ...]
    """Links that lead to where commands write and nobody looks."""
    pipes: tuple[str, ...]
    """What is neither file nor folder nor link, at names that are opened unasked."""


class Fingerprint:
    """What is known of one workspace. Not for two threads at once."""

    def __init__(self, workspace: Path, *, without: tuple[Path, ...] = ()) -> None:
        """`without` are folders that commands cannot see, such as our own home."""
        self._root = str(workspace)
        self._without = frozenset(str(path) for path in without)
        self._folders: dict[str, _Folder] = {}
        self._seen: dict[str, Seen] = {}
        self.closed: set[str] = set()
        """Folders that could not be looked into at the last look."""

    def look(self, *, running_since: int) -> Mapping[str, Seen]:
        """Everything that counts now, by its absolute path; `running_since` is Unix nanoseconds, now for no command."""
        now = time.time_ns()
        marked = self._walk(now)
        wanted: dict[str, AutorunKind] = {}
        repositories = []
        for folder in marked:
            names = self._folders[folder].marks
            wanted.update(self._by_name(folder, names))
            wanted.update((f"{folder}/{name}", AutorunKind.LINK) for name in self._folders[folder].leading)
            wanted.update((f"{folder}/{name}", AutorunKind.PIPE) for name in self._folders[folder].pipes)
            if os.path.basename(folder).casefold() == ".git" or autorun.looks_bare(names):  # noqa: PTH119
                repositories.append(folder)
                wanted.update(self._of_repository(folder))
            bins = [f"{folder}/{place}" for place in autorun.VENV_BINS] if autorun.is_venv(folder, names) else []
            for place in [*bins, folder] if autorun.HERMIT in names else bins:
                for path in self._files(place):
                    wanted.setdefault(path, AutorunKind.VENV)
        seen = {path: one for path, kind in wanted.items() if (one := self._see(path, kind, running_since, now))}
        for path, kind in chain(self._named_by_settings(seen, repositories), self._named_by_shells(seen)):
            known = path in seen and seen[path].kind is not AutorunKind.TOLD  # what was only told runs by itself here
            if not known and (one := self._see(path, kind, running_since, now)):
                seen[path] = one
        self._seen = seen
        return seen

    def _walk(self, now: int) -> list[str]:
        """Bring the folders up to date; those that hold something that counts."""
        known, self._folders = self._folders, {}
        self.closed = {path for path in self.closed if path in known and not os.access(path, os.R_OK | os.X_OK)}
        marked, left = [], [self._root]
        while left:
            path = left.pop()
            try:
                entry = os.lstat(path)
            except OSError:
                continue
            if not stat.S_ISDIR(entry.st_mode):
                continue
            stamp = (entry.st_dev, entry.st_ino, entry.st_ctime_ns)
            folder = known.get(path)
            if folder is None or folder.stamp != stamp or not folder.sure:
                folder = self._read(path, stamp, now - entry.st_ctime_ns > _TICK_NS)
            self._folders[path] = folder
            left.extend(folder.inner)
            if folder.marks or folder.leading or folder.pipes or os.path.basename(path).casefold() in autorun.LINKS:  # noqa: PTH119
                marked.append(path)
        return marked

    def _read(self, path: str, stamp: tuple[int, int, int], sure: bool) -> _Folder:
        inner, marks, leading, pipes = list[str](), list[str](), list[str](), list[str]()
        if not os.access(path, os.R_OK | os.X_OK):
            self.closed.add(path)
        from_root = path[len(self._root) :]
        with suppress(OSError), os.scandir(path) as found:  # what we may not read, nobody runs for us either
            for entry in found:
                if entry.is_dir(follow_symlinks=False):
                    if entry.path not in self._without:
                        inner.append(entry.path)
                        if entry.name.casefold() in autorun.MARKING_FOLDERS:
                            marks.append(entry.name)
                elif autorun.is_marked(from_root, entry.name, is_link=entry.is_symlink()):
                    marks.append(entry.name)
                if entry.is_symlink():
                    if self._leads_unseen(entry.path):
                        leading.append(entry.name)
                elif not entry.is_file() and not entry.is_dir() and autorun.is_opened(from_root, entry.name):
                    pipes.append(entry.name)
        return _Folder(stamp, sure, tuple(inner), tuple(marks), tuple(leading), tuple(pipes))

    def _leads_unseen(self, link: str) -> bool:
        """Whether a link leads into our own home, where what commands see as their `/tmp` and their home lies, or into
        what the kernel says of processes, whose own `/tmp` is reached by it. A link to a name beside it is judged
        there.
        """
        try:
            target = os.readlink(link)  # noqa: PTH115
        except OSError:
            return False
        if "/" not in target:
            return False
        path = real_path(link)
        unseen = (UNKNOWN, *self._without)
        return target.startswith("/proc/") or any(f"{path}/".startswith(f"{inner}/") for inner in unseen)

    def _by_name(self, folder: str, names: tuple[str, ...]) -> Iterator[tuple[str, AutorunKind]]:
        from_root = folder[len(self._root) :]
        for name in names:
            kind = autorun.kind_of(from_root, name)
            if kind is None and name.casefold() in autorun.LINKS:
                kind = AutorunKind.SCRIPT  # a link or a file where a folder is looked for
            if kind is not None:
                yield f"{folder}/{name}", kind

    def _see(self, path: str, kind: AutorunKind, running_since: int, now: int) -> Seen | None:
        try:
            entry = os.lstat(path)
        except OSError:
            return None
        stamp = (entry.st_dev, entry.st_ino, entry.st_ctime_ns, entry.st_mode)
        old = self._seen.get(path)
        certain = entry.st_ctime_ns < min(running_since, now) - _TICK_NS
        if old and old.kind is kind and old.stamp == stamp and certain and not old.judged.fluid:
            return old if old.content is None else Seen(kind, old.judged, stamp, old.mode, old.link)
        found = read(path, entry)
        if found is None:
            return None
        judged = autorun.judge(kind, found, self._root)
        return Seen(kind, judged, stamp, stat.S_IMODE(entry.st_mode), found.link, found.content)

    def _named_by_settings(
        self, seen: Mapping[str, Seen], repositories: list[str]
    ) -> Iterator[tuple[str, AutorunKind]]:
        """Folders of hooks, further settings and programs in the workspace that a repository's settings name."""
        sources = [(path, os.path.dirname(path)) for path, one in seen.items() if one.kind is AutorunKind.CONFIG]  # noqa: PTH120
        sources += [
            source
            for path, one in seen.items()
            if one.kind is AutorunKind.POINTER
            for source in _behind(path, one.content)
        ]
        for above in Path(self._root).parents:
            if is_file(above / ".git/config"):
                sources.append((str(above / ".git/config"), str(above / ".git")))
        for config, folder in sources:
            if config in seen and not seen[config].judged.risks:
                continue
            yield from self._named_by(config, folder)

    def _named_by(self, config: str, folder: str) -> Iterator[tuple[str, AutorunKind]]:
        try:
            text = beginning_of(config, LARGEST).decode("utf-8", "surrogateescape")
            risky = [entry for entry in entries(text) if not is_harmless(entry)]
        except Unreadable:
            return
        bases = (folder, os.path.dirname(folder))  # noqa: PTH120
        for entry in risky[:_MOST_PROGRAMS]:
            words = [entry.value, *entry.value.replace('"', " ").replace("'", " ").split()]
            for path in dict.fromkeys(real_path(os.path.join(base, w)) for w in words for base in bases):  # noqa: PTH118
                if not path.startswith(f"{self._root}/"):
                    continue
                if entry.key == "core.hookspath":
                    yield from ((inner, AutorunKind.HOOK) for inner in self._files(path))
                elif is_file(path):
                    yield path, AutorunKind.CONFIG if entry.section in ("include", "includeif") else AutorunKind.PROGRAM

    def _named_by_shells(self, seen: Mapping[str, Seen]) -> Iterator[tuple[str, AutorunKind]]:
        """What a shell's file reads or puts on the path once it is obeyed, as it stands."""
        for path in [path for path, one in seen.items() if one.kind is AutorunKind.SCRIPT and not one.link]:
            if os.path.basename(path).casefold() not in autorun.SHELLS:  # noqa: PTH119
                continue
            from angelia.sandboxes.guard.sourced import put_on_path, sourced

            folder = os.path.dirname(path)  # noqa: PTH120
            text = beginning_of(path, LARGEST).decode("utf-8", "surrogateescape")
            for name in sourced(text):
                if (file := self._within(folder, name)) and is_file(file):
                    yield file, AutorunKind.PROGRAM
            for name in put_on_path(text):
                if place := self._within(folder, name):
                    yield from ((program, AutorunKind.VENV) for program in self._files(place))

    def _within(self, folder: str, name: str) -> str:
        path = real_path(os.path.join(folder, name))  # noqa: PTH118
        return path if path.startswith(f"{self._root}/") else ""

    def _of_repository(self, folder: str) -> Iterator[tuple[str, AutorunKind]]:
        for name, kind in autorun.OF_GIT.items():
            yield f"{folder}/{name}", kind
        for place, kind in (
            ("hooks", AutorunKind.HOOK),
            ("remotes", AutorunKind.REMOTE),
            ("branches", AutorunKind.REMOTE),
        ):
            yield from ((path, kind) for path in self._files(f"{folder}/{place}"))
        if is_link(f"{folder}/info"):
            yield f"{folder}/info", AutorunKind.SCRIPT

    def _files(self, folder: str) -> Iterator[str]:
        """All files and links below a folder; a folder that is a link counts itself, with what it leads to here."""
        if is_link(folder):
            yield folder
            folder = real_path(folder)
            if not folder.startswith(f"{self._root}/"):
                return
        for above, _, names in os.walk(folder):
            yield from (f"{above}/{name}" for name in names if not name.endswith(".sample"))


def read(path: str, entry: os.stat_result) -> AutorunFound | None:
    """What stands at a path, or None for what is neither file nor link, or is gone."""
    try:
        if stat.S_ISLNK(entry.st_mode):
            return AutorunFound(path, link=os.readlink(path))  # noqa: PTH115
        if not stat.S_ISREG(entry.st_mode) and not stat.S_ISDIR(entry.st_mode):
            return _special(path, entry)
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError:
        return AutorunFound(path, content=b"unreadable", executable=bool(entry.st_mode & 0o111))
    except OSError:
        return None
    with open(handle, "rb") as file:  # noqa: PTH123
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        content = file.read(LARGEST)
    executable = bool(entry.st_mode & 0o111)
    if entry.st_size > LARGEST:  # the end is not seen: whenever it was written, it is another
        return AutorunFound(path, content=b"%b%d" % (content, entry.st_ctime_ns), executable=executable, whole=False)
    return AutorunFound(path, content=content, executable=executable)


def _special(path: str, entry: os.stat_result) -> AutorunFound:
    """A FIFO or a socket: it says something else to everybody who reads it, and whoever writes may still run."""
    return AutorunFound(path, content=b"%o %d" % (entry.st_mode, entry.st_ino), executable=True, whole=False)


def _behind(pointer: str, content: bytes | None) -> Iterator[tuple[str, str]]:
    """The settings of the repository that a `.git` file leads to, with the folder from which they are meant."""
    target = (content or b"").decode("utf-8", "surrogateescape").removeprefix("gitdir:").strip()
    folder = real_path(os.path.join(os.path.dirname(pointer), target))  # noqa: PTH118, PTH120
    shared = beginning_of(f"{folder}/commondir", LARGEST).decode("utf-8", "surrogateescape").strip()
    common = real_path(os.path.join(folder, shared))  # noqa: PTH118
    yield f"{common}/config", pointer
    yield f"{folder}/config.worktree", pointer
