"""What is scheduled, and what became of each occurrence."""

from msgspec import Struct

from angelia.core.days import last_day
from angelia.core.entry import Address, Entry, Scheduled, ScheduleState
from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import ConversationId
from angelia.core.principal import Principal
from angelia.core.timing import FromOutside, OneTime, source_of
from angelia.store.log.examined import at_places
from angelia.store.port import LogStore, StoreConnection
from angelia.store.portable import ends_with
from angelia.store.sql.visibility import visible_to

MISSED = "missed"
"""The ending of an occurrence at which nothing began."""
UNCHANGED = "unchanged"
"""The same, because what is watched was as before."""
UNSEEN = "unseen"
"""The same, because what is watched could not be looked at."""
UNREADABLE = Scheduled(OneTime("1970-01-01T00:00:00Z"), "UTC", "(what it says cannot be read)", 0, Address("", ""))
"""Stands for one that cannot be read: damaged, altered, or written by a newer version."""
_STEP_MS = 60_000
"""Further ahead than by this nothing is dealt with unless the clock was wrong."""


class StoredSchedule(Struct, frozen=True):
    """A schedule as it stands. Every occurrence up to `upto` (Unix milliseconds) has its fact; `why` is why it does not
    go on, `changed` orders the facts about all schedules. Where its runs work stands in the log of its `id`.
    """

    id: ConversationId
    owner: Principal
    scheduled: Scheduled
    state: ScheduleState
    why: str
    upto: int
    changed: int

    def was_ahead(self, now: int) -> bool:
        """Whether it goes on, and times that are still to come have their facts already. A clock that is behind looks
        the same, so nothing is set back by itself.
        """
        since = self.scheduled.since
        return self.state is ScheduleState.ACTIVE and self.upto > now + _STEP_MS and since <= now

    def made_ahead(self, now: int) -> bool:
        """Whether it goes on, and was made at a time that is still to come: its times count from there."""
        return self.state is ScheduleState.ACTIVE and self.scheduled.since > now + _STEP_MS


class Occurrence(Struct, frozen=True):
    """What became of the occurrences from `due` to `last`, Unix milliseconds, which are `count`.

    `ending` is the name of how the turn ended, empty while it is open; where there was none because of `why`, `MISSED`,
    `UNCHANGED` or `UNSEEN`. `conversation` is where it is, from the entry `seq` on; `digest` is of what was watched
    then.
    """

    schedule: ConversationId
    due: int
    last: int
    count: int
    why: str
    conversation: ConversationId
    seq: int
    ending: str
    digest: str


_SELECT = "SELECT s.conversation, s.owner, s.state, s.why, s.upto, s.changed, s.place FROM schedules AS s "
_OCCURRED = "SELECT schedule, due, last, count, why, conversation, seq, ending, digest FROM occurrences"


def note_key(schedule: ConversationId) -> str:
    """Under this name `KeyValue` has how far a schedule has come with the mailbox or folder that it begins on."""
    return f"outside:{schedule}"


class Schedules:
    """A view of the log."""

    def __init__(self, db: LogStore) -> None:
        self._db = db

    async def changed(self, after: int) -> list[StoredSchedule]:
        """Those about which there is a fact whose place is after `after`, in that order."""
        return await self._db.read(
            lambda connection: _schedules(connection, "WHERE s.changed > ? ORDER BY s.changed", after)
        )

    async def last_change(self) -> int:
        """The place of the last fact about any of them; 0 for none."""
        query = "SELECT coalesce(max(changed), 0) FROM schedules"
        return int(await self._db.read(lambda connection: connection.execute(query).fetchone()[0]))

    async def begun_by(self, when: FromOutside) -> list[StoredSchedule]:
        """Those that begin on it and have not ended, in the order in which they were made; no other is looked at."""
        where = "WHERE s.source = ? AND s.source <> '' AND s.state <> 'ended' ORDER BY s.place"
        return await self._db.read(lambda connection: _schedules(connection, where, source_of(when)))

    async def visible(self, viewer: Principal) -> list[StoredSchedule]:
        """Those that they may see and that have not ended, in the order in which they were made."""
        theirs, values = visible_to(viewer, "s.owner")
        where = f"WHERE s.state <> 'ended' AND {theirs} ORDER BY s.place"
        return await self._db.read(lambda connection: _schedules(connection, where, *values), viewer)

    async def of(self, viewer: Principal, part: str) -> StoredSchedule:
        """The one whose id is `part`, or ends with it, among those that they may see.

        Raises:
            NotFound: there is none.
            BadInput: there are several.
        """
        theirs, values = visible_to(viewer, "s.owner")
        where = f"WHERE {theirs} AND {ends_with('s.conversation')} ORDER BY s.place"
        found = await self._db.read(lambda connection: _schedules(connection, where, *values, part, part), viewer)
        if not found or not part:
            raise NotFound(f"There is no schedule “{part}”.", then="`angelia schedule list` lists them.")
        if len(found) > 1:
            raise BadInput(f"“{part}” fits {len(found)} schedules.", then="Give more of the id.")
        return found[0]

    async def history(self, schedule: ConversationId, limit: int) -> list[Occurrence]:
        """What became of the last occurrences, the newest first."""
        query = f"{_OCCURRED} WHERE schedule = ? ORDER BY place DESC LIMIT ?"
        return await self._db.read(lambda connection: _occurrences(connection, query, schedule, limit))

    async def open(self) -> list[Occurrence]:
        """Those whose turn is open, or was when a process ended."""
        query = f"{_OCCURRED} WHERE ending = '' ORDER BY place"
        return await self._db.read(lambda connection: _occurrences(connection, query))

    async def ended(self, limit: int) -> list[Occurrence]:
        """The last ones whose turn has ended, the newest first."""
        query = f"{_OCCURRED} WHERE ending NOT IN ('', 'missed', 'unchanged', 'unseen') ORDER BY place DESC LIMIT ?"
        return await self._db.read(lambda connection: _occurrences(connection, query, limit))

    async def is_open(self, occurrence: Occurrence) -> bool:
        """Whether the turn of an occurrence has not ended."""
        query = "SELECT 1 FROM occurrences WHERE conversation = ? AND seq = ? AND ending = ''"
        values = (occurrence.conversation, occurrence.seq)
        return await self._db.read(lambda connection: connection.execute(query, values).fetchone() is not None)

    async def counted(self, schedule: ConversationId, limit: int) -> list[Occurrence]:
        """The last turns since it was made or resumed, the newest first."""
        return await self._since_resumed(schedule, "ending NOT IN ('missed', 'unchanged', 'unseen')", limit)

    async def looked(self, schedule: ConversationId, limit: int) -> list[Occurrence]:
        """The last occurrences that were not missed since it was made or resumed, the newest first."""
        return await self._since_resumed(schedule, "ending <> 'missed'", limit)

    async def _since_resumed(self, schedule: ConversationId, which: str, limit: int) -> list[Occurrence]:
        since = "(SELECT counted FROM schedules WHERE conversation = schedule)"
        query = f"{_OCCURRED} WHERE schedule = ? AND {which} AND place > {since} ORDER BY place DESC LIMIT ?"
        return await self._db.read(lambda connection: _occurrences(connection, query, schedule, limit))

    async def dealt_with(self, schedule: ConversationId) -> str:
        """The digest of what is watched as it was when a turn last ended well for it; empty if none has yet.

        A change for which a turn began and failed is still a change at the next look.
        """
        query = (
            "SELECT digest FROM occurrences WHERE schedule = ? AND digest <> ''"
            " AND ending IN ('Answered', 'StayedSilent', 'Cancelled', 'unchanged') ORDER BY place DESC LIMIT 1"
        )
        row = await self._db.read(lambda connection: connection.execute(query, (schedule,)).fetchone())
        return str(row[0]) if row else ""

    async def missed_since_a_turn(self, schedule: ConversationId) -> int:
        """How many occurrences were missed since one began a turn, or showed that nothing had changed."""
        query = (
            "SELECT coalesce(sum(count), 0) FROM occurrences WHERE schedule = ? AND ending = 'missed' AND place >"
            " (SELECT coalesce(max(place), 0) FROM occurrences WHERE schedule = ?"
            " AND ending NOT IN ('missed', 'unseen'))"
        )
        return int(
            await self._db.read(lambda connection: connection.execute(query, (schedule, schedule)).fetchone()[0])
        )

    async def spent(self, schedule: ConversationId, since: int) -> int:
        """What its turns have cost since a moment, millionths of a US dollar; prices nobody knows add nothing."""
        query = (
            "SELECT coalesce(sum(cost) FILTER (WHERE cost > 0), 0) FROM spending WHERE at >= ? AND at <= ?"
            " AND conversation IN (SELECT conversation FROM occurrences WHERE schedule = ?)"
        )
        values = since, last_day(self._db.clock()), schedule
        return int(await self._db.read(lambda connection: connection.execute(query, values).fetchone()[0]))


def _schedules(connection: StoreConnection, where: str, *values: str | int) -> list[StoredSchedule]:
    rows = connection.execute(_SELECT + where, values).fetchall()
    found = []
    for row, stored in zip(rows, at_places(connection, [row[-1] for row in rows]), strict=True):
        name, owner, state, why, upto, changed, _ = row
        if isinstance(stored, Entry):
            scheduled = stored.fact
        else:  # it stands still, and says why; the others go on
            scheduled, why = UNREADABLE, stored.why
            state = ScheduleState.ENDED if state == ScheduleState.ENDED else ScheduleState.PAUSED
        assert isinstance(scheduled, Scheduled)
        found.append(StoredSchedule(name, Principal.parse(owner), scheduled, ScheduleState(state), why, upto, changed))
    return found


def _occurrences(connection: StoreConnection, query: str, *values: str | int) -> list[Occurrence]:
    return [Occurrence(*row) for row in connection.execute(query, values)]
