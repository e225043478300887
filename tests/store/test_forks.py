"""A fork has the past of another conversation, entry by entry, and what that past did is not done or counted twice."""

import sqlite3
from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus, Media, MediaKind, Text
from angelia.core.errors import BadInput, NotFound, StoreDamaged
from angelia.core.ids import CallId, CommandKey, ConversationId, delivery_id, new_conversation, wall_clock
from angelia.core.principal import OWNER
from angelia.service.conversation.forks import fork_conversation
from angelia.store.log.search import search
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql.database import Database
from angelia.store.sql.upkeep import rebuild, sweep, verify
from angelia.store.tables.outbox import Outbox

pytestmark = pytest.mark.anyio

TURN = 5
"""Entries of each turn of the story."""


async def story(transcript: Transcript, blobs: BlobStore, turns: int = 3) -> ConversationId:
    """So many turns with a picture each, all of them paid, whose answers have not arrived yet."""
    conversation = new_conversation()
    facts: list[e.AnyFact] = [e.ConversationOpened("terminal", "/garden")]
    for number in range(1, turns + 1):
        ref = await blobs.put(f"picture {number}".encode(), mime="image/png")
        asked = len(facts) + 1
        answer = delivery_id(conversation, f"t{number}")
        facts += [
            e.UserSaid((Text(f"beetroot {number}"), Media(ref, MediaKind.IMAGE, f"{number}.png")), key=f"k{number}"),
            e.ModelAsked("m", 1, (asked,)),
            e.ModelSaid("m", (Text("There."),), e.StopReason.END, e.Usage(100, 10), cost=7),
            e.TurnClosed(end.Answered()),
            e.DeliveryQueued(answer, e.Address("terminal"), (Text("There."),), "answer"),
        ]
    await transcript.append(conversation, facts)
    return conversation


async def forked(transcript: Transcript, source: ConversationId, at: int = 0) -> ConversationId:
    return await fork_conversation(transcript, source, at, wall_clock)


async def test_a_fork_at_every_place_has_the_entries_up_to_there(transcript: Transcript, blobs: BlobStore) -> None:
    source = await story(transcript, blobs)
    original = await transcript.entries(source)
    for at in range(1, len(original) + 1):
        made = await forked(transcript, source, at)
        entries = await transcript.entries(made)
        assert entries[1:at] == original[1:at]
        first = entries[0].fact
        assert isinstance(first, e.ConversationOpened)
        assert (first.fork, first.workspace, first.place) == (e.ForkedFrom(source, at), "/garden", "")
    assert await transcript.entries(source) == original


async def test_without_a_place_it_begins_before_the_turn_that_is_open(transcript: Transcript, blobs: BlobStore) -> None:
    source = await story(transcript, blobs, turns=1)
    await transcript.append(source, [e.UserSaid((Text("more"),)), e.ModelAsked("m", 1, (7,))])
    entries = await transcript.entries(await forked(transcript, source))
    assert e.UserSaid((Text("more"),)) not in [entry.fact for entry in entries]
    assert isinstance(entries[5].fact, e.DeliveryQueued)


async def test_what_happened_once_is_not_done_or_counted_again(
    db: Database, transcript: Transcript, blobs: BlobStore
) -> None:
    source = await story(transcript, blobs)
    paid, owed = await transcript.spent(OWNER, 0), await Outbox(db).pending("terminal")
    found = await search(db, OWNER, "beetroot")
    for at in (0, 1 + TURN):
        made = await forked(transcript, source, at)
        assert (await transcript.summary(OWNER, made)).title == "beetroot 1"
        assert await transcript.spent(OWNER, 0, made) == await transcript.spent(OWNER, 2**53, made)
    assert await transcript.spent(OWNER, 0) == paid
    assert await Outbox(db).pending("terminal") == owed
    assert [hit.conversation for hit in (await search(db, OWNER, "beetroot")).hits] == [
        hit.conversation for hit in found.hits
    ]
    repeat = [e.UserSaid((Text("beetroot 1"),), key="k1")]
    assert await transcript.append(made, repeat) == []  # the key is the original's, as before
    facts = [entry.fact for entry in await transcript.entries(made)]
    queued = {fact.id for fact in facts if isinstance(fact, e.DeliveryQueued)}
    assert queued == {fact.id for fact in facts if isinstance(fact, e.DeliverySettled)}


async def test_what_is_asked_for_again_under_its_key_is_the_fork_that_was_begun(
    transcript: Transcript, blobs: BlobStore, db: Database
) -> None:
    source, key = await story(transcript, blobs), CommandKey("web", "k")
    made = await fork_conversation(transcript, source, 5, wall_clock, asked=key)
    await transcript.append(source, [e.UserSaid((Text("meanwhile"),), key="later")])
    assert await fork_conversation(transcript, source, 5, wall_clock, asked=key) == made
    await rebuild(db, blobs)
    assert await fork_conversation(transcript, source, 0, wall_clock, asked=key) == made, "also after a rebuild"
    assert await fork_conversation(transcript, source, 5, wall_clock, asked=CommandKey("web", "l")) != made
    assert await forked(transcript, source) != await forked(transcript, source), "without a key each is another"


async def test_the_store_is_whole_with_forks_and_a_rebuild_makes_the_same_tables(
    db: Database, transcript: Transcript, blobs: BlobStore
) -> None:
    source = await story(transcript, blobs)
    for at in (0, 1, 4, 9):
        again = await forked(transcript, source, at)
        await forked(transcript, again)
    assert await verify(db, blobs) == []
    assert await rebuild(db, blobs) == []
    assert await verify(db, blobs) == []


async def test_a_fork_outlives_the_original_with_its_pictures(
    db: Database, transcript: Transcript, blobs: BlobStore
) -> None:
    source = await story(transcript, blobs)
    whole, early = await forked(transcript, source), await forked(transcript, source, 1 + TURN)
    await transcript.erase(source, blobs)
    await sweep(db, blobs, older_than_s=0)
    pictures = [
        part.blob
        for entry in await transcript.entries(whole)
        if isinstance(entry.fact, e.UserSaid)
        for part in entry.fact.parts
        if isinstance(part, Media)
    ]
    assert [await blobs.get(ref.sha256) for ref in pictures] == [b"picture 1", b"picture 2", b"picture 3"]
    assert len(await transcript.entries(early)) == 1 + TURN + 1
    assert await verify(db, blobs) == []
    await transcript.erase(whole, blobs)
    assert not await blobs.has(pictures[-1])


async def test_no_byte_of_a_picture_is_copied(home: Path, transcript: Transcript, blobs: BlobStore) -> None:
    source = await story(transcript, blobs)
    before = sorted(await blobs.all())
    await forked(transcript, source)
    assert sorted(await blobs.all()) == before


async def test_what_goes_on_behind_a_call_stays_with_the_original(transcript: Transcript, blobs: BlobStore) -> None:
    source = await story(transcript, blobs, turns=1)
    await transcript.append(source, [e.WorkStarted(CallId("c3_0"), e.WorkKind.PROCESS, "make", "life")])
    (last,) = [
        entry.fact
        for entry in await transcript.entries(await forked(transcript, source))
        if isinstance(entry.fact, e.WorkEnded)
    ]
    assert (last.call, last.status) == (CallId("c3_0"), CallStatus.UNKNOWN)


async def test_where_nothing_can_begin_is_said(transcript: Transcript, blobs: BlobStore) -> None:
    source = await story(transcript, blobs, turns=1)
    with pytest.raises(BadInput, match="none of number 99"):
        await forked(transcript, source, 99)
    with pytest.raises(NotFound):
        await forked(transcript, new_conversation())
    chat: list[e.AnyFact] = [e.UserSaid((Text("?"),), address=e.Address("telegram", "7")), e.ModelAsked("m", 1, (7,))]
    await transcript.append(source, chat)
    with pytest.raises(BadInput, match="answered at telegram once more") as refused:
        await forked(transcript, source, 8)
    assert "Fork it at 6" in str(refused.value)
    child = new_conversation()
    terms = e.ChildTerms(source, source, "one")
    await transcript.append(child, [e.ConversationOpened(e.PARENT, "/garden", child=terms)])
    with pytest.raises(BadInput, match="works for another"):
        await forked(transcript, child)


async def test_a_damaged_log_is_not_carried_on(
    home: Path, db: Database, transcript: Transcript, blobs: BlobStore
) -> None:
    """The store itself looks, too: by the checksums of what it copies."""
    source = await story(transcript, blobs)
    with sqlite3.connect(home / "angelia.db") as other:
        other.execute("DROP TRIGGER entries_never_change")
        other.execute("UPDATE entries SET at = 1 WHERE seq = 4")
    other.close()
    opened = e.ConversationOpened("terminal", "/garden", fork=e.ForkedFrom(source, 9))
    with pytest.raises(StoreDamaged, match="Entry 4"):
        await transcript.fork(opened, new_conversation())
    assert [one.id for one in await transcript.conversations(OWNER)] == [source]
