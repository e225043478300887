"""Calls that change what is known of a file, cut it, or ask whether it may be written."""

import errno
import os
import socket
import stat
import struct
import sys
from pathlib import Path

from angelia.sandboxes.undo.call_context import (
    CallContext,
    NotOurs,
    allow,
    changed_place,
    opened,
    signed,
    with_umask,
)
from angelia.sandboxes.undo.seccomp import StoppedCall
from angelia.sandboxes.undo.target import (
    AT_FDCWD,
    TargetPlace,
    place_of_descriptor,
    place_of_path,
    read_memory,
    read_path,
    same_descriptor,
)

_AT_SYMLINK_NOFOLLOW = 0x100
_AT_EMPTY_PATH = 0x1000
_UTIME_NOW = (1 << 30) - 1
_UTIME_OMIT = (1 << 30) - 2
_BITS = 0o777 | stat.S_ISVTX


def truncate_call(call: StoppedCall, context: CallContext) -> None:
    """See truncate(2)."""
    path, length, *_ = call.arguments
    with changed_place(call, context, AT_FDCWD, path, follow=True) as place, opened(place) as handle:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise NotOurs
        step = context.step()
        step.note(place.path, place.folder, place.name)
        step.keep(handle)
        os.truncate(f"/proc/self/fd/{handle}", length)


def chmod_call(call: StoppedCall, context: CallContext) -> None:
    """See chmod(2)."""
    _sets_mode(call, context, AT_FDCWD, *call.arguments[:2], follow=True)


def fchmodat_call(call: StoppedCall, context: CallContext) -> None:
    """See fchmodat(2)."""
    folder, path, mode, *_ = call.arguments
    _sets_mode(call, context, signed(folder), path, mode, follow=True)


def fchmodat2_call(call: StoppedCall, context: CallContext) -> None:
    """See fchmodat2(2)."""
    folder, path, mode, flags, *_ = call.arguments
    if flags & _AT_EMPTY_PATH:
        raise OSError(errno.EOPNOTSUPP, "fchmodat2")
    _sets_mode(call, context, signed(folder), path, mode, follow=not flags & _AT_SYMLINK_NOFOLLOW)


def _sets_mode(call: StoppedCall, context: CallContext, at: int, address: int, mode: int, *, follow: bool) -> None:
    with changed_place(call, context, at, address, follow=follow) as place:
        _set_mode(context, place, mode)


def fchmod_call(call: StoppedCall, context: CallContext) -> None:
    """See fchmod(2)."""
    number, mode, *_ = call.arguments
    with place_of_descriptor(context.workspace, call.thread, number) as place:
        if place is None or not place.path:
            raise NotOurs
        allow(context, place.path)
        _set_mode(context, place, mode)


def _set_mode(context: CallContext, place: TargetPlace, mode: int) -> None:
    with opened(place) as handle:
        kind = os.fstat(handle).st_mode
        if stat.S_ISLNK(kind):
            raise OSError(errno.EOPNOTSUPP, "chmod")
        context.step().note(place.path, place.folder, place.name)
        allowed = _BITS | (stat.S_ISGID if stat.S_ISDIR(kind) else 0)
        Path(f"/proc/self/fd/{handle}").chmod(mode & allowed)


def chown_call(call: StoppedCall, context: CallContext) -> None:
    """See chown(2)."""
    path, user, group, *_ = call.arguments
    _sets_owner(call, context, (AT_FDCWD, path), (user, group), follow=True)


def lchown_call(call: StoppedCall, context: CallContext) -> None:
    """See lchown(2)."""
    path, user, group, *_ = call.arguments
    _sets_owner(call, context, (AT_FDCWD, path), (user, group), follow=False)


def fchownat_call(call: StoppedCall, context: CallContext) -> None:
    """See fchownat(2)."""
    folder, path, user, group, flags, *_ = call.arguments
    if flags & _AT_EMPTY_PATH and not read_path(call.thread, path):
        _sets_owner_of_descriptor(call, context, folder, (user, group))
        return
    _sets_owner(call, context, (signed(folder), path), (user, group), follow=not flags & _AT_SYMLINK_NOFOLLOW)


def _sets_owner(
    call: StoppedCall, context: CallContext, where: tuple[int, int], owners: tuple[int, int], *, follow: bool
) -> None:
    with changed_place(call, context, *where, follow=follow) as place:
        _own(context, place, owners)


def fchown_call(call: StoppedCall, context: CallContext) -> None:
    """See fchown(2)."""
    number, user, group, *_ = call.arguments
    _sets_owner_of_descriptor(call, context, number, (user, group))


def _sets_owner_of_descriptor(call: StoppedCall, context: CallContext, number: int, owners: tuple[int, int]) -> None:
    with place_of_descriptor(context.workspace, call.thread, number) as place:
        if place is None or not place.path:
            raise NotOurs
        allow(context, place.path)
        _own(context, place, owners)


def _own(context: CallContext, place: TargetPlace, owners: tuple[int, int]) -> None:
    """A command knows no user and no group but its own (user_namespaces(7)): it may give itself what it may have."""
    with opened(place) as handle:
        entry = os.fstat(handle)
        user, group = (signed(one) for one in owners)
        if user not in (-1, entry.st_uid, os.geteuid()) or group not in (-1, entry.st_gid, os.getegid()):
            raise OSError(errno.EINVAL, "chown")
        if user in (-1, entry.st_uid) and group in (-1, entry.st_gid):
            return
        context.step().note(place.path, place.folder, place.name)
        os.chown(place.name, user, group, dir_fd=place.folder, follow_symlinks=False)


def utimensat_call(call: StoppedCall, context: CallContext) -> None:
    """See utimensat(2)."""
    folder, path, times, flags, *_ = call.arguments
    wanted = struct.unpack("=qqqq", read_memory(call.thread, times, 32)) if times else (0, _UTIME_NOW, 0, _UTIME_NOW)
    if not path:
        with place_of_descriptor(context.workspace, call.thread, signed(folder)) as place:
            if place is None or not place.path:
                raise NotOurs
            allow(context, place.path)
            _set_times(context, place, wanted)
        return
    with changed_place(call, context, signed(folder), path, follow=not flags & _AT_SYMLINK_NOFOLLOW) as place:
        _set_times(context, place, wanted)


def utimes_call(call: StoppedCall, context: CallContext) -> None:
    """See utimes(2)."""
    _sets_times(call, context, AT_FDCWD, *call.arguments[:2])


def futimesat_call(call: StoppedCall, context: CallContext) -> None:
    """See futimesat(2)."""
    folder, path, times, *_ = call.arguments
    _sets_times(call, context, signed(folder), path, times)


def _sets_times(call: StoppedCall, context: CallContext, at: int, address: int, times: int) -> None:
    if times:
        seen, micro_seen, changed, micro = struct.unpack("=qqqq", read_memory(call.thread, times, 32))
        wanted = (seen, micro_seen * 1000, changed, micro * 1000)
    else:
        wanted = (0, _UTIME_NOW, 0, _UTIME_NOW)
    with changed_place(call, context, at, address, follow=True) as place:
        _set_times(context, place, wanted)


def utime_call(call: StoppedCall, context: CallContext) -> None:
    """See utime(2)."""
    path, times, *_ = call.arguments
    wanted = (0, _UTIME_NOW, 0, _UTIME_NOW)
    if times:
        seen, changed = struct.unpack("=qq", read_memory(call.thread, times, 16))
        wanted = (seen, 0, changed, 0)
    with changed_place(call, context, AT_FDCWD, path, follow=True) as place:
        _set_times(context, place, wanted)


def _set_times(context: CallContext, place: TargetPlace, wanted: tuple[int, ...]) -> None:
    import time

    entry = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
    context.step().note(place.path, place.folder, place.name)
    pairs = zip(wanted[::2], wanted[1::2], (entry.st_atime_ns, entry.st_mtime_ns), strict=True)
    ns = [
        time.time_ns() if nano == _UTIME_NOW else now if nano == _UTIME_OMIT else seconds * 1_000_000_000 + nano
        for seconds, nano, now in pairs
    ]
    os.utime(place.name, ns=(ns[0], ns[1]), dir_fd=place.folder, follow_symlinks=False)


def access_call(call: StoppedCall, context: CallContext) -> None:
    """See access(2)."""
    _may(call, context, AT_FDCWD, *call.arguments[:2])


def faccessat_call(call: StoppedCall, context: CallContext) -> None:
    """See faccessat(2)."""
    folder, path, mode, *_ = call.arguments
    _may(call, context, signed(folder), path, mode)


def _may(call: StoppedCall, context: CallContext, at: int, address: int, mode: int) -> None:
    with changed_place(call, context, at, address, follow=True) as place, opened(place) as handle:
        if not os.access(f"/proc/self/fd/{handle}", mode & 7):
            raise OSError(errno.EACCES, "access")


def bind_call(call: StoppedCall, context: CallContext) -> None:
    """A socket in the file system; every other is the kernel's."""
    number, address, length, *_ = call.arguments
    try:
        whole = read_memory(call.thread, address, min(length & 0xFFFFFFFF, 110))
    except OSError as error:
        raise NotOurs from error
    path = whole[2:].partition(b"\0")[0]
    if int.from_bytes(whole[:2], sys.byteorder) != socket.AF_UNIX or not path:
        raise NotOurs
    found = place_of_path(context.workspace, call.thread, AT_FDCWD, os.fsdecode(path), follow=False)
    with found as place:
        if place is None or not place.path:
            raise NotOurs
        allow(context, place.path)
        with socket.socket(fileno=same_descriptor(call.thread, number)) as theirs, with_umask(call.thread):
            context.step().note(place.path, place.folder, place.name)
            theirs.bind(f"/proc/self/fd/{place.folder}/{place.name}")
