"""A fork has the past of another conversation, entry by entry, and what that past did is not done or counted twice."""

import os
import resource
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
from angelia.store.port import LogStore
from angelia.store.sql.database import Database
from angelia.store.sql.upkeep import rebuild, sweep, verify
from angelia.store.tables.outbox import Outbox
from tests import nursery

pytestmark = pytest.mark.anyio

ENGINES = ["sqlite", pytest.param("postgres", marks=pytest.mark.real("postgres"))]

TURN = 5
"""Entries of each turn of the story."""
CHILD = "tests.store.child:main"


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
        assert first.fork is not None
        assert (first.fork.of, first.fork.upto, first.workspace, first.place) == (source, at, "/garden", "")
    assert await transcript.entries(source) == original


@contextmanager
def no_file_is_opened() -> Iterator[None]:
    """No further file can be opened by this process."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_what_is_copied_of_a_long_log_is_put_down_nowhere_beside_it(
    transcript: Transcript, blobs: BlobStore
) -> None:
    source = await story(transcript, blobs, turns=1)
    await forked(transcript, source)  # what is opened once is open from now on
    await transcript.append(source, [e.UserSaid((Text("beetroot " * 1_000),)) for _ in range(500)])
    last = (await transcript.summary(OWNER, source)).last_seq
    with no_file_is_opened():
        made = await forked(transcript, source, last)
    assert (await transcript.entries(made))[1:last] == (await transcript.entries(source))[1:]


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


@pytest.mark.parametrize("engine", ENGINES)
async def test_the_store_is_whole_with_forks_of_forks_and_a_rebuild_makes_the_same_tables(
    db: LogStore, transcript: Transcript, blobs: BlobStore
) -> None:
    source = await story(transcript, blobs)
    original = await transcript.entries(source)
    for at in (0, 1, 4, 9):
        again = await forked(transcript, source, at)
        whole, count = await transcript.entries(again), at or len(original)
        inner = await forked(transcript, await forked(transcript, again, len(whole)), len(whole))
        assert whole[1:count] == original[1:count]
        assert (await transcript.entries(inner))[1:] == whole[1:]
    assert await verify(db, blobs) == []
    assert await rebuild(db, blobs) == []
    assert await verify(db, blobs) == []


async def test_a_fork_outlives_the_original_with_its_pictures(
    db: Database, transcript: Transcript, blobs: BlobStore
) -> None:
    source = await story(transcript, blobs)
    whole, early = await forked(transcript, source), await forked(transcript, source, 1 + TURN)
    await transcript.erase(source, blobs)
    await sweep(db, blobs, time.time())
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


async def test_what_was_on_its_way_at_that_place_is_settled_once_in_the_fork(
    transcript: Transcript, blobs: BlobStore
) -> None:
    """Also what arrived since, and in forks of forks; not what was sent later."""
    source = await story(transcript, blobs)
    await transcript.append(source, [e.DeliverySettled(delivery_id(source, "t1"), e.DeliveryStatus.SENT)])
    for of, at, sent in ((source, 17, 3), (source, 6, 1), (await forked(transcript, source), 11, 2)):
        facts = [entry.fact for entry in await transcript.entries(await forked(transcript, of, at))]
        queued = sorted(fact.id for fact in facts if isinstance(fact, e.DeliveryQueued))
        assert len(queued) == sent
        assert sorted(fact.id for fact in facts if isinstance(fact, e.DeliverySettled)) == queued


async def test_a_fork_works_where_the_original_was_moved_to(transcript: Transcript, blobs: BlobStore) -> None:
    source = await story(transcript, blobs, turns=1)
    await transcript.append(source, [e.WorkspaceMoved("/orchard", OWNER)])
    for one in (source, await forked(transcript, source)):
        assert (await transcript.opening(await forked(transcript, one, 3))).workspace == "/orchard"


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
    source = await story(transcript, blobs)
    with sqlite3.connect(home / "angelia.db") as other:
        other.execute("DROP TRIGGER entries_never_change")
        other.execute("UPDATE entries SET at = 1 WHERE seq = 4")
    other.close()
    made = await forked(transcript, source, 9)
    with pytest.raises(StoreDamaged, match=f"Entry 4 of {made}"):
        await transcript.entries(made)
    assert len(await transcript.entries(await forked(transcript, source, 3))) == 3, "before it there is no damage"


@pytest.mark.parametrize("point", ["append.before_commit:1", "append.after_commit:1", "tips.written:1"])
async def test_killed_in_the_middle_of_a_fork_there_is_one_or_none_and_once_more_gives_one(
    home: Path, db: Database, transcript: Transcript, blobs: BlobStore, point: str
) -> None:
    source = await story(transcript, blobs)
    db.close()
    ended = await nursery.run_killed_at(point, ["fork", str(home), source, "k"], dict(os.environ), entry=CHILD)
    assert (ended.status, ended.stdout) == (-signal.SIGKILL, "")
    opened = Database.open(home)
    begun = [one.id for one in await Transcript(opened).conversations(OWNER)]
    assert len(begun) == (1 if point.startswith("append.before") else 2)
    assert await verify(opened, blobs) == []
    made = await fork_conversation(Transcript(opened), source, 0, wall_clock, asked=CommandKey("web", "k"))
    assert {*begun, made} == {one.id for one in await Transcript(opened).conversations(OWNER)}
    assert (await Transcript(opened).entries(made))[1:16] == (await Transcript(opened).entries(source))[1:16]
    opened.close()


@pytest.mark.parametrize("seq", [1, 5])
async def test_a_log_that_lacks_an_entry_is_not_carried_on(
    home: Path, db: Database, transcript: Transcript, blobs: BlobStore, seq: int
) -> None:
    """The store itself looks, too; what was altered does not fit in the fork either."""
    source = await story(transcript, blobs)
    with sqlite3.connect(home / "angelia.db") as other:
        other.execute("DROP TRIGGER entries_stay")
        other.execute(f"DELETE FROM entries WHERE seq = {seq}")
    other.close()
    opened = e.ConversationOpened("terminal", "/garden", fork=e.ForkedFrom(source, 9))
    with pytest.raises(StoreDamaged, match=f"Entry {seq} of {source} cannot be found"):
        await transcript.fork(opened, new_conversation())
    assert [one.id for one in await transcript.conversations(OWNER)] == [source]
