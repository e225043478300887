"""The last entry of every conversation, kept beside the database: by it a log is known that lost its end.

`angelia.tips` is a journal. A line is added after each commit, so a tip is never of an entry that is not durable: the
log may be ahead of the tips (by what was committed in the last second before a loss of power), and never behind them.
A log that is behind has been cut off, emptied, or is another. Writing a line costs some microseconds; it is flushed to
the disk at most once a second, and once more when nothing has been written for a second.

Before a conversation is erased a line says so, flushed: whether the erasing came to its end, its tip binds no more. Nor
do the tips so far of one in which entries are about to say something else.
"""

import errno
import fcntl
import logging
import os
import time
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from angelia.core.crash import crash_point
from angelia.core.ids import ConversationId, sortable_id

FILE = "angelia.tips"
SYNC_S = 1.0
"""Seconds for which a tip may be known to the system alone and not to the disk."""
_TAIL = 8 * 1024
"""Bytes from the end of the journal that are looked at when a store is opened."""
_REWRITTEN = 64 * 1024
"""Bytes below which a journal is not worth writing anew."""

logger = logging.getLogger("angelia.store")


class Tip(Struct, frozen=True):
    """The last entry of a conversation: its number there, its row among all, its checksum."""

    conversation: ConversationId
    seq: int
    place: int
    sum: bytes

    def line(self) -> bytes:
        """As it is written."""
        return _line(f"tip {self.place} {self.conversation} {self.seq} {self.sum.hex()}")


class Tips(Struct, frozen=True):
    """What a journal says: the newest tip of each conversation; those that may be gone; lines that cannot be read."""

    known: Mapping[ConversationId, Tip]
    erasing: frozenset[ConversationId] = frozenset()
    unreadable: int = 0

    @property
    def newest(self) -> Tip | None:
        """The tip of the store: the newest entry of all conversations that are not being erased."""
        there = [tip for tip in self.known.values() if tip.conversation not in self.erasing]
        return max(there, key=lambda tip: tip.place, default=None)


class TipsJournal:
    """The journal of one home, for one process. `follow`, `written` and `erasing` are called in the writing thread."""

    def __init__(self, home: Path) -> None:
        self._path = home / FILE
        self._pending: dict[ConversationId, Tip] = {}
        self._file = -1
        self._unsynced_since = 0.0

    def read(self) -> Tips:
        """Everything it says; read it before the log that it is held against.

        Raises:
            OSError: it is there, and cannot be read.
        """
        return _folded(self._bytes())

    def read_end(self) -> Tips:
        """What its last lines say."""
        return _folded(self._bytes(_TAIL).partition(b"\n")[2] if self._size() > _TAIL else self._bytes())

    def of(self, conversation: ConversationId) -> Tip | None:
        """The tip of one conversation; None if it is not known, or is being erased."""
        found = _folded(line for line in self._bytes().splitlines() if conversation.encode() in line)
        return None if conversation in found.erasing else found.known.get(conversation)

    @property
    def exists(self) -> bool:
        """Whether there is a journal at all; a home that was copied by hand may have none."""
        return self._path.exists()

    def begin(self) -> None:
        """What was noted for an earlier commit that failed is forgotten."""
        self._pending.clear()

    def follow(self, tip: Tip) -> None:
        """The transaction that is under way ends a conversation here."""
        self._pending[tip.conversation] = tip

    def written(self) -> None:
        """The transaction is durable: so are, soon, its tips."""
        if self._pending:
            lines = b"".join(tip.line() for tip in self._pending.values())
            self._pending.clear()
            try:
                self._append(lines)
                now = time.monotonic()
                self._unsynced_since = self._unsynced_since or now
                if now - self._unsynced_since >= SYNC_S:
                    self.sync()
            except OSError as error:  # the entries are safe, and that an end was lost is seen by older tips too
                logger.warning("the tips of the log cannot be written: %s", error)

    def erasing(self, conversation: ConversationId) -> None:
        """The transaction that is under way erases a conversation; on the disk before that is.

        Raises:
            OSError: it cannot be said, so nothing must be erased.
        """
        self._announce(f"erasing {conversation}")

    def rewriting(self, conversation: ConversationId, upto: int) -> None:
        """The transaction that is under way writes entries of a conversation anew, the last of which has the number
        `upto`: tips up to there bind no more. On the disk before that is.

        Raises:
            OSError: it cannot be said, so nothing must be written.
        """
        self._announce(f"rewriting {conversation} {upto}")

    def _announce(self, what: str) -> None:
        self._open()
        fcntl.flock(self._file, fcntl.LOCK_SH)  # so that this line is in the journal that is written anew, too
        try:
            self._append(_line(what))
            os.fsync(self._file)
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def sync(self) -> None:
        """Flush what was written to the disk."""
        if self._unsynced_since:
            self._unsynced_since = 0.0
            try:
                os.fsync(self._file)
            except OSError as error:
                logger.warning("the tips of the log cannot be flushed to the disk: %s", error)

    def rewrite(self, tips: Iterable[Tip] | None = None) -> None:
        """Write the journal anew: with these tips, which are the store's from now on, or with those that still count.

        Without tips a journal stays that would hardly become smaller.

        Raises:
            OSError: it cannot be written; the one before is still there.
        """
        self._open()
        fcntl.flock(self._file, fcntl.LOCK_EX)  # a tip that comes meanwhile may be lost: its log is ahead, no more
        try:
            if tips is None:
                old = self.read()
                live = [tip for tip in old.known.values() if tip.conversation not in old.erasing]
                if self._size() < max(_REWRITTEN, 2 * sum(len(tip.line()) for tip in live)):
                    return
                tips = live
            self._replace(b"".join(tip.line() for tip in sorted(tips, key=lambda tip: tip.place)))
        finally:
            self._close()

    def close(self) -> None:
        """Flush it, and let go."""
        self.sync()
        self._close()

    def _append(self, lines: bytes) -> None:
        while True:
            if self._file < 0:
                self._open()
            self._write(lines)
            crash_point("tips.written")
            if os.fstat(self._file).st_nlink:
                return
            self._close()  # another process has written it anew

    def _write(self, lines: bytes) -> None:
        """A full disk may take a part of it: that is taken back, or the next line would stand right behind it.

        Raises:
            OSError: nothing was written.
        """
        size = os.write(self._file, lines)
        if size == len(lines):
            return
        fcntl.flock(self._file, fcntl.LOCK_EX)  # nobody announces anything meanwhile; a tip that is lost is only a tip
        try:
            end = os.lseek(self._file, 0, os.SEEK_CUR)
            if os.fstat(self._file).st_size == end:
                os.ftruncate(self._file, end - size)
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))

    def _replace(self, content: bytes) -> None:
        new = self._path.with_name(f"{FILE}.{sortable_id()}")
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:  # noqa: PTH123
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            crash_point("tips.before_rename")
            new.replace(self._path)
        finally:
            new.unlink(missing_ok=True)
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _open(self) -> None:
        if self._file < 0:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._end_a_line()

    def _end_a_line(self) -> None:
        """What a loss of power left of a last line goes: whatever is said next would stand right behind it."""
        fcntl.flock(self._file, fcntl.LOCK_EX)  # nobody announces anything meanwhile; a tip that is lost is only a tip
        try:
            size = os.fstat(self._file).st_size
            end = os.pread(self._file, _TAIL, max(size - _TAIL, 0))
            if not end.endswith(b"\n"):
                os.ftruncate(self._file, size - len(end) + end.rfind(b"\n") + 1)
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file, self._unsynced_since = -1, 0.0

    def _size(self) -> int:
        with suppress(FileNotFoundError):
            return self._path.stat().st_size
        return 0

    def _bytes(self, most: int = 0) -> bytes:
        with suppress(FileNotFoundError, NotADirectoryError), self._path.open("rb") as file:
            if most:
                file.seek(-min(most, self._size()), os.SEEK_END)
            return file.read()
        return b""


def _line(said: str) -> bytes:
    return f"{said} {zlib.crc32(said.encode()):08x}\n".encode()


def _folded(content: bytes | Iterable[bytes]) -> Tips:
    known: dict[ConversationId, Tip] = {}
    erasing: set[ConversationId] = set()
    rewritten: dict[ConversationId, int] = {}
    unreadable = 0
    # What a loss of power leaves of a line that was not flushed may be zeros, with the next line right behind them; or
    # the beginning of the last one, which says nothing.
    for line in content.split(b"\n")[:-1] if isinstance(content, bytes) else content:
        said, _, check = line.lstrip(b"\0").decode("ascii", "replace").rpartition(" ")
        if check != f"{zlib.crc32(said.encode()):08x}":
            unreadable += bool(said or check)
            continue
        match said.split(" "):
            case ["tip", place, name, seq, digest]:
                tip = Tip(ConversationId(name), int(seq), int(place), bytes.fromhex(digest))
                if max(rewritten.get(tip.conversation, 0), _seq(known.get(tip.conversation))) < tip.seq:
                    known[tip.conversation] = tip
            case ["rewriting", name, upto]:
                own = ConversationId(name)
                rewritten[own] = int(upto)
                if _seq(known.get(own)) <= int(upto):
                    known.pop(own, None)
            case ["erasing", name]:
                erasing.add(ConversationId(name))
            case _:
                unreadable += 1
    return Tips(known, frozenset(erasing), unreadable)


def _seq(tip: Tip | None) -> int:
    return tip.seq if tip else 0
