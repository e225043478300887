"""The journal of one call: what stood at each path before the call first changed it, written before the change.

Names and contents are kept apart. A name is written down with its inode when it first changes; a content is kept when
its inode is first opened for writing, or loses its last name. So a rename costs one line however large the file is, and
hard links need nothing of their own.

    was     at this path there was this, before
    kept    the content of this inode lies in this file (empty: it was empty)
    ended   what stood at each of these paths when the call had ended

A line goes to the operating system in one write, before the change that it speaks of: the death of any process leaves
either the line and perhaps the change, or neither. What a crash of the machine leaves of it is not known.
"""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from angelia.core.crash import crash_point
from angelia.sandboxes.shared.private_folders import make_private
from angelia.sandboxes.undo.folders import FOLDER, entries_below, open_parent
from angelia.sandboxes.undo.states import FolderState, Inode, LinkState, NothingThere, PathState, inode_of, look_at

JOURNAL, OPEN = "journal", ".open"
_MOST_MOVED = 20_000
"""Entries of a folder that is moved as one; a larger one is not."""
_FICLONE = 0x40049409
"""linux/fs.h: share the blocks of another file, where the file system can."""
_CHUNK = 1 << 22


class StepBegun(Struct, frozen=True, tag="begun"):
    """The first line. `call` is the tool call, empty for what is none; `at` is Unix milliseconds."""

    call: str
    workspace: str
    at: int


class WasThere(Struct, frozen=True, tag="was"):
    """What stood at a path of the workspace before. `at`, here and below, is Unix nanoseconds: calls may overlap."""

    path: str
    state: PathState
    at: int = 0


class KeptContent(Struct, frozen=True, tag="kept"):
    """Where the content of an inode lies, beside the journal; empty for an empty file. `modified` is its time then."""

    inode: Inode
    file: str
    modified: int
    at: int = 0


class NotKept(Struct, frozen=True, tag="lost"):
    """A content that was changed though it could not be kept, and why."""

    path: str
    why: str


class StepEnded(Struct, frozen=True, tag="ended"):
    """The last line. `killed`: it was written by a later life, so others may have changed something meanwhile."""

    after: dict[str, PathState]
    killed: bool = False
    at: int = 0


Record = StepBegun | WasThere | KeptContent | NotKept | StepEnded
_decoder: "msgspec.json.Decoder[Record]" = msgspec.json.Decoder(Record)
_encoder = msgspec.json.Encoder()


class CannotKeep(Exception):
    """What would be lost by a change cannot be kept, so the change is not made; the message says why."""


class Quota(Struct):
    """How many bytes may still be kept in all, and how many of one file. One for all that keep at once."""

    left: int
    of_one_file: int


class StepJournal:
    """A journal that is being written. Not for two threads at once. Paths are relative to the workspace."""

    def __init__(self, folder: Path, workspace: Path, call: str, quota: Quota) -> None:
        """Begin it in `folder`, which is made; its name ends with `OPEN` until the call has ended.

        Raises:
            OSError: it cannot be written.
        """
        self.folder = folder
        self.quota = quota
        self.refused: dict[str, str] = {}
        """What was not changed because it could not be kept or must not be, by path, and why."""
        make_private(folder)
        self.root = os.open(workspace, FOLDER)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._journal = os.open(folder / JOURNAL, flags, 0o600)
        fcntl.flock(self._journal, fcntl.LOCK_EX)
        self._noted: dict[str, PathState] = {}
        self._kept: dict[Inode, str] = {}
        self._made: set[Inode] = set()
        self._lost: set[str] = set()
        self._files = 0
        self._write(StepBegun(call, str(workspace), time.time_ns() // 1_000_000))

    def note(self, path: str, folder: int, name: str) -> PathState:
        """Write down what stands at `path`, unless this call changed it before; `folder` is its open parent."""
        state = look_at(folder, name)
        self.note_as(path, state)
        return state

    def note_as(self, path: str, state: PathState) -> None:
        """Write down a path that was looked at.

        Raises:
            CannotKeep: it cannot be written down.
        """
        if path not in self._noted:
            _refuse_unwritable(path, state)
            self._noted[path] = state
            self._write(WasThere(path, state, time.time_ns()))
            crash_point("undo.noted")

    def note_moved(self, old: str, new: str, folder: int, name: str) -> None:
        """Write down every entry of a folder that is about to be moved as one.

        Raises:
            TooManyEntries: it holds more than can be written down at once.
        """
        for path, state in self.below(old, folder, name):
            self.note_as(path, state)
            self.note_as(f"{new}{path[len(old) :]}", NothingThere())

    def below(self, path: str, folder: int, name: str) -> list[tuple[str, PathState]]:
        """What stands below a path, if it is a folder.

        Raises:
            TooManyEntries: it is more than can be written down at once.
        """
        if not isinstance(look_at(folder, name), FolderState):
            return []
        return [(inside, look_at(at, entry)) for inside, at, entry in entries_below(folder, name, path, _MOST_MOVED)]

    def made(self, inode: Inode) -> None:
        """A file or folder that this call has made."""
        self._made.add(inode)

    def gone(self, inode: Inode) -> None:
        """Its last name is gone: the file system may give its number to another."""
        self._made.discard(inode)
        self._kept.pop(inode, None)

    def keep(self, handle: int) -> None:
        """Keep the content of an open regular file, unless this call made it or kept it before.

        Raises:
            CannotKeep: it is too large, or cannot be read.
        """
        entry = os.fstat(handle)
        if self._needs_keeping(entry):
            self._keep(entry, lambda target: self._copied(entry, handle, target))

    def keep_last_name(self, folder: int, name: str, handle: int) -> None:
        """Keep the content of an open regular file that is about to lose the name `name`.

        Where it has no other, and nobody has it open for writing, it is kept by a new name, without a copy.

        Raises:
            CannotKeep: it is too large to be copied, or cannot be read.
        """
        entry = os.fstat(handle)
        if not self._needs_keeping(entry):
            return

        def how(target: Path) -> None:
            if entry.st_nlink > 1 or not _link(folder, name, handle, target):
                self._copied(entry, handle, target)

        self._keep(entry, how)

    def kept_file(self, inode: Inode) -> Path | None:
        """Where the content of an inode lies that this call has kept; None if it held nothing.

        Raises:
            CannotKeep: this call has not kept it.
        """
        if inode not in self._kept:
            raise CannotKeep("what it held is not kept")
        return self.folder / self._kept[inode] if self._kept[inode] else None

    def lost(self, path: str, why: str) -> None:
        """Write down that a content is changed that was not kept."""
        self._lost.add(path)
        self._write(NotKept(path, why))

    def end(self) -> tuple[str, ...]:
        """Write down what stands now, and close it: the paths that were changed. If there are none, it is removed."""
        after = states_of(self.root, self._noted)
        changed = tuple(sorted(path for path, state in after.items() if state != self._noted[path]))
        crash_point("undo.before_end")
        if changed or self._kept or not self._lost <= after.keys():
            self._write(StepEnded(after, at=time.time_ns()))
            self.folder = self.folder.rename(self.folder.with_suffix(""))
        else:
            (self.folder / JOURNAL).unlink()
            self.folder.rmdir()
        crash_point("undo.ended")
        for handle in (self._journal, self.root):
            os.close(handle)
        return changed

    def _needs_keeping(self, entry: os.stat_result) -> bool:
        inode = inode_of(entry)
        return stat.S_ISREG(entry.st_mode) and inode not in self._made and inode not in self._kept

    def _keep(self, entry: os.stat_result, how: Callable[[Path], None]) -> None:
        inode = inode_of(entry)
        if not entry.st_size:
            self._write(KeptContent(inode, "", entry.st_mtime_ns, time.time_ns()))
            self._kept[inode] = ""
            return
        self._files += 1
        name = str(self._files)
        try:
            how(self.folder / name)
        except CannotKeep:
            raise
        except OSError as error:
            (self.folder / name).unlink(missing_ok=True)
            raise CannotKeep(f"it cannot be kept: {error.strerror}") from error
        self.quota.left -= entry.st_blocks * 512
        crash_point("undo.kept")
        self._write(KeptContent(inode, name, entry.st_mtime_ns, time.time_ns()))
        self._kept[inode] = name

    def _copied(self, entry: os.stat_result, handle: int, target: Path) -> None:
        size = entry.st_blocks * 512
        if size > self.quota.of_one_file:
            raise CannotKeep(
                f"it is {size / 1e6:,.0f} MB, and a file of at most {self.quota.of_one_file / 1e6:,.0f} MB is kept "
                "before it is changed (the setting undo.file_bytes)"
            )
        if size > self.quota.left:
            raise CannotKeep("nothing more can be kept before it is changed (the setting undo.max_bytes)")
        _copy(handle, target)

    def _write(self, record: Record) -> None:
        line = _encoder.encode(record) + b"\n"
        while line:
            line = line[os.write(self._journal, line) :]


def _refuse_unwritable(path: str, state: PathState) -> None:
    """Names are written down as UTF-8.

    Raises:
        CannotKeep: one of these is none.
    """
    try:
        f"{path}{state.target if isinstance(state, LinkState) else ''}".encode()
    except UnicodeEncodeError as error:
        raise CannotKeep("its name is not UTF-8, so it cannot be written down") from error


def states_of(root: int, paths: Iterable[str]) -> dict[str, PathState]:
    """What stands at these paths now."""
    found: dict[str, PathState] = {}
    for path in paths:
        try:
            with open_parent(root, path) as (folder, name):
                found[path] = look_at(folder, name)
        except OSError:
            found[path] = NothingThere()
    return found


def _copy(handle: int, target: Path) -> None:
    """Copy an open file: blocks are shared where that is possible."""
    source = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        out = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.ioctl(out, _FICLONE, source)
            except OSError:
                _copy_bytes(source, out)
        finally:
            os.close(out)
    finally:
        os.close(source)


def _copy_bytes(source: int, out: int) -> None:
    while True:
        try:
            moved = os.copy_file_range(source, out, _CHUNK)
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
                raise
            break
        if not moved:
            return
    while chunk := os.read(source, _CHUNK):
        left = memoryview(chunk)
        while left:
            left = left[os.write(out, left) :]


def _link(folder: int, name: str, handle: int, target: Path) -> bool:
    """Keep a file by another name, if nobody can write to it: a lease is only given where nobody has it open for that.

    fcntl(2), "Leases". Whoever opens it for writing later does so through us, or is a person.
    """
    try:
        reading = os.open(f"/proc/self/fd/{handle}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.fcntl(reading, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(reading, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        os.link(name, target, src_dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(reading)


@contextmanager
def reading(folder: Path) -> Iterator[tuple[list[Record], bool]]:
    """The lines of a journal, and whether somebody writes it now; a last line that was cut off is left out."""
    handle = os.open(folder / JOURNAL, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            alive = False
        except BlockingIOError:
            alive = True
        with open(handle, "rb", closefd=False) as file:
            *lines, cut = file.read().split(b"\n")
        if cut and not alive:
            os.ftruncate(handle, os.fstat(handle).st_size - len(cut))
        yield [_decoder.decode(line) for line in lines], alive
    finally:
        os.close(handle)


def finish_killed(folder: Path) -> None:
    """End the journal of a life that was killed: what stands now is what its call left, as far as can be told.

    Nothing if it is ended meanwhile, by whoever writes it or by another life that looks.
    """
    with suppress(FileNotFoundError), reading(folder) as (records, alive):
        if alive or not records:
            return
        if not isinstance(records[-1], StepEnded):  # else it was killed before the folder had its name
            _write_end(folder, records)
        folder.rename(folder.with_suffix(""))


def _write_end(folder: Path, records: Sequence[Record]) -> None:
    begun = records[0]
    assert isinstance(begun, StepBegun)
    paths = {record.path for record in records if isinstance(record, WasThere)}
    after: dict[str, PathState] = dict.fromkeys(paths, NothingThere())
    with suppress(OSError):
        root = os.open(begun.workspace, FOLDER)
        try:
            after = states_of(root, paths)
        finally:
            os.close(root)
    handle = os.open(folder / JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        os.write(handle, _encoder.encode(StepEnded(after, killed=True, at=time.time_ns())) + b"\n")
    finally:
        os.close(handle)
