"""The system calls that change a workspace, made by us: what would be lost is kept, and then the change is made.

Each function makes one call and answers with what it returns: nothing for success, or an open file for the program. It
raises `OSError` for the program, `NotOurs` where the call is for the kernel to make (it concerns no file of the
workspace, or changes nothing), and `CannotKeep` where nothing may be changed.
"""

import errno
import os
import socket
import stat
import struct
import sys
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from angelia.sandboxes.undo.folders import TooManyEntries
from angelia.sandboxes.undo.seccomp import StoppedCall
from angelia.sandboxes.undo.states import FileState, FolderState, LinkState, NothingThere, SpecialState, inode_of
from angelia.sandboxes.undo.step import Step
from angelia.sandboxes.undo.target import (
    AT_FDCWD,
    TargetPlace,
    Workspace,
    place_of_descriptor,
    place_of_path,
    read_memory,
    read_path,
    same_descriptor,
    umask_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_AT_SYMLINK_NOFOLLOW, _AT_REMOVEDIR, _AT_SYMLINK_FOLLOW, _AT_EMPTY_PATH = 0x100, 0x200, 0x400, 0x1000
_RENAME_NOREPLACE = 1
_O_TMPFILE = 0o20000000
_UTIME_NOW, _UTIME_OMIT = (1 << 30) - 1, (1 << 30) - 2
_BITS = 0o777 | stat.S_ISVTX
_OPEN = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


class NotOurs(Exception):
    """The kernel makes this call: where it would change the workspace, that is read-only."""


class Refused(Exception):
    """The change is not made; the message says why."""


class Handed(Struct, frozen=True):
    """A file that the program gets."""

    handle: int
    close_on_exec: bool


class Calling(Struct, frozen=True):
    """For whom calls are made. `refuse` says why nothing is changed at a path, or nothing."""

    workspace: Workspace
    step: Callable[[], Step]
    refuse: Callable[[str], str]


def made(call: StoppedCall, calling: Calling) -> Handed | None:
    """Make it."""
    return _CALLS[call.name](call, calling)


@contextmanager
def _place(call: StoppedCall, calling: Calling, folder: int, address: int, *, follow: bool) -> "Iterator[TargetPlace]":
    """Where the path at `address` leads, if that is a name in the workspace that may be changed."""
    try:
        path = read_path(call.thread, address)
    except OSError as error:
        raise NotOurs from error  # the kernel says what is wrong with it
    with place_of_path(calling.workspace, call.thread, folder, path, follow=follow) as place:
        if place is None or not place.path:
            raise NotOurs
        _allow(calling, place.path)
        yield place


def _allow(calling: Calling, path: str) -> None:
    if why := calling.refuse(path):
        raise Refused(f"{path}\0{why}")


@contextmanager
def _opened(place: TargetPlace) -> "Iterator[int]":
    handle = os.open(place.name, _OPEN, dir_fd=place.folder)
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def _umask(thread: int) -> "Iterator[None]":
    before = os.umask(umask_of(thread))
    try:
        yield
    finally:
        os.umask(before)


def _signed(value: int) -> int:
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


# -- opening --------------------------------------------------------------------------------------------------------


def _open(call: StoppedCall, calling: Calling) -> Handed:
    path, flags, mode, *_ = call.arguments
    return _opens(call, calling, AT_FDCWD, path, flags & 0xFFFFFFFF, mode)


def _openat(call: StoppedCall, calling: Calling) -> Handed:
    folder, path, flags, mode, *_ = call.arguments
    return _opens(call, calling, _signed(folder), path, flags & 0xFFFFFFFF, mode)


def _creat(call: StoppedCall, calling: Calling) -> Handed:
    path, mode, *_ = call.arguments
    return _opens(call, calling, AT_FDCWD, path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, mode)


def _openat2(call: StoppedCall, calling: Calling) -> Handed:
    folder, path, how, size, *_ = call.arguments
    flags, mode, resolve = struct.unpack("=QQQ", read_memory(call.thread, how, min(size, 24)).ljust(24, b"\0"))
    if not flags & (os.O_ACCMODE | os.O_CREAT | os.O_TRUNC):
        raise NotOurs
    if resolve:
        raise OSError(errno.ENOSYS, "openat2")  # whoever calls it has another way
    return _opens(call, calling, _signed(folder), path, flags, mode)


def _opens(call: StoppedCall, calling: Calling, folder: int, address: int, flags: int, mode: int) -> Handed:
    if flags & os.O_PATH:
        raise NotOurs
    if flags & _O_TMPFILE == _O_TMPFILE:
        raise OSError(errno.EOPNOTSUPP, "O_TMPFILE")
    exclusive = flags & (os.O_CREAT | os.O_EXCL) == os.O_CREAT | os.O_EXCL
    follow = not flags & os.O_NOFOLLOW and not exclusive
    with _place(call, calling, folder, address, follow=follow) as place:
        closing = bool(flags & os.O_CLOEXEC)
        own = flags | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW
        for _ in range(8):
            try:
                if _stands(place):
                    return Handed(_open_there(calling, place, own, exclusive=exclusive), closing)
                if not flags & os.O_CREAT:
                    raise NotOurs
                return Handed(_create(call, calling, place, own, mode), closing)
            except (FileExistsError, FileNotFoundError):
                if exclusive:
                    raise
        raise OSError(errno.EAGAIN, "it is made and removed by others")


def _stands(place: TargetPlace) -> bool:
    try:
        os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _open_there(calling: Calling, place: TargetPlace, flags: int, *, exclusive: bool) -> int:
    if exclusive:
        raise FileExistsError(errno.EEXIST, "open")
    with _opened(place) as handle:
        if not stat.S_ISREG(os.fstat(handle).st_mode) or not flags & (os.O_ACCMODE | os.O_TRUNC):
            raise NotOurs  # a folder, link, FIFO or device; or nothing is written
        step = calling.step()
        step.note(place.path, place.folder, place.name)
        step.keep(handle)
        return os.open(f"/proc/self/fd/{handle}", flags & ~(os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW))


def _create(call: StoppedCall, calling: Calling, place: TargetPlace, flags: int, mode: int) -> int:
    step = calling.step()
    step.note(place.path, place.folder, place.name)
    with _umask(call.thread):
        handle = os.open(place.name, flags | os.O_EXCL, mode & _BITS, dir_fd=place.folder)
    step.made(inode_of(os.fstat(handle)))
    return handle


# -- names ----------------------------------------------------------------------------------------------------------


def _unlink(call: StoppedCall, calling: Calling) -> None:
    _removes(call, calling, AT_FDCWD, call.arguments[0], folder=False)


def _rmdir(call: StoppedCall, calling: Calling) -> None:
    _removes(call, calling, AT_FDCWD, call.arguments[0], folder=True)


def _unlinkat(call: StoppedCall, calling: Calling) -> None:
    folder, path, flags, *_ = call.arguments
    _removes(call, calling, _signed(folder), path, folder=bool(flags & _AT_REMOVEDIR))


def _removes(call: StoppedCall, calling: Calling, at: int, address: int, *, folder: bool) -> None:
    with _place(call, calling, at, address, follow=False) as place:
        if folder:
            calling.step().note(place.path, place.folder, place.name)
            os.rmdir(place.name, dir_fd=place.folder)
            return
        inode = _about_to_lose(calling.step(), place)
        os.unlink(place.name, dir_fd=place.folder)
        _lost_name(calling.step(), inode)


def _about_to_lose(step: Step, place: TargetPlace) -> os.stat_result | None:
    """Write down and keep what loses its name; the file, if it is one and loses its last."""
    match step.note(place.path, place.folder, place.name):
        case FileState():
            with _opened(place) as handle:
                step.keep_last_name(place.folder, place.name, handle)
                return os.fstat(handle)
        case FolderState() | LinkState() | NothingThere() | SpecialState():
            return None


def _lost_name(step: Step, entry: os.stat_result | None) -> None:
    if entry is not None and entry.st_nlink == 1:
        step.gone(inode_of(entry))


def _rename(call: StoppedCall, calling: Calling) -> None:
    old, new, *_ = call.arguments
    _renames(call, calling, (AT_FDCWD, old), (AT_FDCWD, new), 0)


def _renameat(call: StoppedCall, calling: Calling) -> None:
    old_folder, old, new_folder, new, *_ = call.arguments
    _renames(call, calling, (_signed(old_folder), old), (_signed(new_folder), new), 0)


def _renameat2(call: StoppedCall, calling: Calling) -> None:
    old_folder, old, new_folder, new, flags, *_ = call.arguments
    _renames(call, calling, (_signed(old_folder), old), (_signed(new_folder), new), flags & 0xFFFFFFFF)


def _renames(call: StoppedCall, calling: Calling, old: tuple[int, int], new: tuple[int, int], flags: int) -> None:
    with (
        _place(call, calling, *old, follow=False) as source,
        _place(call, calling, *new, follow=False) as target,
    ):
        if flags & ~_RENAME_NOREPLACE:
            raise OSError(errno.EINVAL, "renameat2")
        step = calling.step()
        if flags and _stands(target):
            raise FileExistsError(errno.EEXIST, "renameat2")
        before = os.stat(source.name, dir_fd=source.folder, follow_symlinks=False)
        if stat.S_ISDIR(before.st_mode):
            try:
                step.note_moved(source.path, target.path, source.folder, source.name)
            except TooManyEntries as error:
                raise OSError(errno.EXDEV, "rename") from error  # then it is copied, entry by entry
        step.note(source.path, source.folder, source.name)
        lost = _about_to_lose(step, target)
        if lost is not None and (lost.st_dev, lost.st_ino) == (before.st_dev, before.st_ino):
            lost = None
        os.rename(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder)
        _lost_name(step, lost)


def _mkdir(call: StoppedCall, calling: Calling) -> None:
    _makes_folder(call, calling, AT_FDCWD, *call.arguments[:2])


def _mkdirat(call: StoppedCall, calling: Calling) -> None:
    folder, path, mode, *_ = call.arguments
    _makes_folder(call, calling, _signed(folder), path, mode)


def _makes_folder(call: StoppedCall, calling: Calling, at: int, address: int, mode: int) -> None:
    with _place(call, calling, at, address, follow=False) as place:
        if _stands(place):
            raise FileExistsError(errno.EEXIST, "mkdir")
        calling.step().note(place.path, place.folder, place.name)
        with _umask(call.thread):
            os.mkdir(place.name, mode & _BITS, dir_fd=place.folder)


def _mknod(call: StoppedCall, calling: Calling) -> None:
    _makes_node(call, calling, AT_FDCWD, *call.arguments[:2])


def _mknodat(call: StoppedCall, calling: Calling) -> None:
    folder, path, mode, *_ = call.arguments
    _makes_node(call, calling, _signed(folder), path, mode)


def _makes_node(call: StoppedCall, calling: Calling, at: int, address: int, mode: int) -> None:
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFIFO):
        raise NotOurs
    with _place(call, calling, at, address, follow=False) as place:
        calling.step().note(place.path, place.folder, place.name)
        with _umask(call.thread):
            os.mknod(place.name, stat.S_IFMT(mode) | (mode & _BITS), dir_fd=place.folder)


def _symlink(call: StoppedCall, calling: Calling) -> None:
    target, path, *_ = call.arguments
    _makes_link(call, calling, target, AT_FDCWD, path)


def _symlinkat(call: StoppedCall, calling: Calling) -> None:
    target, folder, path, *_ = call.arguments
    _makes_link(call, calling, target, _signed(folder), path)


def _makes_link(call: StoppedCall, calling: Calling, target: int, at: int, address: int) -> None:
    with _place(call, calling, at, address, follow=False) as place:
        words = read_path(call.thread, target)
        if _stands(place):
            raise FileExistsError(errno.EEXIST, "symlink")
        calling.step().note(place.path, place.folder, place.name)
        os.symlink(words, place.name, dir_fd=place.folder)


def _link(call: StoppedCall, calling: Calling) -> None:
    old, new, *_ = call.arguments
    _names_again(call, calling, (AT_FDCWD, old), (AT_FDCWD, new), 0)


def _linkat(call: StoppedCall, calling: Calling) -> None:
    old_folder, old, new_folder, new, flags, *_ = call.arguments
    _names_again(call, calling, (_signed(old_folder), old), (_signed(new_folder), new), flags)


def _names_again(call: StoppedCall, calling: Calling, old: tuple[int, int], new: tuple[int, int], flags: int) -> None:
    if flags & _AT_EMPTY_PATH:
        raise NotOurs
    with (
        _place(call, calling, *old, follow=bool(flags & _AT_SYMLINK_FOLLOW)) as source,
        _place(call, calling, *new, follow=False) as target,
    ):
        calling.step().note(target.path, target.folder, target.name)
        os.link(source.name, target.name, src_dir_fd=source.folder, dst_dir_fd=target.folder, follow_symlinks=False)


# -- what is known of a file ----------------------------------------------------------------------------------------


def _truncate(call: StoppedCall, calling: Calling) -> None:
    path, length, *_ = call.arguments
    with _place(call, calling, AT_FDCWD, path, follow=True) as place, _opened(place) as handle:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise NotOurs
        step = calling.step()
        step.note(place.path, place.folder, place.name)
        step.keep(handle)
        os.truncate(f"/proc/self/fd/{handle}", length)


def _chmod(call: StoppedCall, calling: Calling) -> None:
    _sets_mode(call, calling, AT_FDCWD, *call.arguments[:2], follow=True)


def _fchmodat(call: StoppedCall, calling: Calling) -> None:
    folder, path, mode, *_ = call.arguments
    _sets_mode(call, calling, _signed(folder), path, mode, follow=True)


def _fchmodat2(call: StoppedCall, calling: Calling) -> None:
    folder, path, mode, flags, *_ = call.arguments
    if flags & _AT_EMPTY_PATH:
        raise OSError(errno.EOPNOTSUPP, "fchmodat2")
    _sets_mode(call, calling, _signed(folder), path, mode, follow=not flags & _AT_SYMLINK_NOFOLLOW)


def _sets_mode(call: StoppedCall, calling: Calling, at: int, address: int, mode: int, *, follow: bool) -> None:
    with _place(call, calling, at, address, follow=follow) as place:
        _set_mode(calling, place, mode)


def _fchmod(call: StoppedCall, calling: Calling) -> None:
    number, mode, *_ = call.arguments
    with place_of_descriptor(calling.workspace, call.thread, number) as place:
        if place is None or not place.path:
            raise NotOurs
        _allow(calling, place.path)
        _set_mode(calling, place, mode)


def _set_mode(calling: Calling, place: TargetPlace, mode: int) -> None:
    with _opened(place) as handle:
        kind = os.fstat(handle).st_mode
        if stat.S_ISLNK(kind):
            raise OSError(errno.EOPNOTSUPP, "chmod")
        calling.step().note(place.path, place.folder, place.name)
        allowed = _BITS | (stat.S_ISGID if stat.S_ISDIR(kind) else 0)
        Path(f"/proc/self/fd/{handle}").chmod(mode & allowed)


def _chown(call: StoppedCall, calling: Calling) -> None:
    path, user, group, *_ = call.arguments
    _sets_owner(call, calling, AT_FDCWD, path, (user, group))


def _fchownat(call: StoppedCall, calling: Calling) -> None:
    folder, path, user, group, *_ = call.arguments
    _sets_owner(call, calling, _signed(folder), path, (user, group))


def _sets_owner(call: StoppedCall, calling: Calling, at: int, address: int, owners: tuple[int, int]) -> None:
    """Owners stay: who asks for those that there are has them."""
    with _place(call, calling, at, address, follow=False) as place, _opened(place) as handle:
        _own(os.fstat(handle), owners)


def _fchown(call: StoppedCall, calling: Calling) -> None:
    number, user, group, *_ = call.arguments
    with place_of_descriptor(calling.workspace, call.thread, number) as place:
        if place is None:
            raise NotOurs
        with _opened(place) as handle:
            _own(os.fstat(handle), (user, group))


def _own(entry: os.stat_result, owners: tuple[int, int]) -> None:
    wanted = [_signed(one) for one in owners]
    if any(one not in (-1, now) for one, now in zip(wanted, (entry.st_uid, entry.st_gid), strict=True)):
        raise OSError(errno.EPERM, "chown")


def _utimensat(call: StoppedCall, calling: Calling) -> None:
    folder, path, times, flags, *_ = call.arguments
    wanted = struct.unpack("=qqqq", read_memory(call.thread, times, 32)) if times else (0, _UTIME_NOW, 0, _UTIME_NOW)
    if not path:
        with place_of_descriptor(calling.workspace, call.thread, _signed(folder)) as place:
            if place is None or not place.path:
                raise NotOurs
            _allow(calling, place.path)
            _set_times(calling, place, wanted)
        return
    with _place(call, calling, _signed(folder), path, follow=not flags & _AT_SYMLINK_NOFOLLOW) as place:
        _set_times(calling, place, wanted)


def _utimes(call: StoppedCall, calling: Calling) -> None:
    _sets_times(call, calling, AT_FDCWD, *call.arguments[:2])


def _futimesat(call: StoppedCall, calling: Calling) -> None:
    folder, path, times, *_ = call.arguments
    _sets_times(call, calling, _signed(folder), path, times)


def _sets_times(call: StoppedCall, calling: Calling, at: int, address: int, times: int) -> None:
    if times:
        seen, micro_seen, changed, micro = struct.unpack("=qqqq", read_memory(call.thread, times, 32))
        wanted = (seen, micro_seen * 1000, changed, micro * 1000)
    else:
        wanted = (0, _UTIME_NOW, 0, _UTIME_NOW)
    with _place(call, calling, at, address, follow=True) as place:
        _set_times(calling, place, wanted)


def _utime(call: StoppedCall, calling: Calling) -> None:
    path, times, *_ = call.arguments
    wanted = (0, _UTIME_NOW, 0, _UTIME_NOW)
    if times:
        seen, changed = struct.unpack("=qq", read_memory(call.thread, times, 16))
        wanted = (seen, 0, changed, 0)
    with _place(call, calling, AT_FDCWD, path, follow=True) as place:
        _set_times(calling, place, wanted)


def _set_times(calling: Calling, place: TargetPlace, wanted: tuple[int, ...]) -> None:
    import time

    entry = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
    calling.step().note(place.path, place.folder, place.name)
    pairs = zip(wanted[::2], wanted[1::2], (entry.st_atime_ns, entry.st_mtime_ns), strict=True)
    ns = [
        time.time_ns() if nano == _UTIME_NOW else now if nano == _UTIME_OMIT else seconds * 1_000_000_000 + nano
        for seconds, nano, now in pairs
    ]
    os.utime(place.name, ns=(ns[0], ns[1]), dir_fd=place.folder, follow_symlinks=False)


def _access(call: StoppedCall, calling: Calling) -> None:
    _may(call, calling, AT_FDCWD, *call.arguments[:2])


def _faccessat(call: StoppedCall, calling: Calling) -> None:
    folder, path, mode, *_ = call.arguments
    _may(call, calling, _signed(folder), path, mode)


def _may(call: StoppedCall, calling: Calling, at: int, address: int, mode: int) -> None:
    with _place(call, calling, at, address, follow=True) as place, _opened(place) as handle:
        if not os.access(f"/proc/self/fd/{handle}", mode & 7):
            raise OSError(errno.EACCES, "access")


def _bind(call: StoppedCall, calling: Calling) -> None:
    """A socket in the file system; every other is the kernel's."""
    number, address, length, *_ = call.arguments
    try:
        whole = read_memory(call.thread, address, min(length & 0xFFFFFFFF, 110))
    except OSError as error:
        raise NotOurs from error
    path = whole[2:].partition(b"\0")[0]
    if int.from_bytes(whole[:2], sys.byteorder) != socket.AF_UNIX or not path:
        raise NotOurs
    found = place_of_path(calling.workspace, call.thread, AT_FDCWD, os.fsdecode(path), follow=False)
    with found as place:
        if place is None or not place.path:
            raise NotOurs
        _allow(calling, place.path)
        calling.step().note(place.path, place.folder, place.name)
        with socket.socket(fileno=same_descriptor(call.thread, number)) as theirs, _umask(call.thread):
            theirs.bind(f"/proc/self/fd/{place.folder}/{place.name}")


_CALLS: Mapping[str, Callable[[StoppedCall, Calling], Handed | None]] = {
    "open": _open,
    "openat": _openat,
    "openat2": _openat2,
    "creat": _creat,
    "unlink": _unlink,
    "unlinkat": _unlinkat,
    "rmdir": _rmdir,
    "rename": _rename,
    "renameat": _renameat,
    "renameat2": _renameat2,
    "mkdir": _mkdir,
    "mkdirat": _mkdirat,
    "mknod": _mknod,
    "mknodat": _mknodat,
    "symlink": _symlink,
    "symlinkat": _symlinkat,
    "link": _link,
    "linkat": _linkat,
    "truncate": _truncate,
    "chmod": _chmod,
    "fchmodat": _fchmodat,
    "fchmodat2": _fchmodat2,
    "fchmod": _fchmod,
    "chown": _chown,
    "lchown": _chown,
    "fchownat": _fchownat,
    "fchown": _fchown,
    "utimensat": _utimensat,
    "utimes": _utimes,
    "futimesat": _futimesat,
    "utime": _utime,
    "bind": _bind,
    "access": _access,
    "faccessat": _faccessat,
    "faccessat2": _faccessat,
}
