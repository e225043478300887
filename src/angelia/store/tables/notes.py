"""The notes of all conversations: a view of the log, by number, by where they hold, by who may see them."""

from collections.abc import Sequence

from msgspec import Struct

from angelia.core.entry import NoteKind, NoteScope
from angelia.core.ids import ConversationId
from angelia.core.principal import Principal
from angelia.store.port import ALL_ROWS, LogStore, StoreConnection
from angelia.store.sql.visibility import visible_to

_COLUMNS = (
    "n.number, n.conversation, n.seq, n.at, n.owner, n.scope, n.about, n.what, n.text, n.outside, n.replaces,"
    " n.settled_by, n.settled_at"
)
_REPLACED = (
    "(SELECT max(r.number) FROM notes AS r WHERE r.replaces = n.number AND r.replaces > 0 AND r.state = 'kept'"
    " AND r.scope = n.scope AND r.about = n.about AND (r.owner = n.owner OR r.scope = 'chat'))"
)
"""The note that takes the place of `n` now: nobody's note is superseded from another scope, or by somebody else's."""


class Holds(Struct, frozen=True):
    """A scope of somebody's in which notes hold. Those of a chat are the chat's, whoever's conversation made them."""

    scope: NoteScope
    about: str
    owner: Principal


class StoredNote(Struct, frozen=True):
    """A note as it stands. Times are Unix milliseconds.

    `state` is `waits` (for a person's yes), `kept`, `dropped` or `superseded`; `settled_by` and `settled_at` are empty
    and 0 while it waits. `outside` counts the entries with words from elsewhere that were in view when it was made.
    `replaced_by` is the number of the note that superseded it, or 0.
    """

    number: int
    conversation: ConversationId
    seq: int
    at: int
    owner: Principal
    scope: NoteScope
    about: str
    what: NoteKind
    text: str
    outside: int
    replaces: int
    settled_by: str
    settled_at: int
    state: str
    replaced_by: int

    @property
    def holds(self) -> Holds:
        """Where it holds."""
        return Holds(self.scope, self.about, self.owner)


class Notes:
    """A view of the log."""

    def __init__(self, db: LogStore) -> None:
        self._db = db

    async def next_number(self) -> int:
        """A number that is free now; who appends first under it has it (`Transcript.append`)."""
        query = "SELECT coalesce(max(number), 0) + 1 FROM notes"
        (number,) = await self._db.read(lambda connection: connection.execute(query).fetchone())
        return int(number)

    async def find(self, viewer: Principal, number: int) -> StoredNote | None:
        """The note of that number, if they may see it."""
        theirs, values = visible_to(viewer, "n.owner")
        where = f"n.number = ? AND {theirs}"
        return next(
            iter(await self._db.read(lambda connection: _notes(connection, where, (number, *values)), viewer)), None
        )

    async def at(self, scopes: Sequence[Holds], states: Sequence[str] = ("kept",)) -> list[StoredNote]:
        """The notes that hold in these scopes: scope by scope in the order given, newest first; superseded ones never.

        `states` are `kept`, `waits`, `dropped`.
        """
        return await self._db.read(lambda connection: _at(connection, scopes, states, ALL_ROWS))

    async def same(self, scope: Holds, text: str) -> StoredNote | None:
        """The note that counts in this scope and says these very words, case of the letters A to Z aside."""
        where, values = _where(scope)
        wanted = f"{where} AND n.state = 'kept' AND lower(n.text) = lower(?) AND {_REPLACED} IS NULL LIMIT 1"
        found = await self._db.read(lambda connection: _notes(connection, wanted, (*values, text)))
        return next(iter(found), None)

    async def newest(self, scopes: Sequence[Holds], most: int) -> tuple[list[StoredNote], int]:
        """The first `most` kept notes of each scope, as `at` gives them, and how many there are in all."""

        def look(connection: StoreConnection) -> tuple[list[StoredNote], int]:
            return _at(connection, scopes, ("kept",), most), sum(_count(connection, one) for one in scopes)

        return await self._db.read(look)

    async def numbered(self, scopes: Sequence[Holds], numbers: Sequence[int]) -> list[StoredNote]:
        """Those of these numbers that are of these scopes, in the order of the numbers, whatever became of them."""
        query = f"n.number IN ({', '.join('?' * len(numbers))})"
        found = await self._db.read(lambda connection: _notes(connection, query, tuple(numbers)))
        known = {note.number: note for note in found if in_one_of(note, scopes)}
        return [known[number] for number in numbers if number in known]

    async def of_conversation(self, conversation: ConversationId) -> list[StoredNote]:
        """What was noted in a conversation, and goes when it is erased."""
        where = "n.conversation = ? ORDER BY n.number"
        return await self._db.read(lambda connection: _notes(connection, where, (conversation,)))

    async def list(self, viewer: Principal) -> list[StoredNote]:
        """Every note that they may see, oldest first."""
        theirs, values = visible_to(viewer, "n.owner")
        return await self._db.read(lambda connection: _notes(connection, f"{theirs} ORDER BY n.number", values), viewer)


def in_one_of(note: StoredNote, scopes: Sequence[Holds]) -> bool:
    """Whether a note holds in one of these scopes."""
    return any(
        (note.scope, note.about) == (one.scope, one.about) and (one.scope is NoteScope.CHAT or note.owner == one.owner)
        for one in scopes
    )


def _at(connection: StoreConnection, scopes: Sequence[Holds], states: Sequence[str], most: int) -> list[StoredNote]:
    found: list[StoredNote] = []
    for one in scopes:
        where, values = _where(one)
        wanted = f"{where} AND n.state IN ({', '.join('?' * len(states))}) AND {_REPLACED} IS NULL"
        found += _notes(connection, f"{wanted} ORDER BY n.number DESC LIMIT ?", (*values, *states, most))
    return found


def _count(connection: StoreConnection, one: Holds) -> int:
    """Kept ones less those that are replaced: few replace another, and they have an index of their own."""
    where, values = _where(one)
    kept = f"SELECT count(*) FROM notes AS n WHERE {where} AND n.state = 'kept'"  # noqa: S608 - fixed text
    replaced = (
        f"SELECT count(*) FROM (SELECT DISTINCT replaces FROM notes WHERE state = 'kept' AND replaces > 0) AS r"  # noqa: S608
        f" CROSS JOIN notes AS n WHERE n.number = r.replaces AND {where} AND n.state = 'kept' AND {_REPLACED} > 0"
    )
    return int(connection.execute(kept, values).fetchone()[0] - connection.execute(replaced, values).fetchone()[0])


def _where(one: Holds) -> tuple[str, tuple[str, ...]]:
    where, values = "n.scope = ? AND n.about = ?", (one.scope.value, one.about)
    return (where, values) if one.scope is NoteScope.CHAT else (f"{where} AND n.owner = ?", (*values, str(one.owner)))


def _notes(connection: StoreConnection, where: str, values: tuple[object, ...]) -> list[StoredNote]:
    rows = connection.execute(f"SELECT {_COLUMNS}, n.state, {_REPLACED} FROM notes AS n WHERE {where}", values)  # noqa: S608
    return [_note(*row) for row in rows]


def _note(number: int, conversation: str, seq: int, at: int, owner: str, *rest: object) -> StoredNote:
    scope, about, what, text, outside, replaces, settled_by, settled_at, state, replaced_by = rest
    standing = "superseded" if replaced_by and state == "kept" else str(state)
    return StoredNote(
        number=number,
        conversation=ConversationId(conversation),
        seq=seq,
        at=at,
        owner=Principal.parse(owner),
        scope=NoteScope(str(scope)),
        about=str(about),
        what=NoteKind(str(what)),
        text=str(text),
        outside=_int(outside),
        replaces=_int(replaces),
        settled_by=str(settled_by),
        settled_at=_int(settled_at),
        state=standing,
        replaced_by=_int(replaced_by) if standing == "superseded" else 0,
    )


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0
