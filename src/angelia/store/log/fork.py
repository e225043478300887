"""Begins a conversation with the past of another one: its entries under the same numbers, its blobs by reference.

Entries are copied, and not referred to: so each log is whole by itself, with a chain of its own, and the original may
be deleted. What such a copy says happened once: it pays nothing, delivers nothing, proposes no note, absorbs no key and
is found by no search. Its rows say so themselves (`COPIED`), so a rebuild passes over them too.
"""

from collections.abc import Sequence

from angelia.core import codec
from angelia.core.entry import AnyFact, BytesLetGo, ConversationOpened, Delegated, Entry, ForkedFrom, Occurred, UserSaid
from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import ConversationId
from angelia.store.log.chain import COPIED, FIRST, checksum
from angelia.store.log.examined import damaged
from angelia.store.log.projections import derive
from angelia.store.log.references import blobs_in
from angelia.store.log.repeats import is_taken
from angelia.store.port import LogStore, StoreConnection
from angelia.store.sql.tips import Tip

_ROWS = "SELECT seq, at, epoch, version, kind, body, sum FROM entries WHERE conversation = ? AND seq <= ? ORDER BY seq"
_INSERT = """
    INSERT INTO entries (conversation, seq, at, epoch, version, kind, body, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_TITLED = tuple(kind.__name__ for kind in (UserSaid, Occurred, Delegated))


async def fork(db: LogStore, opened: ConversationOpened, into: ConversationId, left: Sequence[AnyFact] = ()) -> int:
    """Begin `into` with the entries of the conversation that `opened.fork` names, up to the number that it names, in
    one durable commit; `opened` stands in place of the first one, and what is `left` behind is told at the end.
    Returns how many entries it has, 0 where one was begun under its key before, in which case nothing changed.

    Raises:
        NotFound: there is no such conversation.
        BadInput: it has no entry of that number, or `into` exists already.
        StoreDamaged: an entry is not what was stored; nothing was begun.
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
    now = db.clock()
    first = (into, 1, now, 0, codec.VERSION, codec.kind_of(opened), codec.encode(opened))
    tip = checksum(FIRST, first)
    (place,) = connection.execute(f"{_INSERT} RETURNING id", (*first, tip)).fetchone()
    derive(connection, into, place, Entry(1, now, opened), tip)
    rows: list[tuple[object, ...]] = []
    titled, before = False, FIRST
    for seq, at, epoch, version, kind, body, known_sum in connection.execute(_ROWS, (source.of, source.upto)):
        expected = checksum(before, (source.of, seq, at, epoch, version, kind, body))
        if expected != known_sum or seq != len(rows) + 1:
            raise damaged(connection, source.of)
        before = known_sum
        row = first if seq == 1 else (into, seq, at, COPIED, version, kind, body)
        tip = tip if seq == 1 else checksum(tip, row)
        rows.append((*row, tip))
        titled = titled or kind in _TITLED
    connection.executemany(_INSERT, rows[1:])
    _refer(connection, source, into, whole=source.upto == last)
    for fact in (*_let_go_later(connection, source), *left):
        row = (into, len(rows) + 1, now, 0, codec.VERSION, codec.kind_of(fact), codec.encode(fact))
        tip = checksum(tip, row)
        (place,) = connection.execute(f"{_INSERT} RETURNING id", (*row, tip)).fetchone()
        derive(connection, into, place, Entry(len(rows) + 1, now, fact), tip)
        rows.append((*row, tip))
    connection.execute(
        "UPDATE conversations SET last_seq = ?, last_at = ?, tip = ?, title = ? WHERE id = ?",
        (len(rows), rows[-1][2], tip, title if titled else "", into),
    )
    (place,) = connection.execute("SELECT max(id) FROM entries").fetchone()
    db.tips.follow(Tip(into, len(rows), place, tip))
    return len(rows)


def _refer(connection: StoreConnection, source: ForkedFrom, into: ConversationId, *, whole: bool) -> None:
    """Its blobs are those of the entries that it has."""
    if whole:
        query = "INSERT INTO blob_refs SELECT sha256, ? FROM blob_refs WHERE conversation = ? ON CONFLICT DO NOTHING"
        connection.execute(query, (into, source.of))
        return
    for seq, _, _, version, _, body, _ in connection.execute(_ROWS, (source.of, source.upto)).fetchall():
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
