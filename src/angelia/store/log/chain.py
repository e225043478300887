"""The checksum of an entry, over itself and the one before it: what was altered, left out or swapped does not fit."""

from hashlib import blake2b
from typing import NamedTuple

SIZE = 16
"""Bytes of a checksum. It tells damage and edits, and is no signature: who can write the file can write it anew."""

COPIED = -1
"""The epoch of an entry that a fork has from another log: what it says happened there, and adds nothing twice."""

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


def fits(before: bytes, row: StoredEntry) -> bool:
    """Whether an entry is the one that was stored after the one with the checksum `before`."""
    return checksum(before, row[:7]) == row.sum
