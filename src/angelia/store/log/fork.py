"""Begins a conversation with the past of another one: its entries under the same numbers, its blobs by reference.

Rows are copied, by the database itself, and not referred to: so each log is whole by itself, and the original may be
deleted. They keep the checksums that they were written with (`store.log.chain`), so what was altered in the original
does not fit in the fork either. What such a copy says happened once: it pays nothing, delivers nothing, proposes no
note, absorbs no key and is found by no search. Its rows say so themselves (`is_copied`), so a rebuild passes over them
too.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from angelia.core import codec
from angelia.core.entry import AnyFact, BytesLetGo, ConversationOpened, Delegated, Entry, ForkedFrom, Occurred, UserSaid
from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import ConversationId
from angelia.store.log.chain import COLUMNS, FIRST, KEEPING, StoredEntry, checksum, fits, sums_for
from angelia.store.log.examined import damaged
from angelia.store.log.projections import derive
from angelia.store.log.references import blobs_in
from angelia.store.log.repeats import is_taken
from angelia.store.port import LogStore, StoreConnection
from angelia.store.sql.tips import Tip

_FIRST = f"SELECT {COLUMNS} FROM entries WHERE conversation = ? AND seq = 1"  # noqa: S608 - fixed names
_COPY = f"""
    INSERT INTO entries ({COLUMNS}) SELECT ?, seq, at, {KEEPING}, version, kind, body, sum FROM entries
    WHERE conversation = ? AND seq BETWEEN 2 AND ? ORDER BY seq
"""  # noqa: S608 - fixed names
_LAST = "SELECT at, sum FROM entries WHERE conversation = ? AND seq = ?"
_BODIES = "SELECT seq, version, body FROM entries WHERE conversation = ? AND seq <= ? ORDER BY seq"
_INSERT = f"INSERT INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id"  # noqa: S608 - fixed names
_TITLED = tuple(kind.__name__ for kind in (UserSaid, Occurred, Delegated))


async def fork(db: LogStore, opened: ConversationOpened, into: ConversationId, left: Sequence[AnyFact] = ()) -> int:
    """Begin `into` with the entries of the conversation that `opened.fork` names, up to the number that it names, in
    one durable commit; `opened` stands in place of the first one, and what is `left` behind is told at the end.
    Returns how many entries it has, 0 where one was begun under its key before, in which case nothing changed.

    Raises:
        NotFound: there is no such conversation.
        BadInput: it has no entry of that number, or `into` exists already.
        StoreDamaged: its first entry is not what was stored, or one is missing; nothing was begun.
    """
    assert opened.fork is not None
    source = opened.fork
    return await db.write(lambda connection: _forked(db, connection, source, (into, opened, left)))


def _forked(
    db: LogStore,
    connection: StoreConnection,
    source: ForkedFrom,
    begun: tuple[ConversationId, ConversationOpened, Sequence[AnyFact]],
) -> int:
    into, opened, left = begun
    if source.key and is_taken(connection, source.door, source.key):
        return 0
    known = connection.execute("SELECT last_seq, title FROM conversations WHERE id = ?", (source.of,)).fetchone()
    if known is None:
        raise NotFound(f"There is no conversation {source.of}.", then="`angelia sessions` lists them.")
    last, title = known
    if not 1 <= source.upto <= last:
        raise BadInput(
            f"It has no entry {source.upto}: its last one is {last}.", then="`angelia show --json` has them."
        )
    if connection.execute("SELECT 1 FROM conversations WHERE id = ?", (into,)).fetchone():
        raise BadInput(f"The conversation {into} exists already; nothing was begun.")
    sums = sums_for(source, _first(connection, source.of))
    now = db.clock()
    _add(connection, into, Entry(1, now, replace(opened, fork=replace(source, sums=sums))), FIRST)
    if connection.execute(_COPY, (into, source.of, source.upto)).rowcount != source.upto - 1:
        raise damaged(connection, source.of)
    _refer(connection, source, into, whole=source.upto == last)
    tip = _follow(connection, source, into, title)
    count = source.upto
    for fact in (*_let_go_later(connection, source), *left):
        count += 1
        tip = _add(connection, into, Entry(count, now, fact), tip)
    (place,) = connection.execute("SELECT max(id) FROM entries").fetchone()
    db.tips.follow(Tip(into, count, place, tip))
    return count


def _first(connection: StoreConnection, conversation: ConversationId) -> StoredEntry:
    found = connection.execute(_FIRST, (conversation,)).fetchone()
    if found is None or not fits(FIRST, first := StoredEntry(*found), None):
        raise damaged(connection, conversation)
    return first


def _add(connection: StoreConnection, into: ConversationId, entry: Entry, before: bytes) -> bytes:
    """Add an entry of its own; returns its checksum."""
    row = (into, entry.seq, entry.at, 0, codec.VERSION, codec.kind_of(entry.fact), codec.encode(entry.fact))
    tip = checksum(before, row)
    (place,) = connection.execute(_INSERT, (*row, tip)).fetchone()
    derive(connection, into, place, entry, tip)
    return tip


def _follow(connection: StoreConnection, source: ForkedFrom, into: ConversationId, title: str) -> bytes:
    """Where its log ends, and its title: that of the original, once something was said in it. Returns the checksum of
    its last entry.
    """
    kinds = ", ".join("?" * len(_TITLED))
    query = f"SELECT 1 FROM entries WHERE conversation = ? AND seq BETWEEN 2 AND ? AND kind IN ({kinds}) LIMIT 1"  # noqa: S608
    titled = connection.execute(query, (source.of, source.upto, *_TITLED)).fetchone()
    at, tip = connection.execute(_LAST, (into, source.upto)).fetchone()
    connection.execute(
        "UPDATE conversations SET last_seq = ?, last_at = ?, tip = ?, title = ? WHERE id = ?",
        (source.upto, at, tip, title if titled else "", into),
    )
    return bytes(tip)


def _refer(connection: StoreConnection, source: ForkedFrom, into: ConversationId, *, whole: bool) -> None:
    """Its blobs are those of the entries that it has."""
    if whole:
        query = "INSERT INTO blob_refs SELECT sha256, ? FROM blob_refs WHERE conversation = ? ON CONFLICT DO NOTHING"
        connection.execute(query, (into, source.of))
        return
    for seq, version, body in connection.execute(_BODIES, (source.of, source.upto)).fetchall():
        if b'"sha256"' not in body:
            continue
        fact = codec.decode(body, version=version, where=f"Entry {seq} of {source.of}")
        refs = [(ref.sha256, into) for ref in blobs_in(fact)]
        connection.executemany("INSERT INTO blob_refs VALUES (?, ?) ON CONFLICT DO NOTHING", refs)
        if isinstance(fact, BytesLetGo):
            gone = [(one.sha256, into) for one in fact.pictures]
            connection.executemany("DELETE FROM blob_refs WHERE sha256 = ? AND conversation = ?", gone)


def _let_go_later(connection: StoreConnection, source: ForkedFrom) -> Sequence[BytesLetGo]:
    """What the original let go of after the place at which it is forked: the fork cannot have it either."""
    rows = connection.execute(
        "SELECT body, version FROM entries WHERE conversation = ? AND seq > ? AND kind = ? ORDER BY seq",
        (source.of, source.upto, BytesLetGo.__name__),
    )
    facts = [codec.decode(body, version=version, where=f"Entries of {source.of}") for body, version in rows]
    told = [fact for fact in facts if isinstance(fact, BytesLetGo)]
    gone = tuple(one for fact in told for one in fact.pictures if one.seq <= source.upto)
    return [BytesLetGo(gone, told[-1].hours)] if gone else []
