"""A loss of power, played on a home whose process was killed: what nobody had flushed is gone, or half there.

What was flushed stays, as disks promise: of the write-ahead log all up to its last commit. What comes after that in the
file may be there in part, which is the hardest (https://sqlite.org/fileformat2.html#the_write_ahead_log). The index of
that log is the kernel's memory, and the journal of tips is flushed once a second, so its last line may be cut.
"""

import os
from pathlib import Path

from angelia.store.sql.database import FILE
from angelia.store.sql.tips import FILE as TIPS

_HEADER, _FRAME = 32, 24
"""Bytes of the headers of a write-ahead log, and of a page in it."""
_CUT = 9
"""Bytes that are cut off the last line of a journal."""


def lose_power(home: Path) -> None:
    """Leave of a home what a loss of power leaves; nobody may have it open."""
    (home / f"{FILE}-shm").unlink(missing_ok=True)
    log, tips = home / f"{FILE}-wal", home / TIPS
    if log.exists() and (whole := log.read_bytes()):
        frame = _FRAME + int.from_bytes(whole[8:12], "big")
        flushed = committed(whole)
        half = whole[flushed : flushed + frame // 2] or whole[_HEADER : _HEADER + frame // 2]
        log.write_bytes(whole[:flushed] + half)
    if tips.exists():
        os.truncate(tips, max(tips.stat().st_size - _CUT, 0))


def committed(log: bytes) -> int:
    """The bytes of a write-ahead log up to the end of its last commit."""
    page, salts, end = int.from_bytes(log[8:12], "big"), log[16:24], _HEADER
    for at in range(_HEADER, len(log) - _FRAME - page + 1, _FRAME + page):
        if log[at + 8 : at + 16] != salts:
            break  # of a round before this one
        if any(log[at + 4 : at + 8]):  # how large the file is from then on; 0 in the middle of a transaction
            end = at + _FRAME + page
    return end
