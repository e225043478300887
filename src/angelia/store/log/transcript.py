"""The log of every conversation: append, read, wait for more, erase."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from angelia.core import codec
from angelia.core.counts import counted
from angelia.core.days import day_of, last_day
from angelia.core.entry import AnyFact, ConversationOpened, Entry, Fact, Imported
from angelia.core.errors import BadInput, CodecError, NotFound, StoreError
from angelia.core.ids import ConversationId, DeliveryId, PlaceId
from angelia.core.principal import OWNER, Principal
from angelia.store.log import lease as leases
from angelia.store.log.append import Addition, Append, Draft, together
from angelia.store.log.change_feed import ChangeFeed
from angelia.store.log.entries_of_kinds import entries_of_kinds
from angelia.store.log.examined import Damage, damaged, examined, missing_at_end, read_whole, readable
from angelia.store.log.lease import Lease
from angelia.store.log.unfinished import note_rest, unfinished_among
from angelia.store.media.blobs import BlobStore
from angelia.store.media.durable import unfinished
from angelia.store.port import UNSTORED, Haste, Job, LogStore, StoreConnection
from angelia.store.portable import ends_with
from angelia.store.sql.schema import MINUTE_MS, SPOKEN
from angelia.store.sql.visibility import APART, AUDIT, visible_to
from angelia.store.sql.wholeness import not_whole, strays

_LATEST_FIRST = "last_minute DESC, last_at DESC, id DESC"
_EARLIER = "last_minute <= ? AND (last_at, id) < (?, ?)"
"""The order is that of `last_at`; the minute comes first, because the indexes begin with it."""


class Summary(Struct, frozen=True):
    """A conversation at a glance. Times are Unix milliseconds; `title` is what was said first, on one line."""

    id: ConversationId
    title: str
    opened_at: int
    last_at: int
    last_seq: int
    door: str
    owner: Principal
    workspace: str
    sandbox: str
    place: PlaceId


class Mark(NamedTuple):
    """Where a page of conversations ends: when the last one was used, and its id."""

    last_at: int
    id: str


class Spending(Struct, frozen=True):
    """What models were paid: `cost` in millionths of a US dollar, `tokens` in and out.

    `unpriced` counts the replies whose price is unknown; they add nothing to `cost`.
    """

    cost: int
    tokens: int
    unpriced: int


class UnstoredReplies:
    """Replies of models that came and could not be stored: kept until they can be, in this process, and in a file each,
    if the disk takes that: what is full, limited or away may be the database alone.

    A reply is paid for when it comes; where the disk is full by then, or the database away, asking once more would be
    paid again. A conversation asks one model at a time, so it has one at most.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / UNSTORED
        self._kept: dict[ConversationId, tuple[int, tuple[AnyFact, ...]]] = {}

    def keep(self, conversation: ConversationId, asked: int, came: Sequence[AnyFact]) -> None:
        """Keep what came of the request with this entry number; what was kept of an earlier one goes."""
        self._kept[conversation] = asked, tuple(came)

    def outlives_us(self, conversation: ConversationId) -> bool:
        """Keep what is kept of it in a file, too; False where that cannot be written."""
        asked, came = self._kept[conversation]
        lines = [b"%d %d" % (codec.VERSION, asked), *map(codec.encode, came)]
        try:
            with unfinished(self._folder) as file:
                file.write(b"\n".join(lines))
                file.keep(self._folder / conversation)
        except StoreError:
            return False
        return True

    def to(self, conversation: ConversationId, asked: int) -> tuple[AnyFact, ...]:
        """What came of the request with this entry number; empty if nothing is kept of it."""
        of, came = self._kept.get(conversation) or self._of_a_dead_life(conversation)
        return came if of == asked else ()

    def stored(self, conversation: ConversationId) -> None:
        """Keep nothing of this conversation any more."""
        self._kept.pop(conversation, None)
        with suppress(OSError):
            (self._folder / conversation).unlink()

    def _of_a_dead_life(self, conversation: ConversationId) -> tuple[int, tuple[AnyFact, ...]]:
        try:
            head, *bodies = (self._folder / conversation).read_bytes().split(b"\n")
            version, asked = map(int, head.split())
            return asked, tuple(codec.decode(body, version=version) for body in bodies)
        except (OSError, ValueError, CodecError):
            return 0, ()


class Transcript:
    """The log. One per `LogStore`, since it knows who waits for what in this process, and which replies wait to be
    stored. `blobs` holds what entries refer to: those of the home, if nothing else is said.
    """

    def __init__(self, db: LogStore, blobs: BlobStore | None = None) -> None:
        self._db = db
        self._blobs = blobs or BlobStore(db.home)
        self._news = ChangeFeed(db)
        self.unstored = UnstoredReplies(db.home)

    async def append(
        self,
        conversation: ConversationId,
        facts: Sequence[AnyFact],
        *,
        lease: Lease | None = None,
        haste: Haste = Haste.USUAL,
        at: Sequence[int] = (),
        seen: int = 0,
    ) -> list[Entry]:
        """Append `facts` in one durable commit and return them with their places.

        A driver passes its `lease`; facts from outside need none. If `facts` begins with `ConversationOpened`,
        the conversation begins in the same commit. What came in under a key that its door knows already is a
        repeat, and so are a second settlement of a delivery, what a network has told of a message before, a note under
        a number that is taken, an occurrence that has its fact, and what has been imported: it is absorbed with
        everything that came along, and the result is empty.

        `at` are the times of what happened elsewhere, Unix milliseconds, one for each fact; now, if it is empty.
        `seen` is the number of the last entry that the facts go by; 0 where they hold whatever came after that.

        Raises:
            Overtaken: something came after `seen`; nothing was appended.
            Fenced: the lease was taken over.
            NotFound: there is no such conversation, or the bytes that a fact refers to are not in the blob store.
            BadInput: the conversation that is to begin exists already.
            StoreFull, StoreReadOnly, StoreBusy, StoreDamaged: as they say. In each case nothing was appended.
        """
        drafts = _drafts(facts, at)
        entries = await self._db.write(Append(self._db, self._blobs, conversation, drafts, lease, seen), haste)
        self._tell(conversation, entries)
        return entries

    async def append_together(self, additions: Sequence[Addition]) -> list[list[Entry]]:
        """Append to several logs in one durable commit, as `append` does to one; returns the entries of each. If what
        the first brings is a repeat, nothing is appended anywhere, and the result is empty.

        Raises:
            Overtaken: something came after what one of them goes by; nothing was appended.
            NotFound, StoreError: as `append`; nothing was appended.
        """
        appends = [
            Append(self._db, self._blobs, one.conversation, _drafts(one.facts), None, one.seen) for one in additions
        ]
        added = await self._db.write(together(appends))
        for one, entries in zip(additions, added, strict=False):
            self._tell(one.conversation, entries)
        return added

    def _tell(self, conversation: ConversationId, added: Sequence[Entry]) -> None:
        if added:
            # Told in the loop's next round, when whoever appended knows its own entries and need not be woken.
            asyncio.get_running_loop().call_soon(self._news.tell, conversation, added[-1].seq)

    def require_space(self) -> None:
        """Require room for what is paid for now, and appended when it comes.

        Raises:
            StoreFull: there may be none by then.
        """
        self._db.require_space()

    async def take_up(
        self, conversation: ConversationId, holder: str, after: int, since_ms: int
    ) -> tuple[Lease, list[Entry], Spending]:
        """Take the lease of a conversation, and read in the same transaction its entries after `after`, and what was
        spent everywhere since `since_ms`; see `lease.acquire`, `entries` and `spent`.
        """

        def look(connection: StoreConnection) -> tuple[list[Entry], Spending]:
            spent = _spent(connection, OWNER, (since_ms, self._db.clock()), None)
            return read_entries(connection, conversation, after), spent

        ttl_ms = self._db.presence.ttl_ms
        lease, (entries, spent) = await leases.acquire(self._db, conversation, holder, look, ttl_ms=ttl_ms)
        return lease, entries, spent

    async def in_place(self, viewer: Principal, place: PlaceId) -> list[Summary]:
        """The conversations that work in a place and that `viewer` may see, the oldest first."""
        theirs, values = visible_to(viewer)
        where = f"WHERE place = ? AND {theirs} ORDER BY opened_at, id"
        return await self._db.read(lambda connection: _summaries(connection, where, (place, *values)), viewer)

    async def works_in(self, workspace: str) -> bool:
        """Whether any conversation works in this folder."""
        query = "SELECT 1 FROM conversations WHERE workspace = ? LIMIT 1"
        return await self._db.read(lambda connection: connection.execute(query, (workspace,)).fetchone() is not None)

    async def entries(self, conversation: ConversationId, after: int = 0) -> list[Entry]:
        """The entries whose number is higher than `after`, in order.

        Raises:
            NotFound: there is no such conversation.
            CodecError: an entry cannot be read by this version.
            StoreDamaged: one is not what was stored, or is missing; names it.
        """
        return await self._db.read(lambda connection: read_entries(connection, conversation, after))

    async def of_kinds(
        self, conversation: ConversationId, kinds: Sequence[type[Fact]], after: int, upto: int
    ) -> list[Entry]:
        """Its entries of these kinds; see `entries_of_kinds`."""
        return await self._db.read(lambda connection: entries_of_kinds(connection, conversation, kinds, after, upto))

    async def undelivered(self, conversation: ConversationId, upto: int) -> list[DeliveryId]:
        """What it sent out up to entry number `upto` and of which nobody knows yet what became of it."""
        sent = "SELECT id FROM outbox WHERE conversation = ? AND seq <= ?"
        query = f"{sent} AND status IN ('queued', 'sending') ORDER BY seq"
        found = await self._db.read(lambda connection: connection.execute(query, (conversation, upto)).fetchall())
        return [DeliveryId(name) for (name,) in found]

    async def opening(self, conversation: ConversationId) -> ConversationOpened:
        """How a conversation was opened; the rest of it is not read.

        Raises:
            NotFound, CodecError, StoreDamaged: as `entries`.
        """
        return await self._db.read(lambda connection: _opening(connection, conversation))

    async def legible(self, conversation: ConversationId) -> tuple[list[Entry], list[Damage]]:
        """The entries of a conversation that can be read, and what is wrong with it: for showing it, not for going on.

        Raises:
            NotFound: there is no such conversation.
        """
        return await self._db.read(lambda connection: _legible(connection, conversation))

    async def require_end(self, conversation: ConversationId) -> None:
        """Require that the last entry that was stored is there, as far as this home knows; sums vouch for the others.

        Raises:
            StoreDamaged: it is not.
        """
        tip = self._db.tips.of(conversation)
        if tip and (missing := await self._db.read(lambda connection: strays(connection, tip))):
            raise not_whole(self._db.home, [missing])

    async def news(self, conversation: ConversationId, known: Callable[[], int]) -> list[Entry]:
        """The entries after `known()`, as soon as there is at least one, whichever process appends it.

        `known` is asked anew at each look, so that what the waiter learns in another way meanwhile does not wake it.

        Raises:
            NotFound: there is no such conversation, or it is erased while waiting.
        """
        while True:
            with self._news.expected(conversation, known) as more:
                if found := await self.entries(conversation, known()):
                    return found
                await more

    async def conversations(
        self,
        viewer: Principal,
        limit: int = 50,
        *,
        owner: Principal | None = None,
        workspace: str | None = None,
        door: str | None = None,
        before: Mark | None = None,
    ) -> list[Summary]:
        """The conversations that `viewer` may see, the last used first; of one owner, in one folder or at one door if
        these are given.

        `before` is the mark of the last one of the page before.
        """
        conditions: list[tuple[str, tuple[object, ...]]] = [
            visible_to(viewer),
            *([(SPOKEN, ())] if door is None else [("door = ?", (door,))]),
            *([("owner = ?", (str(owner),))] if owner is not None else []),
            *([("workspace = ?", (workspace,))] if workspace is not None else []),
            *([(_EARLIER, (before.last_at // MINUTE_MS, *before))] if before is not None else []),
        ]
        where = " AND ".join(condition for condition, _ in conditions)
        values = [value for _, given in conditions for value in given]
        return await self._db.read(
            lambda connection: _summaries(
                connection, f"WHERE {where} ORDER BY {_LATEST_FIRST} LIMIT ?", (*values, limit)
            ),
            viewer,
        )

    async def changed(self, viewer: Principal, place: int, limit: int) -> tuple[int, list[ConversationId]]:
        """The end of the log, and those conversations that `viewer` may see and that have entries after `place`, newest
        first; none for a place of -1, with which a watcher begins.
        """
        return await self._db.read(lambda connection: _changed(connection, viewer, place, limit), viewer)

    async def unfinished(self, some: Sequence[ConversationId]) -> list[ConversationId]:
        """Those of these conversations in which something may be open; see `store.log.unfinished`."""
        return await unfinished_among(self._db, some)

    async def note_rest(self, conversation: ConversationId, upto: int) -> None:
        """Note that the first `upto` entries of a conversation leave nothing open."""
        await note_rest(self._db, conversation, upto)

    async def at_work(self, some: Sequence[ConversationId]) -> set[ConversationId]:
        """Which of these conversations somebody drives now."""
        return await self._db.read(lambda connection: leases.held(connection, self._db, some))

    async def version(self) -> int:
        """A number that changes when anybody, this process or another, has committed something."""
        return await self._db.data_version()

    async def newest(self, viewer: Principal) -> ConversationId | None:
        """The conversation of `viewer`'s that has the newest entry, by the order of the log: clocks are set wrong, and
        right again. What was imported and not gone on with counts as older than all others.
        """
        return await self._db.read(lambda connection: _newest(connection, viewer), viewer)

    async def summary(self, viewer: Principal, conversation: ConversationId) -> Summary:
        """One conversation at a glance.

        Raises:
            NotFound: there is no such conversation, or `viewer` may not see it.
        """
        theirs, values = visible_to(viewer)
        where = f"WHERE id = ? AND {theirs}"
        found = await self._db.read(lambda connection: _summaries(connection, where, (conversation, *values)), viewer)
        if not found:
            raise NotFound(f"There is no conversation {conversation}.", then="`angelia sessions` lists them.")
        return found[0]

    async def find(self, viewer: Principal, part: str) -> ConversationId:
        """The conversation whose id is `part`, or begins or ends with it, among those that `viewer` may see.

        Raises:
            NotFound: there is none.
            BadInput: there are several; names the newest of them.
        """
        found = await self._db.read(lambda connection: _matching(connection, viewer, part.strip().lower()), viewer)
        if not found:
            raise NotFound(f"There is no conversation “{part}”.", then="`angelia sessions` lists them.")
        if len(found) > 1:
            some = "; ".join(f"{summary.id} ({summary.title})" for summary in found[:5])
            raise BadInput(f"“{part}” fits {counted(len(found), 'conversation')}: {some}.", then="Give more of the id.")
        return found[0].id

    async def of_key(self, viewer: Principal, door: str, key: str) -> ConversationId | None:
        """The conversation into which something came under this key at this door; None if `viewer` sees none."""
        asked = (
            "SELECT conversation, owner FROM inbox JOIN conversations ON conversations.id = inbox.conversation"
            " WHERE inbox.door = ? AND inbox.key = ?"
        )
        row = await self._db.read(lambda connection: connection.execute(asked, (door, key)).fetchone())
        return ConversationId(row[0]) if row and viewer.sees(Principal.parse(row[1])) else None

    async def fork(self, opened: ConversationOpened, into: ConversationId, left: Sequence[AnyFact] = ()) -> int:
        """Begin a conversation with the past of another one; see `store.log.fork`."""
        from angelia.store.log.fork import fork

        return await fork(self._db, opened, into, left)

    async def spent(self, viewer: Principal, since_ms: int, conversation: ConversationId | None = None) -> Spending:
        """What was spent since the day of a moment (UTC, Unix milliseconds), by one conversation or by all, erased ones
        included.

        Of what was spent in conversations that are theirs; for the owner of the home, in all. What was noted under days
        to come, by a clock that was ahead, is not spent since.
        """
        span = since_ms, self._db.clock()
        return await self._db.read(lambda connection: _spent(connection, viewer, span, conversation), viewer)

    async def erase(self, conversation: ConversationId, blobs: BlobStore, condition: Job[None] | None = None) -> None:
        """Erase a conversation for good, with the blobs that nothing else refers to. What was paid stays counted.
        `condition` as for `erase.erase`.

        Raises:
            HeldElsewhere: somebody is working on it.
            NotFound: there is no such conversation.
        """
        from angelia.store.log.erase import erase

        await erase(self._db, conversation, blobs, condition)


def _drafts(facts: Sequence[AnyFact], at: Sequence[int] = ()) -> list[Draft]:
    return [
        Draft(fact, codec.kind_of(fact), codec.encode(fact), when)
        for fact, when in zip(facts, at or [0] * len(facts), strict=True)
    ]


def read_entries(connection: StoreConnection, conversation: ConversationId, after: int = 0) -> list[Entry]:
    """The entries of a conversation after `after`, within a job that is under way; errors as `Transcript.entries`."""
    entries = read_whole(connection, conversation, after)
    if not entries and not connection.execute("SELECT 1 FROM conversations WHERE id = ?", (conversation,)).fetchone():
        raise NotFound(f"There is no conversation {conversation}.", then="`angelia sessions` lists them.")
    return entries


def _opening(connection: StoreConnection, conversation: ConversationId) -> ConversationOpened:
    first = next(examined(connection, conversation), None)
    if first is None:
        raise NotFound(f"There is no conversation {conversation}.", then="`angelia sessions` lists them.")
    if first.damage or first.entry is None or not isinstance(first.entry.fact, ConversationOpened):
        raise damaged(connection, conversation)
    return first.entry.fact


def _legible(connection: StoreConnection, conversation: ConversationId) -> tuple[list[Entry], list[Damage]]:
    entries, damages = readable(connection, conversation)
    if end := missing_at_end(connection, conversation):
        damages.append(end)
    if not entries and not damages:
        raise NotFound(f"There is no conversation {conversation}.", then="`angelia sessions` lists them.")
    return entries, damages


def _summaries(connection: StoreConnection, which: str, values: tuple[object, ...]) -> list[Summary]:
    columns = ", ".join(Summary.__struct_fields__)
    rows = connection.execute(f"SELECT {columns} FROM conversations {which}", values)  # noqa: S608 - fixed text
    return [
        Summary(own, title, opened_at, last_at, last_seq, door, Principal.parse(owner), workspace, sandbox, place)
        for own, title, opened_at, last_at, last_seq, door, owner, workspace, sandbox, place in rows
    ]


def _changed(
    connection: StoreConnection, viewer: Principal, place: int, limit: int
) -> tuple[int, list[ConversationId]]:
    end = int(connection.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()[0])
    if place < 0 or place >= end:
        return end, []
    theirs, values = visible_to(viewer, "c.owner")
    rows = connection.execute(
        "SELECT c.id FROM entries AS e CROSS JOIN conversations AS c"  # noqa: S608 - fixed text
        f" WHERE c.id = e.conversation AND e.id > ? AND {theirs} GROUP BY c.id ORDER BY max(e.id) DESC LIMIT ?",
        (place, *values, limit),
    )
    return end, [ConversationId(one) for (one,) in rows]


def _newest(connection: StoreConnection, owner: Principal) -> ConversationId | None:
    spoken = f"c.door NOT IN ('schedule', '{AUDIT}') AND c.door NOT IN {APART}"
    query = (
        "SELECT c.id FROM entries AS e CROSS JOIN conversations AS c"  # noqa: S608 - fixed text
        f" WHERE c.id = e.conversation AND c.owner = ? AND {spoken}"
        " AND (e.epoch > 0 OR NOT EXISTS"
        " (SELECT 1 FROM entries AS i WHERE i.conversation = c.id AND i.seq = 2 AND i.kind = ?))"
        " ORDER BY e.id DESC LIMIT 1"
    )
    row = connection.execute(query, (str(owner), Imported.__name__)).fetchone()
    return ConversationId(row[0]) if row else None


def _matching(connection: StoreConnection, viewer: Principal, part: str) -> list[Summary]:
    if not part:
        return []
    theirs, values = visible_to(viewer)
    exact = _summaries(connection, f"WHERE {theirs} AND id = ?", (*values, part))
    near = f"WHERE {theirs} AND (substr(id, 1, ?) = ? OR {ends_with('id')}) ORDER BY last_at DESC"
    return exact or _summaries(connection, near, (*values, len(part), part, part, part))


def _spent(
    connection: StoreConnection, viewer: Principal, span: tuple[int, int], conversation: ConversationId | None
) -> Spending:
    theirs, values = visible_to(viewer, "principal")
    since, now = span
    sums = "SELECT coalesce(sum(cost), 0), coalesce(sum(input + output), 0), coalesce(sum(unpriced), 0)"
    if conversation is not None:
        one = f"{sums} FROM spending_in_days WHERE conversation = ? AND day >= ? AND {theirs}"
        return Spending(*connection.execute(one, (conversation, day_of(since), *values)).fetchone())
    every = f"{sums} FROM spending_days WHERE day >= ? AND day <= ? AND {theirs}"
    return Spending(*connection.execute(every, (day_of(since), last_day(now), *values)).fetchone())
