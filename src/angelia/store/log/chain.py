"""The checksum of an entry, over itself and the one before it: what was altered, left out or swapped does not fit.

A fork's entries keep the checksums that they were written with, in another log and under another epoch. Its first entry
says in which log (`KeptSums`), and `-3 - epoch` stands for the epoch. Forks of older versions have sums of their own,
made under the epoch `COPIED`; so has a fork of which an entry was written anew.
"""

from hashlib import blake2b
from typing import NamedTuple

from msgspec.structs import replace

from angelia.core import codec
from angelia.core.entry import AnyFact, ConversationOpened, ForkedFrom, KeptSums
from angelia.core.ids import ConversationId

SIZE = 16
"""Bytes of a checksum. It tells damage and edits, and is no signature: who can write the file can write it anew."""

COPIED = -1
"""The epoch of an entry that a fork has from another log, with a checksum made for it; lower ones keep theirs."""

KEEPING = f"CASE WHEN epoch < {COPIED} THEN epoch ELSE -3 - epoch END"
"""As SQL: the epoch under which a fork has an entry of another log, which may have it from a third."""

FIRST = b""
"""What stands in for the checksum before a conversation's first entry."""


class StoredEntry(NamedTuple):
    """An entry as it is stored, in the order of the columns of `COLUMNS`."""

    conversation: str
    seq: int
    at: int
    epoch: int
    version: int
    kind: str
    body: bytes
    sum: bytes


Unsigned = tuple[str, int, int, int, int, str, bytes]
"""A `StoredEntry` without its checksum."""

COLUMNS = ", ".join(StoredEntry._fields)


def checksum(before: bytes, row: Unsigned) -> bytes:
    """The checksum of an entry that follows one with the checksum `before`; `row` is a `StoredEntry` without its own.

    >>> one = ("c1", 1, 0, 0, 1, "Said", b"{}")
    >>> checksum(FIRST, one) == checksum(FIRST, one), checksum(b"else", one) == checksum(FIRST, one)
    (True, False)
    """
    conversation, seq, at, epoch, version, kind, body = row
    # Nothing before the first NUL can hold one, and `before` has one length but for the first entry: no two rows are
    # the same bytes. Without `key`, which would cost a block of its own for each entry.
    head = f"{seq} {at} {epoch} {version} {kind} {conversation}\0".encode()
    return blake2b(head + before + body, digest_size=SIZE).digest()


def is_copied(row: StoredEntry) -> bool:
    """Whether a fork has it from another log: what it says happened there, and adds nothing twice."""
    return row.epoch <= COPIED


def kept_sums(first: StoredEntry) -> KeptSums | None:
    """Where a conversation's entries have their checksums from, by its first one; None if all are its own.

    Raises:
        CodecError: it cannot be read.
    """
    fact = codec.decode(first.body, version=first.version)
    return fact.fork.sums if isinstance(fact, ConversationOpened) and fact.fork else None


def sums_for(fork: ForkedFrom, first: StoredEntry) -> KeptSums | None:
    """Where a fork's entries have their checksums from, by the first one of the log that it is of."""
    past = kept_sums(first)
    logs: list[tuple[ConversationId, int]] = []
    for log, upto in (*(past.logs if past else ()), (fork.of, fork.upto)):
        if not logs or logs[-1][1] < min(upto, fork.upto):
            logs.append((log, min(upto, fork.upto)))
    return KeptSums(past.after if past else first.sum, tuple(logs)) if fork.upto > 1 else None


def without_sums(first: AnyFact) -> AnyFact:
    """The first entry of a log whose checksums are all its own from now on."""
    if isinstance(first, ConversationOpened) and first.fork:
        return replace(first, fork=replace(first.fork, sums=None))
    return first


def expected(before: bytes, row: Unsigned, sums: KeptSums | None) -> bytes:
    """The checksum of an entry after one with the checksum `before`, in a log that has some from others (`sums`)."""
    conversation, seq, at, epoch, version, kind, body = row
    if epoch >= COPIED:
        return checksum(before, row)
    log = next((log for log, upto in sums.logs if seq <= upto), conversation) if sums else conversation
    return checksum(sums.after if sums and seq == 2 else before, (log, seq, at, -3 - epoch, version, kind, body))


def fits(before: bytes, row: StoredEntry, sums: KeptSums | None) -> bool:
    """Whether an entry is the one that was stored after the one with the checksum `before`; see `expected`."""
    return expected(before, row[:7], sums) == row.sum
