"""No file of a confined command becomes set-user-id: a seccomp filter, as the bytes that bubblewrap loads (seccomp(2)).

Such a file in the folder would run with the person's rights for everybody else on the machine who may enter there.
Whatever sets a file's mode is refused with EPERM where the bit is among it: chmod and its kin, and what makes files.
Calls whose mode cannot be seen from outside are told not to be there (ENOSYS), and programs then use the others:
openat2, whose mode lies in memory, and io_uring, whose operations pass no filter. Set-group-id stays allowed, since
shared repositories of Git set it on folders, which look the same here.

Numbers are from the kernel's tables of each architecture (arch/*/entry/syscalls, asm-generic/unistd.h).
"""

import platform
import struct
from collections.abc import Iterator, Mapping
from functools import cache

from msgspec import Struct

_LOAD, _EQUAL, _ANY_OF, _RETURN = 0x20, 0x15, 0x45, 0x06
"""BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_JMP|JSET|K, BPF_RET|K (linux/bpf_common.h)."""
_NUMBER, _ARCHITECTURE = 0, 4
_ALLOW, _EPERM, _ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026
"""SECCOMP_RET_ALLOW, and SECCOMP_RET_ERRNO with a number."""
_SETUID, _MAKES = 0o4000, 0o100 | 0o20000000
"""S_ISUID; O_CREAT, and the bit of O_TMPFILE that is its own."""
_X32 = 0x40000000


class CallNumbers(Struct, frozen=True):
    """Numbers of calls on one architecture: `modes` by the place of their mode, `opens` by that of their flags, after
    which the mode stands.
    """

    architecture: int
    modes: Mapping[int, int]
    opens: Mapping[int, int]


_X86_64 = CallNumbers(0xC000003E, {90: 1, 91: 1, 85: 1, 133: 1, 259: 2, 268: 2, 452: 2}, {2: 1, 257: 2})
_I386 = CallNumbers(0x40000003, {15: 1, 94: 1, 8: 1, 14: 1, 297: 2, 306: 2, 452: 2}, {5: 1, 295: 2})
_AARCH64 = CallNumbers(0xC00000B7, {52: 1, 33: 2, 53: 2, 452: 2}, {56: 2})
_ARM = CallNumbers(0x40000028, {15: 1, 94: 1, 8: 1, 14: 1, 324: 2, 333: 2, 452: 2}, {5: 1, 322: 2})
_RISCV64 = CallNumbers(0xC00000F3, {52: 1, 33: 2, 53: 2, 452: 2}, {56: 2})
_MACHINES = {"x86_64": (_X86_64, _I386), "aarch64": (_AARCH64, _ARM), "riscv64": (_RISCV64,)}
_UNSEEN = (437, 425)
"""openat2 and io_uring_setup: the same everywhere."""


@cache
def setuid_filter() -> bytes:
    """The filter for this machine; empty where its calls are not known, and then nothing holds."""
    tables = _MACHINES.get(platform.machine(), ())
    if not tables:
        return b""
    blocks = [_block(table) for table in tables]
    program = [_step(_LOAD, _ARCHITECTURE)]
    for table, block in zip(tables, blocks, strict=True):
        program += [_step(_EQUAL, table.architecture, 0, len(block)), *block]
    return b"".join([*program, _step(_RETURN, _ENOSYS)])


def _block(table: CallNumbers) -> list[bytes]:
    return [_step(_LOAD, _NUMBER), *_checks(table), _step(_RETURN, _ALLOW)]


def _checks(table: CallNumbers) -> Iterator[bytes]:
    """Each ends in an answer, or goes on with the number still loaded."""
    if table is _X86_64:
        yield from (_step(_ANY_OF, _X32, 0, 1), _step(_RETURN, _ENOSYS))
    for number in _UNSEEN:
        yield from (_step(_EQUAL, number, 0, 1), _step(_RETURN, _ENOSYS))
    for number, place in table.modes.items():
        yield from (_step(_EQUAL, number, 0, 4), *_refused_with_the_bit(place))
    for number, place in table.opens.items():
        makes = (_step(_LOAD, _argument(place)), _step(_ANY_OF, _MAKES, 1, 0), _step(_RETURN, _ALLOW))
        yield from (_step(_EQUAL, number, 0, 7), *makes, *_refused_with_the_bit(place + 1))


def _refused_with_the_bit(place: int) -> Iterator[bytes]:
    yield _step(_LOAD, _argument(place))
    yield _step(_ANY_OF, _SETUID, 0, 1)
    yield _step(_RETURN, _EPERM)
    yield _step(_RETURN, _ALLOW)


def _argument(place: int) -> int:
    """Where the lower half of an argument lies in `struct seccomp_data`; all these machines are little-endian."""
    return 16 + 8 * place


def _step(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    """`struct sock_filter`."""
    return struct.pack("=HBBI", code, if_so, if_not, value)
