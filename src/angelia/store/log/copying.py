"""A log copied into another store: every entry in its place, and equal before it counts.

To move it, nobody writes meanwhile (`copy_entries`); for a backup it is copied as it stands at one moment.

Entries are taken over in the order of their places, some to a commit, and what is derived from them is derived anew in
the same commit. So the last place that is there says how far a copying had come that was ended, however it ended. What
is there counts for nobody (`StagedLog`) until it has been held against what it was copied from, conversation by
conversation.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from hashlib import blake2b
from typing import Any, Protocol

from msgspec import Struct

from angelia.core.counts import counted
from angelia.core.entry import KeptSums
from angelia.core.errors import BadInput, StoreBusy, StoreDamaged, StoreUnreachable
from angelia.store.log import projections, word_index
from angelia.store.log.at_work import at_work
from angelia.store.log.chain import COLUMNS, FIRST, StoredEntry, fits, kept_sums
from angelia.store.log.examined import by_place, unreadable_at
from angelia.store.port import Job, LogStore, Numbers, StoreConnection, WordIndex

BESIDE = ("spending_erased", "grants", "pairings", "remembered")
"""Tables that nothing can be derived from; of leases only the numbers go over, and where nothing is open."""

_TOGETHER = 1_000
"""Entries in one commit: what a copying that is killed does once more, and what it holds in memory."""
_LOOK_S = 1.0
"""Seconds between two looks whether others are still kept from writing; servers end transactions that do nothing."""
_VERIFY = "`angelia store verify` says more. Nothing was changed where it lies now."

Digests = dict[str, tuple[int, bytes]]
"""Of each conversation, how many entries it has, and a digest of these with their places."""


class StagedLog(Protocol):
    """A store that is being filled, and that nobody can open as a log before it is finished."""

    @property
    def db(self) -> LogStore:
        """What it holds so far."""

    async def finish(self) -> None:
        """Let it count from now on, whole or, after a crash, not at all; `db` is closed."""


class CopiedEntries(Struct, frozen=True):
    """How many conversations and entries are there now, and how many of the entries were there before."""

    conversations: int
    entries: int
    before: int


async def copy_entries(source: LogStore, staged: StagedLog, told: Callable[[str], None]) -> CopiedEntries:
    """Copy all that `source` holds, and let it count; `told` hears how far it is.

    Raises:
        BadInput: there is nothing to copy.
        StoreBusy: somebody works there; says who.
        StoreDamaged: the log is not whole, or the copy is not equal to it.
        CodecError: a newer version wrote an entry.
        StoreFull, StoreReadOnly, StoreUnreachable: as they say. What was copied is gone on with the next time.
    """
    target = staged.db
    async with nobody_writes(source) as require_held:
        wanted = await source.read(digests)
        if not wanted:
            raise BadInput("There is nothing in it to copy.", then="Look at the two places that you named.")
        total = sum(entries for entries, _ in wanted.values())
        place = before = await _begin_at(source, target)
        count = await target.read(_count)
        there = count
        while page := await source.read(partial(_page, after=place)):
            await target.write(partial(take, numbers=target.numbers, page=page))
            place, count = page[-1][0], count + len(page)
            told(f"{count} of {counted(total, 'entry')}")
        await target.write(partial(_take_beside, numbers=target.numbers, beside=await _beside(source)))
        while await target.write(partial(word_index.catch_up, words=target.words)):
            pass
        told("comparing")
        if await target.read(digests) != wanted:
            raise StoreDamaged("The copy is not equal to the log.", then=f"It does not count. {_VERIFY}")
        require_held()
        await staged.finish()
    return CopiedEntries(len(wanted), total, there if before else 0)


async def copy_as_it_stands(source: LogStore, target: LogStore) -> None:
    """Copy what `source` holds at one moment into a store that nobody else has, while others go on writing there.

    Raises:
        StoreDamaged: the log is not whole, or the copy is not equal to it.
        CodecError: a newer version wrote an entry.
        StoreFull, StoreReadOnly, StoreUnreachable: as they say.
    """
    loop = asyncio.get_running_loop()

    def write(job: Job[None]) -> None:
        asyncio.run_coroutine_threadsafe(target.write(job), loop).result()

    def copy(connection: StoreConnection) -> Digests:
        write(partial(_empty, words=target.words))  # what a connection that broke has left
        place = 0
        while page := _page(connection, after=place):
            write(partial(take, numbers=target.numbers, page=page))
            place = page[-1][0]
        write(partial(_take_beside, numbers=target.numbers, beside=_look_beside(connection, source.numbers)))
        return digests(connection)

    wanted = await source.read(copy)
    while await target.write(partial(word_index.catch_up, words=target.words)):
        pass
    if await target.read(digests) != wanted:
        raise StoreDamaged("The copy is not equal to the log.", then=f"It does not count. {_VERIFY}")


@asynccontextmanager
async def nobody_writes(db: LogStore) -> AsyncIterator[Callable[[], None]]:
    """Keep everybody from writing to a store, in whatever process, by a transaction that lasts; reading goes on. What
    it yields raises StoreUnreachable, if that was lost on the way.

    Raises:
        StoreBusy: somebody works there, or is about to; says who.
    """
    loop, begun, over = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    tries: list[None] = []

    def hold(connection: StoreConnection) -> None:
        if tries:  # the store runs again what a broken connection took back; others may have written in between
            raise _not_held()
        tries.append(None)
        _require_unused(connection, db)
        loop.call_soon_threadsafe(begun.set)
        while not over.wait(_LOOK_S):
            connection.execute("SELECT 1").fetchone()

    def require_held() -> None:
        if holding.done():
            raise _not_held()

    holding = asyncio.create_task(db.write(hold))
    beginning = asyncio.create_task(begun.wait())
    try:
        await asyncio.wait({holding, beginning}, return_when=asyncio.FIRST_COMPLETED)
        if holding.done():
            await holding
        yield require_held
    finally:
        over.set()
        beginning.cancel()
        await asyncio.wait({holding})
        _ = holding.exception()  # was raised above, or by `require_held`


def digests(connection: StoreConnection, upto: int = 0) -> Digests:
    """The conversations of a log, each entry looked at whether it is what was stored; up to a place, if one is given.

    Raises:
        StoreDamaged: one is not.
        CodecError: a newer version wrote the first entry of one.
    """
    found: dict[str, _Walked] = {}
    for place, row in by_place(connection):
        if upto and place > upto:
            break
        if row is None:
            raise StoreDamaged(unreadable_at(place), then=_VERIFY)
        walked = found.setdefault(row.conversation, _Walked())
        if row.seq != walked.entries + 1 or not fits(walked.last, row, walked.sums):
            raise StoreDamaged(f"Entry {row.seq} of {row.conversation} is not what was stored there.", then=_VERIFY)
        walked.follow(place, row)
    return {name: (walked.entries, walked.digest.digest()) for name, walked in found.items()}


def take(connection: StoreConnection, numbers: Numbers, page: Sequence[tuple[int, StoredEntry]]) -> None:
    """Within a write: take over entries with their places, and derive from them.

    Raises:
        CodecError: a newer version wrote one.
    """
    query = f"INSERT INTO entries (id, {COLUMNS}) {numbers.brought} VALUES ({_marks(9)})"  # noqa: S608 - fixed names
    connection.executemany(query, [(place, *row) for place, row in page])
    for place, row in page:
        projections.derive_stored(connection, place, row)


class _Walked:
    """What was seen of a conversation."""

    def __init__(self) -> None:
        self.entries, self.last = 0, FIRST
        self.sums: KeptSums | None = None
        self.digest = blake2b(digest_size=32)

    def follow(self, place: int, row: StoredEntry) -> None:
        """See one more entry; its checksum covers it."""
        if row.seq == 1:
            self.sums = kept_sums(row)
        self.entries, self.last = row.seq, row.sum
        self.digest.update(f"{place} {row.seq} ".encode() + row.sum)


class _Beside(Struct, frozen=True):
    """What is not in the log: rows by table, the highest numbers given, since when there is this log."""

    rows: dict[str, list[tuple[Any, ...]]]
    numbers: dict[str, int]
    born: int


async def _begin_at(source: LogStore, target: LogStore) -> int:
    """The place up to which everything is there; what is there of another log, or of what was erased since, goes."""
    place: int = await target.read(_last)
    if place and await target.read(digests) != await source.read(partial(digests, upto=place)):
        await target.write(partial(_empty, words=target.words))
        return 0
    return place


def _last(connection: StoreConnection) -> int:
    return int(connection.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()[0])


def _count(connection: StoreConnection) -> int:
    return int(connection.execute("SELECT count(*) FROM entries").fetchone()[0])


def _empty(connection: StoreConnection, words: WordIndex) -> None:
    connection.execute("UPDATE conversations SET erasing = 1")
    connection.execute("DELETE FROM entries")
    projections.empty(connection)
    connection.execute("DELETE FROM conversations")
    word_index.start_over(connection, words)


def _page(connection: StoreConnection, after: int) -> list[tuple[int, StoredEntry]]:
    return [(place, row) for place, row in by_place(connection, after, _TOGETHER) if row is not None]


async def _beside(source: LogStore) -> _Beside:
    return await source.read(partial(_look_beside, numbers=source.numbers))


def _look_beside(connection: StoreConnection, numbers: Numbers) -> _Beside:
    rows = {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in BESIDE}  # noqa: S608
    leases = connection.execute("SELECT conversation, epoch, holder, '', '', 0, 0, 0, rested FROM leases").fetchall()
    given = {table: numbers.last(connection, table) for table in ("entries", "grants")}
    return _Beside({**rows, "leases": leases}, given, connection.execute("SELECT at FROM born").fetchone()[0])


def _take_beside(connection: StoreConnection, numbers: Numbers, beside: _Beside) -> None:
    for table, rows in beside.rows.items():
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours
        if rows:
            brought = numbers.brought if table in beside.numbers else ""
            query = f"INSERT INTO {table} {brought} VALUES ({_marks(len(rows[0]))})"  # noqa: S608 - names of ours
            connection.executemany(query, rows)
    for table, number in beside.numbers.items():
        numbers.go_on_after(connection, table, number)
    connection.execute("UPDATE born SET at = ?", (beside.born,))


def _require_unused(connection: StoreConnection, db: LogStore) -> None:
    if working := at_work(connection, db):
        raise StoreBusy(
            f"{', '.join(working)}: whoever works in a log may write to it.",
            "A log is copied while nobody does, so that nothing is left behind.",
            "End what runs, and copy again. Nothing was copied.",
        )


def _not_held() -> StoreUnreachable:
    return StoreUnreachable(
        "The connection broke by which others were kept from writing, so they may have written.",
        then="The copy does not count yet; copy again, and it goes on where it is.",
    )


def _marks(count: int) -> str:
    return ", ".join("?" * count)
