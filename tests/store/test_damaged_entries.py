"""One damaged entry keeps no other from being listed, and stands in its place with why it cannot be read."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ids import CallId, ConversationId, DeliveryId
from angelia.core.principal import OWNER
from angelia.store.log.audit_trail import AuditQuery, Decided, audit_trail, newest_decisions
from angelia.store.log.examined import UnreadableEntry
from angelia.store.log.follow import UNKNOWN, follow
from angelia.store.log.transcript import Transcript
from angelia.store.port import LogStore
from angelia.store.sql.database import FILE, Database
from angelia.store.tables.outbox import UNREADABLE, Outbox
from angelia.store.tables.questions import WaitingQuestions

pytestmark = pytest.mark.anyio

DAMAGES = pytest.mark.parametrize(
    ("change", "why"),
    [
        ("body = x'7b2278'", "cannot be read"),
        ("body = CAST(replace(CAST(body AS TEXT), 'c1_0', 'c9_0') AS BLOB)", "is not what was stored there"),
        ("version = 99", "was written in format 99"),
    ],
    ids=["torn", "altered", "newer"],
)
FIRST = CallId("c1_0")
CALLS = (FIRST, CallId("c2_0"))


def tear_page(home: Path, holding: bytes) -> None:
    """What a failing disk may do to the page that holds these bytes."""
    content = bytearray((home / FILE).read_bytes())
    content[content.index(holding) // 4096 * 4096] = 255  # no kind of page
    (home / FILE).write_bytes(content)


async def damage(db: LogStore, kind: str, change: str) -> None:
    """What a failing disk or an editor may do to the first entry of a kind."""
    await db.write(lambda connection: connection.execute("DROP TRIGGER IF EXISTS entries_never_change"))
    first = "(SELECT min(id) FROM entries WHERE kind = ?)"
    await db.write(lambda connection: connection.execute(f"UPDATE entries SET {change} WHERE id = {first}", (kind,)))


@DAMAGES
async def test_of_questions(
    db: LogStore, transcript: Transcript, conversation: ConversationId, change: str, why: str
) -> None:
    calls = [e.ApprovalAsked(call, f"May I do {call}?", "d") for call in CALLS]
    await transcript.append(conversation, calls)
    await damage(db, "ApprovalAsked", change)
    torn, whole = await WaitingQuestions(db).all(OWNER)
    assert isinstance(torn.asked, UnreadableEntry)
    assert f"Entry {torn.seq} of {conversation} {why}" in torn.asked.why
    assert "angelia store salvage" in torn.asked.why
    assert whole.asked == calls[1]


@DAMAGES
async def test_of_decisions_whoever_they_are_asked_of(
    db: LogStore, transcript: Transcript, conversation: ConversationId, change: str, why: str
) -> None:
    await transcript.append(conversation, [e.ApprovalRefused(call, OWNER) for call in CALLS])
    await damage(db, "ApprovalRefused", change)
    wanted = AuditQuery(person=OWNER)
    trail = [one async for one in _up_to_now(db, wanted)]
    assert trail == list(reversed(await newest_decisions(db, wanted, 0, 10)))
    torn, whole = trail
    assert isinstance(torn.fact, UnreadableEntry)
    assert f"Entry {torn.seq} of {conversation} {why}" in torn.fact.why
    assert whole.fact == e.ApprovalRefused(CALLS[1], OWNER)


@DAMAGES
async def test_of_decisions_and_of_what_was_asked_before_them(
    db: LogStore, transcript: Transcript, conversation: ConversationId, change: str, why: str
) -> None:
    asked = [e.ApprovalAsked(FIRST, words, "d") for words in ("May I?", "And this?")]
    await transcript.append(conversation, [*asked, e.ApprovalRefused(FIRST, OWNER)])
    await damage(db, "ApprovalAsked", change)
    await transcript.append(conversation, [e.ApprovalRefused(CALLS[1], OWNER)])
    assert [one.question for one in await newest_decisions(db, AuditQuery(), 0, 10)] == ["", "And this?"]


@DAMAGES
async def test_of_deliveries(
    db: LogStore, transcript: Transcript, conversation: ConversationId, change: str, why: str
) -> None:
    to = e.Address("door", "7")
    queued = [e.DeliveryQueued(DeliveryId(f"d{call}"), to, (Text(f"Did {call}."),), "reply") for call in CALLS]
    await transcript.append(conversation, queued)
    await damage(db, "DeliveryQueued", change)
    torn, whole = await Outbox(db).pending("door")
    assert (torn.id, torn.parts) == (queued[0].id, UNREADABLE.parts), why
    assert whole.parts == queued[1].parts
    assert await Outbox(db).newest(OWNER, 10) == [whole, torn]


async def test_of_what_lies_where_the_file_is_damaged(home: Path, conversation: ConversationId, db: LogStore) -> None:
    calls = [e.ApprovalAsked(call, f"May I do {call}?", "d", why="so " * 1_300) for call in CALLS]
    await Transcript(db).append(conversation, calls)
    db.close()
    tear_page(home, b"May I do c1_0")
    again = Database.open(home)
    torn, whole = await WaitingQuestions(again).all(OWNER)
    assert isinstance(torn.asked, UnreadableEntry)
    assert "lies where the file is damaged" in torn.asked.why
    assert whole.asked == calls[1]
    again.close()


async def test_of_the_stream_of_all_entries(home: Path, conversation: ConversationId, db: LogStore) -> None:
    calls = [e.ApprovalAsked(call, f"May I do {call}?", "d", why="so " * 1_300) for call in (*CALLS, CallId("c3_0"))]
    await Transcript(db).append(conversation, calls)
    await damage(db, "ApprovalAsked", "body = x'7b2278'")
    db.close()
    tear_page(home, b"May I do c2_0")
    again = Database.open(home)
    found = await anext(follow(again))
    torn = [one for one in found if isinstance(one.entry, UnreadableEntry)]
    assert [one.mark.conversation for one in torn] == [conversation, UNKNOWN]
    assert isinstance(last := found[-1].entry, e.Entry)
    assert last.fact == calls[-1]
    assert await anext(follow(again, [one.mark for one in found[:-1]])) == found[-1:], "it goes on behind it"
    again.close()


async def _up_to_now(db: LogStore, wanted: AuditQuery) -> AsyncIterator[Decided]:
    async for found in audit_trail(db, wanted):
        if not found:
            return
        for one in found:
            yield one
