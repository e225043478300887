"""`angelia export --follow`: the log as JSON lines, into a file that goes on where it ended, or to standard output."""

import fcntl
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct

from angelia.core.codec import to_json_line
from angelia.core.crash import crash_point
from angelia.core.errors import BadInput
from angelia.faces.words.output import echo_json
from angelia.service.stored_home import StoredHome
from angelia.store.log.examined import UnreadableEntry
from angelia.store.log.follow import BEGINNING, KEPT, FollowedEntry, LogMark, follow, read_mark

_TAIL = 64 * 1024 * 1024
"""Bytes at the end of a file in which its last marks are looked for."""


_HEAD = b'{"mark":"'
"""How every line begins."""


class _Line(Struct, frozen=True):
    mark: str


async def follow_to_output(home: StoredHome, after: str) -> None:
    """Every entry after the mark, or all; until it is interrupted.

    Raises:
        BadInput: it is no mark.
        NotFound: as `follow`.
    """
    async for entries in follow(home.db, [read_mark(after) if after else BEGINNING]):
        echo_json(b"\n".join(map(as_line, entries)))


async def follow_to_file(home: StoredHome, path: Path) -> None:
    """The same, into a file; one that is there already goes on after its last whole line.

    Raises:
        BadInput: the file cannot be used, is no such file, or somebody else writes it.
        NotFound: as `follow`.
    """
    with _opened(path) as file:
        async for entries in follow(home.db, _known(file, path)):
            crash_point("follow.before_write")
            file.write(b"".join(as_line(one) + b"\n" for one in entries))
            file.flush()
            os.fsync(file.fileno())
            crash_point("follow.after_write")


def as_line(one: FollowedEntry) -> bytes:
    """An entry as `core.codec.to_json_line` writes it, with its mark and its conversation before; of one that cannot be
    read, why.
    """
    named = {"mark": str(one.mark), "conversation": one.mark.conversation}
    if isinstance(one.entry, UnreadableEntry):
        return msgspec.json.encode({**named, "seq": one.mark.seq, "at": one.entry.at, "unreadable": one.entry.why})
    head = msgspec.json.encode(named)
    return head[:-1] + b"," + to_json_line(one.entry)[1:]


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    with ExitStack() as stack:
        try:
            file = stack.enter_context(open(path, "a+b", opener=lambda name, flags: os.open(name, flags, 0o600)))
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(f"Somebody else follows the log into {path}.", then="Name another file.") from None
        except OSError as error:
            raise BadInput(f"{path} cannot be written: {error.strerror or error}.") from error
        yield file


def _known(file: BinaryIO, path: Path) -> Iterable[LogMark]:
    """The marks of the last whole lines; what a killed life left after them is cut off."""
    size = file.seek(0, os.SEEK_END)
    begin = max(0, size - _TAIL)
    file.seek(begin)
    tail = file.read(size - begin)
    whole = tail[: tail.rfind(b"\n") + 1]
    if (begin and not whole) or (not begin and tail[: len(_HEAD)] != _HEAD[: len(tail)]):
        raise _not_ours(path)
    lines = whole.splitlines()[1 if begin else 0 :]
    marks = deque([] if begin else [BEGINNING], KEPT)
    marks.extend(_marks(lines[-KEPT:], path))
    file.truncate(begin + len(whole))
    file.seek(0, os.SEEK_END)
    return marks


def _marks(lines: Sequence[bytes], path: Path) -> list[LogMark]:
    try:
        return [read_mark(msgspec.json.decode(line, type=_Line).mark) for line in lines]
    except msgspec.MsgspecError as error:
        raise _not_ours(path) from error


def _not_ours(path: Path) -> BadInput:
    return BadInput(f"{path} is not what `export --follow` has written.", then="Name another file; it stays as it is.")
