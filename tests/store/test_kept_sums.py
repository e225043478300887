"""A fork's entries keep the checksums that they were written with, whatever is forked, written anew or erased."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from angelia.core import codec
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.errors import StoreDamaged
from angelia.core.ids import ConversationId, new_conversation, wall_clock
from angelia.core.principal import ERASED, OWNER
from angelia.service.conversation.forks import fork_conversation
from angelia.service.people.blanked import blanked
from angelia.store.log.chain import COPIED, FIRST, checksum
from angelia.store.log.rewrite import Rewriting, rewrite
from angelia.store.log.search import search
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.port import LogStore, StoreConnection
from angelia.store.sql.database import FILE, Database
from angelia.store.sql.salvage import salvage
from angelia.store.sql.upkeep import rebuild, verify
from angelia.store.tables.outbox import Outbox
from tests.examples import examples
from tests.store.test_forks import TURN, story

pytestmark = pytest.mark.anyio

_INSERT = "INSERT INTO entries (conversation, seq, at, epoch, version, kind, body, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"

Step = tuple[str, int, int]
"""What is done, to which conversation, at which entry; numbers beyond the last one count from the first again."""
STEPS = st.tuples(st.sampled_from(("fork", "fork", "fork", "go on", "blank", "erase")), st.integers(0), st.integers(0))


async def older_fork(db: LogStore, transcript: Transcript, source: ConversationId, upto: int) -> ConversationId:
    """A fork as versions before this one stored it: each entry with a checksum made for it."""
    into, entries = new_conversation(), (await transcript.entries(source))[1:upto]

    def store(connection: StoreConnection) -> None:
        opened = e.ConversationOpened("terminal", "/garden", fork=e.ForkedFrom(source, upto))
        before = FIRST
        connection.execute(
            "INSERT INTO conversations (id, opened_at, door, owner, workspace, sandbox, place)"
            " VALUES (?, 1, 'terminal', 'owner', '/garden', 'local', ?)",
            (into, into),
        )
        for entry in (e.Entry(1, 1, opened), *entries):
            epoch = COPIED if entry.seq > 1 else 0
            kind, body = codec.kind_of(entry.fact), codec.encode(entry.fact)
            row = (into, entry.seq, entry.at, epoch, codec.VERSION, kind, body)
            before = checksum(before, row)
            connection.execute(_INSERT, (*row, before))

    await db.write(store)
    await rebuild(db, BlobStore(db.home))
    return into


def tampered(home: Path, *statements: str) -> None:
    with closing(sqlite3.connect(home / FILE)) as other:
        for trigger in ("entries_never_change", "entries_stay"):
            other.execute(f"DROP TRIGGER IF EXISTS {trigger}")
        for statement in statements:
            other.execute(statement)
        other.commit()


@settings(deadline=None, max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=2, max_size=8))
async def test_a_family_of_forks_is_whole_whatever_becomes_of_its_members(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    db = Database.open(tmp_path_factory.mktemp("family") / "home")
    transcript, blobs = Transcript(db), BlobStore(db.home)
    source = await story(transcript, blobs, turns=2)
    old = await older_fork(db, transcript, source, 1 + TURN)
    said = {one: [entry.fact for entry in await transcript.entries(one)] for one in (source, old)}
    for what, which, where in steps:
        one = list(said)[which % len(said)]
        place = where % len(said[one])
        match what:
            case "fork":
                made = await fork_conversation(transcript, one, place + 1, wall_clock)
                said[made] = [entry.fact for entry in await transcript.entries(made)]
                assert said[made][1 : place + 1] == said[one][1 : place + 1]
            case "go on":
                more = e.UserSaid((Text(f"more {len(said[one])}"),))
                await transcript.append(one, [more])
                said[one].append(more)
            case "blank":
                fact, told = blanked(said[one][place]), e.WordsErased(1, OWNER)
                await rewrite(db, Rewriting(one, {place + 1: fact}, (told,)), blobs)
                said[one] = [*said[one][:place], fact, *said[one][place + 1 :], told]
            case _:
                if len(said) > 1:
                    await transcript.erase(one, blobs)
                    del said[one]
    assert await verify(db, blobs) == []
    for one, facts in said.items():
        assert [entry.fact for entry in await transcript.entries(one)][1:] == facts[1:]
        assert [entry.fact for entry in await transcript.entries(one, after=3)] == facts[3:]
    db.close()


async def test_a_fork_that_an_older_version_stored_is_read_gone_on_with_and_forked(
    db: Database, transcript: Transcript, blobs: BlobStore
) -> None:
    source = await story(transcript, blobs)
    old = await older_fork(db, transcript, source, 1 + 2 * TURN)
    await transcript.append(old, [e.UserSaid((Text("and on"),))])
    made = await fork_conversation(transcript, old, 0, wall_clock)
    again = await fork_conversation(transcript, made, TURN, wall_clock)
    original = await transcript.entries(source)
    assert (await transcript.entries(old))[1:11] == (await transcript.entries(made))[1:11] == original[1:11]
    assert (await transcript.entries(again))[1:5] == original[1:5]
    assert await verify(db, blobs) == []


async def test_what_was_altered_fits_neither_in_the_original_nor_in_forks_of_it(
    home: Path, db: Database, transcript: Transcript, blobs: BlobStore
) -> None:
    source = await story(transcript, blobs)
    early = await fork_conversation(transcript, source, 0, wall_clock)
    tampered(home, f"UPDATE entries SET at = 1 WHERE seq = 4 AND conversation = '{source}'")
    late = new_conversation()
    await transcript.fork(e.ConversationOpened("terminal", "/garden", fork=e.ForkedFrom(source, 9)), late)
    await transcript.entries(early)
    with pytest.raises(StoreDamaged, match=f"Entry 4 of {late} is not what was stored there"):
        await transcript.entries(late)
    with pytest.raises(StoreDamaged, match=f"Entry 4 of {late}"):
        await transcript.entries(late, after=2)
    assert sorted(line for line in await verify(db, blobs) if "Entry 4" in line) == sorted(
        f"Entry 4 of {one} is not what was stored there." for one in (source, late)
    )


@pytest.mark.parametrize("seq", range(1, 8))
async def test_an_entry_of_a_fork_that_was_altered_is_named(
    home: Path, db: Database, transcript: Transcript, blobs: BlobStore, seq: int
) -> None:
    source = await story(transcript, blobs)
    made = await fork_conversation(transcript, source, 6, wall_clock)
    once_more = await fork_conversation(transcript, made, 0, wall_clock)
    tampered(home, f"UPDATE entries SET at = at + 1 WHERE seq = {seq} AND conversation = '{once_more}'")
    assert len(await transcript.entries(made)) == 7
    with pytest.raises(StoreDamaged, match=f"Entry {seq} of {once_more} is not what was stored there"):
        await transcript.entries(once_more)


async def test_where_the_first_entry_cannot_be_read_that_alone_is_said(
    home: Path, db: Database, transcript: Transcript, blobs: BlobStore
) -> None:
    source = await story(transcript, blobs)
    made = await fork_conversation(transcript, source, 0, wall_clock)
    tampered(home, f"UPDATE entries SET body = x'7b' WHERE seq = 1 AND conversation = '{made}'")
    entries, damages = await transcript.legible(made)
    assert [entry.seq for entry in entries] == list(range(2, len(await transcript.entries(source)) + 4))
    assert [damage.seq for damage in damages] == [1]
    with pytest.raises(StoreDamaged, match="Entry 1 of"):
        await transcript.entries(made, after=3)


async def test_what_was_erased_in_a_fork_leaves_no_sum_of_the_log_that_it_was_written_to(
    db: Database, transcript: Transcript, blobs: BlobStore
) -> None:
    source = await story(transcript, blobs)
    made = await fork_conversation(transcript, source, 0, wall_clock)
    await rewrite(db, Rewriting(made, {2: e.UserSaid((Text("(erased)"),), ERASED)}, (e.WordsErased(1, OWNER),)), blobs)
    opened = (await transcript.entries(made))[0].fact
    assert isinstance(opened, e.ConversationOpened)
    assert opened.fork == e.ForkedFrom(source, 16)
    rows = await db.read(lambda connection: connection.execute("SELECT sum FROM entries").fetchall())
    assert len(set(rows)) == len(rows), "no entry has the checksum of another one"


@pytest.mark.parametrize("lost", ["nothing", "the first entry of the fork", "the original"])
async def test_of_a_damaged_home_forks_are_saved_and_do_nothing_twice(
    home: Path, db: Database, transcript: Transcript, blobs: BlobStore, tmp_path: Path, lost: str
) -> None:
    source = await story(transcript, blobs)
    made = await fork_conversation(transcript, source, 0, wall_clock)
    paid, owed = await transcript.spent(OWNER, 0), await Outbox(db).pending("terminal")
    facts = [entry.fact for entry in await transcript.entries(made)]
    if lost == "the original":
        await transcript.erase(source, blobs)
    elif lost != "nothing":
        tampered(home, f"UPDATE entries SET body = x'7b' WHERE seq = 1 AND conversation = '{made}'")
    db.close()
    await salvage(home, tmp_path / "saved", BlobStore(home))
    saved = Database.open(tmp_path / "saved")
    again = Transcript(saved)
    assert [entry.fact for entry in await again.entries(made)][1:] == facts[1:]
    assert await verify(saved, BlobStore(tmp_path / "saved")) == []
    if lost != "the original":
        assert await again.spent(OWNER, 0) == paid
        assert await Outbox(saved).pending("terminal") == owed
    hits = (await search(saved, OWNER, "beetroot")).hits
    assert {hit.conversation for hit in hits} <= {source}
    saved.close()
