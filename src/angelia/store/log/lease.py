"""The right to drive a conversation: one process at a time, with a number that outdates the one before."""

import asyncio
from collections.abc import Sequence
from typing import TypeVar
from weakref import WeakKeyDictionary

from angelia.cancellation import end_if_cancelled
from angelia.core.errors import Fenced, NotFound, StoreBusy
from angelia.core.ids import ConversationId
from angelia.store.port import Haste, Job, LogStore, StoreConnection
from angelia.store.sql import faults

T = TypeVar("T")

_LEFT: WeakKeyDictionary[LogStore, set[tuple[str, int]]] = WeakKeyDictionary()
"""Leases that this process gives back, by name and epoch; a full disk may not take that, and then the row says for a
while that it is held, though nobody works by it any more.
"""


class HeldElsewhere(StoreBusy):
    """Somebody else, or another task of this process, drives this conversation now."""

    def __init__(self, holder: str) -> None:
        self.holder = holder
        super().__init__(
            f"{holder} is working on this conversation.",
            then="Wait until it is done, or end that process; its place is free at once when it ends.",
        )


class Lease:
    """A lease that was acquired. `epoch` goes with every entry of its driver; a later lease has a higher one."""

    def __init__(self, db: LogStore, conversation: ConversationId, epoch: int, ttl_ms: int) -> None:
        self.conversation, self.epoch = conversation, epoch
        self._db, self._ttl_ms = db, ttl_ms

    def holds(self, conversation: ConversationId, epoch: int | None) -> bool:
        """Whether it is the latest lease of this conversation, given the epoch that its leases have reached."""
        return conversation == self.conversation and epoch == self.epoch

    async def renew(self) -> None:
        """Hold on to it for another `ttl_ms`.

        Raises:
            Fenced: another process has taken over, or the conversation was erased.
        """
        if not await self._db.write(self._prolong):
            raise taken_over(self.conversation)

    async def keep(self) -> None:
        """Renew it again and again until this is cancelled; for a task beside the driver.

        Raises:
            Fenced: as `renew`.
        """
        while True:
            end_if_cancelled()
            await asyncio.sleep(self._ttl_ms / 3000)
            await self.renew()

    async def release(self, rested: int = 0) -> None:
        """Let the next one have it within milliseconds. Nothing happens if it was lost already. The first `rested`
        entries leave nothing open (`store.log.unfinished`).
        """
        query = (
            "UPDATE leases SET presence = '', expires = 0, rested = CASE WHEN rested < ? THEN ? ELSE rested END"
            " WHERE conversation = ? AND epoch = ?"
        )
        values = (rested, rested, self.conversation, self.epoch)
        left = _LEFT.setdefault(self._db, set())
        left.add((self.conversation, self.epoch))
        await self._db.write(lambda connection: connection.execute(query, values), Haste.PATIENT)
        left.discard((self.conversation, self.epoch))

    def _prolong(self, connection: StoreConnection) -> int:
        return connection.execute(
            "UPDATE leases SET expires = ? WHERE conversation = ? AND epoch = ?",
            (self._db.presence.until(connection, self._ttl_ms)[1], self.conversation, self.epoch),
        ).rowcount


async def acquire(
    db: LogStore, conversation: ConversationId, holder: str, look: Job[T], *, ttl_ms: int
) -> tuple[Lease, T]:
    """The right to drive `conversation`, and what `look` finds in the same transaction: nobody drives in between.

    `holder` is what others are told: `the terminal`, `the gateway`. From a process that has
    ended it is taken over at once, from one that hangs when its lease has expired.

    Raises:
        HeldElsewhere: somebody has it.
        NotFound: there is no such conversation.
    """

    def taken(connection: StoreConnection) -> tuple[int, T]:
        return take(connection, db, conversation, holder, ttl_ms), look(connection)

    epoch, found = await db.write(taken)
    return Lease(db, conversation, epoch, ttl_ms), found


def take(connection: StoreConnection, db: LogStore, conversation: ConversationId, holder: str, ttl_ms: int) -> int:
    """Take the lease within a transaction that is under way; returns its epoch. For the rest see `acquire`."""
    if not connection.execute("SELECT 1 FROM conversations WHERE id = ?", (conversation,)).fetchone():
        raise NotFound(f"There is no conversation {conversation}.")
    named = holder if holder.endswith(db.presence.here) else f"{holder} ({db.presence.here})"
    return take_row(connection, db, conversation, named, ttl_ms)


def take_row(connection: StoreConnection, db: LogStore, conversation: str, name: str, ttl_ms: int) -> int:
    """The same for anything of this id, whether it is a conversation or not; `name` is who others are told has it."""
    row = connection.execute(
        "SELECT holder, epoch, presence, boot, expires FROM leases WHERE conversation = ?", (conversation,)
    ).fetchone()
    left = row and (conversation, row[1]) in _LEFT.get(db, ())
    if row and not left and db.presence.held(connection, [row[2:]]) == [True]:
        raise HeldElsewhere(row[0])
    try:
        presence = db.presence.name(name)
    except OSError as error:
        raise faults.of_os(error, db.home) from error
    (epoch,) = connection.execute(
        "INSERT INTO leases (conversation, epoch, holder, presence, boot, expires, since) VALUES (?, 1, ?, ?, ?, ?, ?)"
        " ON CONFLICT (conversation) DO UPDATE SET epoch = leases.epoch + 1, holder = excluded.holder, presence ="
        " excluded.presence, boot = excluded.boot, expires = excluded.expires, since = excluded.since, may_cost = 0"
        " RETURNING epoch",
        (conversation, name, presence, *db.presence.until(connection, ttl_ms), db.clock()),
    ).fetchone()
    return int(epoch)


def check(connection: StoreConnection, lease: Lease) -> None:
    """Within the transaction of an append: is this lease still the last one?

    Raises:
        Fenced: it is not.
    """
    row = connection.execute("SELECT epoch FROM leases WHERE conversation = ?", (lease.conversation,)).fetchone()
    if row is None or row[0] != lease.epoch:
        raise taken_over(lease.conversation)


def put_nothing_aside(connection: StoreConnection, lease: Lease) -> None:
    """Within the commit that stores what came of a request: its cost is known now, so no more is put aside for it."""
    query = "UPDATE leases SET may_cost = 0 WHERE conversation = ? AND may_cost > 0"
    connection.execute(query, (lease.conversation,))


def held(connection: StoreConnection, db: LogStore, some: Sequence[ConversationId]) -> set[ConversationId]:
    """Those of these conversations that somebody drives, within a job that is under way."""
    if not some:
        return set()
    marks = ", ".join("?" * len(some))
    rows = connection.execute(
        f"SELECT conversation, presence, boot, expires FROM leases WHERE conversation IN ({marks})",  # noqa: S608 - marks
        tuple(some),
    ).fetchall()
    found = db.presence.held(connection, [(presence, clock, expires) for _, presence, clock, expires in rows])
    return {ConversationId(one) for (one, *_), is_held in zip(rows, found, strict=True) if is_held}


async def last_driven(db: LogStore, door: str, most: int) -> list[ConversationId]:
    """The conversations that a door drove last, whoever speaks in them: at most so many, the last used first."""

    def found(connection: StoreConnection) -> list[ConversationId]:
        rows = connection.execute(
            "SELECT c.id FROM leases AS l JOIN conversations AS c ON c.id = l.conversation"
            " WHERE substr(l.holder, 1, ?) = ? ORDER BY c.last_at DESC LIMIT ?",
            (len(door) + 1, f"{door},", most),
        )
        return [ConversationId(one) for (one,) in rows]

    return await db.read(found)


def taken_over(conversation: ConversationId) -> Fenced:
    """Another process drives it now, or it is gone."""
    return Fenced(
        f"Another process has taken over the conversation {conversation}.",
        why="This one did not renew its lease in time.",
        then="Nothing was appended; open the conversation again to see where it stands.",
    )
