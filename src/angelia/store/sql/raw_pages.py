"""Entries read from the bytes of a database, page by page, without SQLite: what it calls malformed is mostly whole.

Formats: https://www.sqlite.org/fileformat2.html, sections 1.3 (header), 1.6 (b-tree pages and overflow), 2.1 (records)
and 4 (write-ahead log). A page that makes no sense is passed over; whatever is found is looked through by its checksum.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

from angelia.store.log.chain import SIZE, StoredEntry

_HEADER = 100
_LEAF = 0x0D
_USUAL = 4096
_FRAME = 24
_LOG_HEADER = 32
_MOST_BYTES = 1 << 30
"""Of one row, as SQLite has it."""


class Pages:
    """The pages of a database file and of its write-ahead log."""

    def __init__(self, path: Path) -> None:
        self._file = path.read_bytes() if path.exists() else b""
        log = path.with_name(f"{path.name}-wal")
        self._log = log.read_bytes() if log.exists() else b""
        self.size = self._page_size()
        self._usable = self.size - (self._file[20] if self._file[:6] == b"SQLite" else 0)
        self._latest: dict[int, bytes] = {}

    def entries(self) -> Iterator[StoredEntry]:
        """Whatever looks like a row of the log, several times where it stands in several versions of a page."""
        images = list(self._images())
        self._latest = dict(images)
        for number, page in images:
            yield from self._rows(page, _HEADER if number == 1 else 0)

    def _page_size(self) -> int:
        said = [struct.unpack_from(">H", self._file, 16)[0]] if len(self._file) > _HEADER else []
        said += [struct.unpack_from(">I", self._log, 8)[0]] if len(self._log) > _LOG_HEADER else []
        known = [65536 if size == 1 else size for size in said]
        return next((size for size in known if 512 <= size <= 65536 and size & (size - 1) == 0), _USUAL)

    def _images(self) -> Iterator[tuple[int, bytes]]:
        """Every version of every page, older ones first."""
        for at in range(0, len(self._file), self.size):
            yield at // self.size + 1, self._file[at : at + self.size].ljust(self.size, b"\0")
        salt = self._log[16:24]
        # A frame is found by its salt, wherever it stands: bytes before it may be missing or too many.
        at = self._log.find(salt, _LOG_HEADER) if len(salt) == 8 else -1
        while at >= 8:
            (number,) = struct.unpack_from(">I", self._log, at - 8)
            start = at - 8 + _FRAME
            yield number, self._log[start : start + self.size].ljust(self.size, b"\0")
            at = self._log.find(salt, start)

    def _rows(self, page: bytes, header: int) -> Iterator[StoredEntry]:
        if page[header] != _LEAF:
            return
        (count,) = struct.unpack_from(">H", page, header + 3)
        for index in range(min(count, self.size // 4)):
            try:
                (at,) = struct.unpack_from(">H", page, header + 8 + 2 * index)
                if row := _entry(self._payload(page, at)):
                    yield row
            except (struct.error, IndexError, ValueError):
                continue  # this cell makes no sense

    def _payload(self, page: bytes, at: int) -> bytes:
        length, at = _varint(page, at)
        _, at = _varint(page, at)
        if length > _MOST_BYTES:
            raise ValueError("longer than any row")
        most = self._usable - 35
        if length <= most:
            return page[at : at + length]
        least = (self._usable - 12) * 32 // 255 - 23
        here = least + (length - least) % (self._usable - 4)
        here = here if here <= most else least
        found = [page[at : at + here]]
        (following,) = struct.unpack_from(">I", page, at + here)
        left = length - here
        while left > 0:
            beyond = self._latest.get(following, b"")
            (following,) = struct.unpack_from(">I", beyond)
            found.append(beyond[4 : 4 + min(left, self._usable - 4)])
            left -= self._usable - 4
        return b"".join(found)


def _entry(payload: bytes) -> StoredEntry | None:
    """The row, if it has the columns of an entry: its own number is no part of the record."""
    length, at = _varint(payload, 0)
    kinds = []
    while at < length:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    if len(kinds) != 1 + len(StoredEntry._fields) or kinds[0] != 0 or kinds[-1] != 12 + 2 * SIZE:
        return None
    values: list[object] = []
    for kind in kinds[1:]:
        value, at = _value(payload, at, kind)
        values.append(value)
    wanted = (str, int, int, int, int, str, bytes, bytes)
    return StoredEntry(*values) if tuple(map(type, values)) == wanted else None  # type: ignore[arg-type]


def _value(payload: bytes, at: int, kind: int) -> tuple[object, int]:
    if kind >= 12:
        size = (kind - 12) // 2
        if at + size > len(payload):
            raise ValueError("cut off")
        data = payload[at : at + size]
        return (data.decode() if kind % 2 else data), at + size
    if kind in (8, 9):
        return kind - 8, at
    size = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}[kind] if kind in range(1, 7) else 0
    if not size:
        raise ValueError("no number of ours")
    return int.from_bytes(payload[at : at + size], "big", signed=True), at + size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Section 1.6: up to nine bytes, seven bits of each but the ninth."""
    value = 0
    for index in range(9):
        byte = data[at + index]
        if index == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + index + 1
    raise ValueError("no number")
