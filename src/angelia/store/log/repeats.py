"""What comes a second time: a key that its door knows, a delivery settled again, an occurrence that has its fact."""

from angelia.core import codec
from angelia.core.entry import (
    AnyFact,
    DeliveryLetBe,
    DeliveryReached,
    DeliverySettled,
    Imported,
    Keyed,
    NoteProposed,
    Occurred,
    OccurrencesMissed,
    ScheduleState,
    WatchChecked,
)
from angelia.core.ids import ConversationId, DeliveryId
from angelia.store.port import StoreConnection


def is_repeat(connection: StoreConnection, conversation: ConversationId, fact: AnyFact) -> bool:
    """Whether this was stored before, within a job that is under way."""
    if isinstance(fact, DeliverySettled):
        return _settled(connection, conversation, fact)
    if isinstance(fact, DeliveryReached):
        return _reached(connection, conversation, fact)
    if isinstance(fact, DeliveryLetBe):
        return _status(connection, conversation, fact.id) not in ("failed", "unknown")
    if isinstance(fact, NoteProposed):
        return _number_taken(connection, fact)
    if isinstance(fact, Imported):
        return any(fact.count <= known.count for known in imports_of(connection, conversation))
    if isinstance(fact, Occurred | OccurrencesMissed | WatchChecked) and _had_its_time(connection, fact, conversation):
        return True
    if not isinstance(fact, Keyed) or not fact.key:
        return False
    return is_taken(connection, fact.address.door, fact.key)


def is_taken(connection: StoreConnection, door: str, key: str) -> bool:
    """Whether something came in under this key at this door, within a job that is under way."""
    row = connection.execute("SELECT 1 FROM inbox WHERE door = ? AND key = ?", (door, key)).fetchone()
    return row is not None


def imports_of(connection: StoreConnection, conversation: ConversationId) -> list[Imported]:
    """What was imported into a conversation, in order, within a job that is under way."""
    rows = connection.execute(
        "SELECT body, version FROM entries WHERE conversation = ? AND kind = ? ORDER BY seq",
        (conversation, Imported.__name__),
    )
    facts = (codec.decode(body, version=version, where=f"An import of {conversation}") for body, version in rows)
    return [fact for fact in facts if isinstance(fact, Imported)]


def _number_taken(connection: StoreConnection, fact: NoteProposed) -> bool:
    return connection.execute("SELECT 1 FROM notes WHERE number = ?", (fact.number,)).fetchone() is not None


def _had_its_time(
    connection: StoreConnection, fact: Occurred | OccurrencesMissed | WatchChecked, own: ConversationId
) -> bool:
    """Whether an occurrence has its fact, or its schedule is ended or gone; nothing begins while it is paused."""
    begins = isinstance(fact, Occurred)
    schedule = fact.schedule if isinstance(fact, Occurred) else own
    row = connection.execute("SELECT state, upto FROM schedules WHERE conversation = ?", (schedule,)).fetchone()
    if row is None or row[0] == ScheduleState.ENDED:
        return True
    if begins and not fact.due:  # by hand
        return False
    return fact.due <= row[1] or (begins and row[0] != ScheduleState.ACTIVE)


def _settled(connection: StoreConnection, conversation: ConversationId, fact: DeliverySettled) -> bool:
    return _status(connection, conversation, fact.id) not in ("", "queued", "sending")


def _status(connection: StoreConnection, conversation: ConversationId, delivery: DeliveryId) -> str:
    """Where a delivery stands; empty where it was never queued."""
    row = connection.execute(
        "SELECT status FROM outbox WHERE conversation = ? AND id = ?", (conversation, delivery)
    ).fetchone()
    return str(row[0]) if row else ""


def _reached(connection: StoreConnection, conversation: ConversationId, fact: DeliveryReached) -> bool:
    row = connection.execute(
        "SELECT 1 FROM reached WHERE conversation = ? AND id = ? AND platform_id = ? AND reached = ? AND why = ?",
        (conversation, fact.id, fact.platform_id, fact.reached, fact.why),
    ).fetchone()
    return row is not None
