"""What each entry adds to the tables that are derived from the log; `rebuild` derives them all again."""

from collections.abc import Callable
from typing import Any, NamedTuple

from angelia.core import codec
from angelia.core.content import Content, Media, Text
from angelia.core.entry import (
    AnyFact,
    ApprovalAsked,
    ApprovalGiven,
    ApprovalRefused,
    BytesLetGo,
    CommandGiven,
    ConversationOpened,
    Delegated,
    DeliveryLetBe,
    DeliveryPutOff,
    DeliveryQueued,
    DeliveryReach,
    DeliveryReached,
    DeliverySettled,
    DeliveryStarted,
    DeliveryStatus,
    DoorMoved,
    Entry,
    Keyed,
    LearningEnded,
    ModelFailed,
    ModelSaid,
    NoteDropped,
    NoteKept,
    NoteProposed,
    Occurred,
    OccurrencesMissed,
    PieceArrived,
    PreviewShown,
    PreviewStarted,
    ScheduleChanged,
    Scheduled,
    ScheduleState,
    SetAside,
    SpeechMade,
    ToolFinished,
    Transcribed,
    TurnClosed,
    TurnedAway,
    Usage,
    UserSaid,
    ViewMoved,
    WatchChecked,
    WorkspaceMoved,
)
from angelia.core.errors import CodecError
from angelia.core.ids import ConversationId, DeliveryId
from angelia.core.text import one_line
from angelia.core.timing import source_of
from angelia.store.log.chain import FIRST, StoredEntry, is_copied
from angelia.store.log.examined import by_place, unreadable_at
from angelia.store.log.references import blobs_in
from angelia.store.port import StoreConnection

TABLES = {
    "conversations": "id, opened_at, door, owner, workspace, sandbox, place, title, last_seq, last_at, last_minute,"
    " tip",
    "inbox": "door, key, conversation, seq",
    "outbox": "conversation, id, place, seq, door, origin, status, attempt, platform_id, detail",
    "pieces": "conversation, id, piece, platform_id, doubts",
    "reached": "conversation, id, platform_id, reached, why",
    "doors": "door, chat, thread, person, conversation, place",
    "spending": "at, conversation, seq, principal, model, cost, input, output, cache_read, cache_write",
    "blob_refs": "sha256, conversation",
    "notes": "number, conversation, seq, at, owner, scope, about, what, text, outside, replaces, state, settled_by,"
    " settled_at",
    "schedules": "conversation, owner, place, changed, counted, state, why, upto, source",
    "questions": "conversation, call, place, seq",
    "occurrences": "schedule, place, due, last, count, why, conversation, seq, ending, digest",
}
"""The derived tables, each with its columns; the first ones are its key or lead to it."""

PREVIEW = -1
"""The number of a delivery's preview among its pieces."""

_TITLE_LENGTH = 80


class _At(NamedTuple):
    """Where a fact stands."""

    conversation: ConversationId
    place: int
    entry: Entry


def derive(
    connection: StoreConnection, conversation: ConversationId, place: int, entry: Entry, checksum: bytes
) -> None:
    """Apply what one entry adds. `place` is its row in `entries`, which orders the entries of all conversations."""
    if add := _ADDS.get(type(entry.fact)):
        add(connection, _At(conversation, place, entry), entry.fact)
    _follow(connection, conversation, entry, checksum)


def _follow(connection: StoreConnection, conversation: ConversationId, entry: Entry, checksum: bytes) -> None:
    """What every entry adds, one that was copied too: blobs it refers to or lets go, a title, where its log ends."""
    refer(connection, conversation, entry.fact)
    title, values = _title_by(entry.fact)
    connection.execute(
        f"UPDATE conversations SET last_seq = ?, last_at = ?, tip = ?{title} WHERE id = ?",  # noqa: S608 - fixed text
        (entry.seq, entry.at, checksum, *values, conversation),
    )


def refer(connection: StoreConnection, conversation: ConversationId, fact: AnyFact) -> None:
    """Add the bytes that a fact refers to, and take away those that it lets go."""
    for ref in blobs_in(fact):
        connection.execute("INSERT INTO blob_refs VALUES (?, ?) ON CONFLICT DO NOTHING", (ref.sha256, conversation))
    if isinstance(fact, BytesLetGo):
        gone = [(one.sha256, conversation) for one in fact.pictures]
        connection.executemany("DELETE FROM blob_refs WHERE sha256 = ? AND conversation = ?", gone)


def rederive(log: StoreConnection, into: StoreConnection) -> list[str]:
    """Apply every entry of `log`, oldest first, to tables in `into` that `empty` has emptied; says which cannot be read
    and so add nothing.
    """
    unread = []
    for place, row in by_place(log):
        if row is None:
            unread.append(unreadable_at(place))
            continue
        try:
            derive_stored(into, place, row)
        except CodecError as error:
            unread.append(error.what)
    return unread


def derive_stored(into: StoreConnection, place: int, row: StoredEntry) -> None:
    """Apply an entry as it lies in a log.

    Raises:
        CodecError: it cannot be read, and added nothing.
    """
    fact = codec.decode(row.body, version=row.version, where=f"Entry {row.seq} of {row.conversation}")
    entry, conversation = Entry(row.seq, row.at, fact), ConversationId(row.conversation)
    if is_copied(row):
        _follow(into, conversation, entry, row.sum)
    else:
        derive(into, conversation, place, entry, row.sum)


def empty(connection: StoreConnection) -> None:
    """Forget everything derived. The rows of `conversations` stay, blank, since entries refer to them."""
    for table in TABLES:
        if table != "conversations":
            connection.execute(f"DELETE FROM {table}")  # noqa: S608 - a name from the table above
    connection.execute("UPDATE conversations SET title = '', last_seq = 0, last_at = 0, tip = ?", (FIRST,))


def _opened(connection: StoreConnection, at: _At, fact: ConversationOpened) -> None:
    connection.execute(
        "INSERT INTO conversations (id, opened_at, door, owner, workspace, sandbox, place)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET opened_at = excluded.opened_at, door = excluded.door,"
        " owner = excluded.owner, workspace = excluded.workspace, sandbox = excluded.sandbox,"
        " place = excluded.place",
        (
            at.conversation,
            at.entry.at,
            fact.door,
            str(fact.owner),
            fact.workspace,
            fact.sandbox,
            fact.place or at.conversation,
        ),
    )
    if fact.fork and fact.fork.key:
        _take_key(connection, at, fact.fork.door, fact.fork.key)


def _workspace_moved(connection: StoreConnection, at: _At, fact: WorkspaceMoved) -> None:
    connection.execute("UPDATE conversations SET workspace = ? WHERE id = ?", (fact.workspace, at.conversation))


def give_title(connection: StoreConnection, conversation: ConversationId, fact: AnyFact) -> None:
    """Call a conversation by what was said first in it, or by what is to be done at which times."""
    title, values = _title_by(fact)
    if title:
        connection.execute(
            f"UPDATE conversations SET {title.removeprefix(', ')} WHERE id = ?",  # noqa: S608 - fixed text
            (*values, conversation),
        )


def _title_by(fact: AnyFact) -> tuple[str, tuple[str, ...]]:
    """How a fact changes the title of its conversation, as a part of a statement, and its values."""
    match fact:
        case Scheduled(text=text):
            return ", title = ?", (one_line(text, _TITLE_LENGTH),)
        case UserSaid(parts=parts) | Occurred(parts=parts) | Delegated(parts=parts):
            return ", title = CASE WHEN title = '' THEN ? ELSE title END", (_title(parts),)
        case _:
            return "", ()


def _received(connection: StoreConnection, at: _At, fact: Keyed) -> None:
    if fact.key:
        _take_key(connection, at, fact.address.door, fact.key)


def _take_key(connection: StoreConnection, at: _At, door: str, key: str) -> None:
    connection.execute("INSERT INTO inbox VALUES (?, ?, ?, ?)", (door, key, at.conversation, at.entry.seq))


def _scheduled(connection: StoreConnection, at: _At, fact: Scheduled) -> None:
    connection.execute(
        "INSERT INTO schedules SELECT id, owner, ?, ?, ?, 'active', '', ?, ? FROM conversations WHERE id = ?",
        (at.place, at.place, at.place, fact.since, source_of(fact.when), at.conversation),
    )


def _schedule_changed(connection: StoreConnection, at: _At, fact: ScheduleChanged) -> None:
    row = (fact.state, fact.why, at.place, at.conversation)
    connection.execute("UPDATE schedules SET state = ?, why = ?, changed = ? WHERE conversation = ?", row)
    if fact.state is ScheduleState.ACTIVE:  # failures count anew; what a clock that was ahead dealt with comes again
        anew = (at.place, at.entry.at, at.entry.at, at.conversation)
        back = "upto = CASE WHEN upto > ? THEN ? ELSE upto END"
        connection.execute(f"UPDATE schedules SET counted = ?, {back} WHERE conversation = ?", anew)  # noqa: S608


def _occurred(connection: StoreConnection, at: _At, fact: Occurred) -> None:
    _received(connection, at, fact)
    due = fact.due or at.entry.at
    row = (fact.schedule, at.place, due, due, 1, "", at.conversation, at.entry.seq, fact.digest)
    connection.execute("INSERT INTO occurrences VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?)", row)
    _reached_by(connection, at, fact.schedule, fact.due)


def _missed(connection: StoreConnection, at: _At, fact: OccurrencesMissed) -> None:
    row = (at.conversation, at.place, fact.due, fact.last, fact.count, fact.why, at.conversation, at.entry.seq)
    connection.execute("INSERT INTO occurrences VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'missed', '')", row)
    _reached_by(connection, at, at.conversation, fact.last)


def _checked(connection: StoreConnection, at: _At, fact: WatchChecked) -> None:
    ending = "unseen" if fact.fault else "unchanged"
    row = (at.conversation, at.place, fact.due, fact.due, 1, fact.fault, at.conversation, at.entry.seq, ending)
    connection.execute("INSERT INTO occurrences VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, fact.digest))
    _reached_by(connection, at, at.conversation, fact.due)


def _reached_by(connection: StoreConnection, at: _At, schedule: ConversationId, due: int) -> None:
    """Every occurrence up to `due` has its fact."""
    connection.execute(
        "UPDATE schedules SET upto = CASE WHEN upto < ? THEN ? ELSE upto END, changed = ? WHERE conversation = ?",
        (due, due, at.place, schedule),
    )


def _asked(connection: StoreConnection, at: _At, fact: ApprovalAsked) -> None:
    row = (at.conversation, fact.call, at.place, at.entry.seq)
    connection.execute(
        "INSERT INTO questions VALUES (?, ?, ?, ?)"
        " ON CONFLICT (conversation, call) DO UPDATE SET place = excluded.place, seq = excluded.seq",
        row,
    )


def _answered(connection: StoreConnection, at: _At, fact: ApprovalGiven | ApprovalRefused | ToolFinished) -> None:
    own = (at.conversation, fact.call, f"{fact.call}~%")  # with what a call asked while it ran
    connection.execute("DELETE FROM questions WHERE conversation = ? AND (call = ? OR call LIKE ?)", own)


def _closed(connection: StoreConnection, at: _At, fact: TurnClosed) -> None:
    own = "conversation = ? AND call NOT LIKE '%.%'"  # those of children, who may go on, are named `h1.c2_0`
    connection.execute(f"DELETE FROM questions WHERE {own}", (at.conversation,))  # noqa: S608 - fixed text
    connection.execute(
        "UPDATE occurrences SET ending = ? WHERE conversation = ? AND ending = ''",
        (type(fact.ending).__name__, at.conversation),
    )


def _spent(connection: StoreConnection, at: _At, fact: ModelSaid | ModelFailed | ViewMoved | LearningEnded) -> None:
    usage = fact.usage
    if not isinstance(fact, ModelSaid) and usage == Usage() and fact.cost <= 0:
        return  # nothing came back, nothing is known to be billed
    tokens = (usage.input, usage.output, usage.cache_read, usage.cache_write)
    _paid(connection, at, _payee(fact), (fact.cost, *tokens))
    if isinstance(fact, ModelSaid) and fact.covers:
        connection.execute(_COVER, (at.conversation, at.conversation, fact.model, fact.covers))


_COVER = (
    "UPDATE spending SET cost = 0 WHERE conversation = ? AND seq IN (SELECT seq FROM spending"
    " WHERE conversation = ? AND model = ? AND cost < 0 ORDER BY seq DESC LIMIT ?)"
)
"""Nothing more is owed for replies that a later one pays for as well."""


def _payee(fact: ModelSaid | ModelFailed | ViewMoved | LearningEnded) -> str:
    if isinstance(fact, ViewMoved):
        return fact.summariser or "summariser"
    return fact.by if isinstance(fact, LearningEnded) else fact.model


def _heard(connection: StoreConnection, at: _At, fact: Transcribed) -> None:
    if fact.cost:
        _paid(connection, at, fact.by, (fact.cost, 0, 0, 0, 0))


def _finished(connection: StoreConnection, at: _At, fact: ToolFinished) -> None:
    _answered(connection, at, fact)
    _called(connection, at, fact)


def _called(connection: StoreConnection, at: _At, fact: ToolFinished | SpeechMade) -> None:
    if fact.paid.cost:
        _paid(connection, at, fact.paid.to, (fact.paid.cost, 0, 0, 0, 0))


def _paid(connection: StoreConnection, at: _At, model: str, paid: tuple[int, ...]) -> None:
    """Whose conversation it is pays; `paid` are the cost, and tokens as the table has them."""
    connection.execute(
        "INSERT INTO spending SELECT ?, id, ?, owner, ?, ?, ?, ?, ?, ? FROM conversations WHERE id = ?",
        (at.entry.at, at.entry.seq, model, *paid, at.conversation),
    )


def _queued(connection: StoreConnection, at: _At, fact: DeliveryQueued) -> None:
    connection.execute(
        "INSERT INTO outbox (id, place, conversation, seq, door, origin, status)"
        " VALUES (?, ?, ?, ?, ?, ?, 'queued') ON CONFLICT DO NOTHING",
        (fact.id, at.place, at.conversation, at.entry.seq, fact.address.door, fact.origin),
    )


def _started(connection: StoreConnection, at: _At, fact: DeliveryStarted) -> None:
    connection.execute(
        "UPDATE outbox SET status = 'sending', attempt = ? WHERE conversation = ? AND id = ?",
        (fact.attempt, at.conversation, fact.id),
    )
    _begun(connection, at, fact.id, fact.piece)


def _put_off(connection: StoreConnection, at: _At, fact: DeliveryPutOff) -> None:
    connection.execute(
        "UPDATE outbox SET status = 'queued', detail = ? WHERE conversation = ? AND id = ?",
        (fact.why, at.conversation, fact.id),
    )
    which = (at.conversation, fact.id, fact.piece)
    where = "WHERE conversation = ? AND id = ? AND piece = ?"
    fewer = "CASE WHEN doubts > 0 THEN doubts - 1 ELSE 0 END"
    connection.execute(f"UPDATE pieces SET doubts = {fewer}, platform_id = '' {where}", which)  # noqa: S608
    connection.execute(f"DELETE FROM pieces {where} AND doubts = 0", which)  # noqa: S608 - fixed text


def _arrived(connection: StoreConnection, at: _At, fact: PieceArrived) -> None:
    _there(connection, at, (fact.id, fact.piece), fact.platform_id)


def _preview_started(connection: StoreConnection, at: _At, fact: PreviewStarted) -> None:
    _begun(connection, at, fact.id, PREVIEW)


def _preview_shown(connection: StoreConnection, at: _At, fact: PreviewShown) -> None:
    _there(connection, at, (fact.id, PREVIEW), fact.platform_id)


def _begun(connection: StoreConnection, at: _At, delivery: DeliveryId, piece: int) -> None:
    connection.execute(
        "INSERT INTO pieces (conversation, id, piece, doubts) VALUES (?, ?, ?, 1)"
        " ON CONFLICT (conversation, id, piece) DO UPDATE SET doubts = pieces.doubts + 1",
        (at.conversation, delivery, piece),
    )


def _there(connection: StoreConnection, at: _At, which: tuple[DeliveryId, int], platform_id: str) -> None:
    connection.execute(
        "INSERT INTO pieces (conversation, id, piece, platform_id) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (conversation, id, piece) DO UPDATE SET platform_id = excluded.platform_id",
        (at.conversation, *which, platform_id),
    )


def _door_moved(connection: StoreConnection, at: _At, fact: DoorMoved) -> None:
    connection.execute(
        "INSERT INTO doors (door, chat, thread, person, conversation, place) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (door, chat, thread, person) DO UPDATE SET conversation = excluded.conversation,"
        " place = excluded.place",
        (fact.address.door, fact.address.chat, fact.address.thread, str(fact.person or ""), at.conversation, at.place),
    )


def _settled(connection: StoreConnection, at: _At, fact: DeliverySettled) -> None:
    connection.execute(
        "UPDATE outbox SET status = ?, platform_id = ?, detail = ? WHERE conversation = ? AND id = ?",
        (fact.status, fact.platform_id, fact.detail, at.conversation, fact.id),
    )


def _reached(connection: StoreConnection, at: _At, fact: DeliveryReached) -> None:
    status = DeliveryStatus.FAILED if fact.reached is DeliveryReach.FAILED else DeliveryStatus.CONFIRMED
    connection.execute(
        "UPDATE outbox SET status = ?, detail = ?"
        " WHERE conversation = ? AND id = ? AND status NOT IN ('failed', 'let_be')",
        (status, fact.why or fact.reached, at.conversation, fact.id),
    )
    row = (at.conversation, fact.id, fact.platform_id, fact.reached, fact.why)
    connection.execute("INSERT INTO reached VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row)


def _let_be(connection: StoreConnection, at: _At, fact: DeliveryLetBe) -> None:
    connection.execute(
        "UPDATE outbox SET status = 'let_be' WHERE conversation = ? AND id = ? AND status IN ('failed', 'unknown')",
        (at.conversation, fact.id),
    )


def _note_proposed(connection: StoreConnection, at: _At, fact: NoteProposed) -> None:
    connection.execute(
        "INSERT INTO notes"
        " (number, conversation, seq, at, owner, scope, about, what, text, outside, replaces)"
        " SELECT ?, id, ?, ?, owner, ?, ?, ?, ?, ?, ? FROM conversations WHERE id = ? ON CONFLICT DO NOTHING",
        (
            fact.number,
            at.entry.seq,
            at.entry.at,
            fact.scope,
            fact.about,
            fact.what,
            fact.text,
            len(fact.outside),
            fact.replaces,
            at.conversation,
        ),
    )


def _note_kept(connection: StoreConnection, at: _At, fact: NoteKept) -> None:
    _note_settled(connection, at, "kept", fact)


def _note_dropped(connection: StoreConnection, at: _At, fact: NoteDropped) -> None:
    _note_settled(connection, at, "dropped", fact)


def _note_settled(connection: StoreConnection, at: _At, state: str, fact: NoteKept | NoteDropped) -> None:
    connection.execute(
        "UPDATE notes SET state = ?, settled_by = ?, settled_at = ? WHERE number = ? AND conversation = ?",
        (state, str(fact.by), at.entry.at, fact.number, at.conversation),
    )


def _title(parts: tuple[Content, ...]) -> str:
    words = " ".join(part.text for part in parts if isinstance(part, Text))
    names = " ".join(part.name or part.media for part in parts if isinstance(part, Media))
    return one_line(words, _TITLE_LENGTH) or one_line(names, _TITLE_LENGTH)


_ADDS: dict[type, Callable[[StoreConnection, _At, Any], None]] = {
    ConversationOpened: _opened,
    UserSaid: _received,
    Occurred: _occurred,
    Delegated: _received,
    Scheduled: _scheduled,
    ScheduleChanged: _schedule_changed,
    OccurrencesMissed: _missed,
    WatchChecked: _checked,
    ApprovalAsked: _asked,
    ApprovalGiven: _answered,
    ApprovalRefused: _answered,
    TurnClosed: _closed,
    DoorMoved: _door_moved,
    WorkspaceMoved: _workspace_moved,
    CommandGiven: _received,
    TurnedAway: _received,
    SetAside: _received,
    ModelSaid: _spent,
    ModelFailed: _spent,
    ViewMoved: _spent,
    LearningEnded: _spent,
    Transcribed: _heard,
    ToolFinished: _finished,
    SpeechMade: _called,
    DeliveryQueued: _queued,
    DeliveryStarted: _started,
    DeliveryPutOff: _put_off,
    PieceArrived: _arrived,
    PreviewStarted: _preview_started,
    PreviewShown: _preview_shown,
    DeliverySettled: _settled,
    DeliveryReached: _reached,
    DeliveryLetBe: _let_be,
    NoteProposed: _note_proposed,
    NoteKept: _note_kept,
    NoteDropped: _note_dropped,
}
"""What a kind of fact adds to the derived tables, beyond references to blobs and the end of its conversation."""
