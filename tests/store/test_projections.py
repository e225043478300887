"""Every derived table is a function of the log."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from angelia.core.content import BlobRef, CallStatus, Media, MediaKind, Text
from angelia.core.entry import (
    Address,
    AnyFact,
    ConversationOpened,
    DeliveryLetBe,
    DeliveryQueued,
    DeliveryReach,
    DeliveryReached,
    DeliverySettled,
    DeliveryStarted,
    DeliveryStatus,
    ModelFailed,
    ModelSaid,
    NoteDropped,
    NoteKept,
    NoteKind,
    NoteProposed,
    NoteScope,
    SetupChanged,
    StopReason,
    ToolFinished,
    Usage,
    UserSaid,
)
from angelia.core.failure import Failure, FailureKind
from angelia.core.ids import CallId, ConversationId, DeliveryId
from angelia.core.principal import OWNER
from angelia.store.log.projections import TABLES
from angelia.store.log.references import blobs_in
from angelia.store.log.search import search
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql import upkeep
from angelia.store.sql.database import Database
from tests.examples import examples

CONTENTS = (b"", b"one", b"\x89PNG\r\n\x1a\n", b"%PDF-")

words = st.sampled_from(["", "receipt", "東京都の天気", "the cat", "naïve Ångström", "\ufffd", "' OR 1=1 --"])
doors = st.sampled_from(["terminal", "telegram"])
deliveries = st.sampled_from([DeliveryId("d1"), DeliveryId("d2"), DeliveryId("d3")])
usages = st.builds(Usage, input=st.integers(0, 9), output=st.integers(0, 9))
costs = st.integers(-1, 1000)
numbers = st.integers(1, 3)
notes = st.one_of(
    st.builds(
        NoteProposed,
        number=numbers,
        scope=st.sampled_from(NoteScope),
        about=words,
        what=st.sampled_from(NoteKind),
        text=words,
        by=st.just(OWNER),
        outside=st.lists(numbers, max_size=2).map(tuple),
        replaces=st.integers(0, 3),
    ),
    st.builds(NoteKept, number=numbers, by=st.just(OWNER)),
    st.builds(NoteDropped, number=numbers, by=st.just(OWNER)),
)


def facts(refs: list[BlobRef]) -> st.SearchStrategy[AnyFact]:
    blobs = st.sampled_from(refs)
    media = st.builds(Media, blob=blobs, media=st.sampled_from(MediaKind), name=words)
    parts = st.lists(st.one_of(st.builds(Text, text=words), media), max_size=3).map(tuple)
    addresses = st.builds(Address, door=doors)
    return st.one_of(
        notes,
        st.builds(UserSaid, parts=parts, address=addresses, key=st.sampled_from(["", "1", "2", "3"])),
        st.builds(
            ModelSaid,
            model=st.just("m"),
            parts=st.lists(st.builds(Text, text=words), max_size=2).map(tuple),
            stop=st.just(StopReason.END),
            usage=usages,
            cost=costs,
        ),
        st.builds(
            ModelFailed, model=st.just("m"), failure=st.just(Failure(FailureKind.BUSY)), usage=usages, cost=costs
        ),
        st.builds(ToolFinished, call=st.just(CallId("c1_0")), status=st.just(CallStatus.OK), parts=parts, full=blobs),
        st.builds(SetupChanged, model=st.just("m"), prompt=blobs, tools=blobs, profile=blobs),
        st.builds(DeliveryQueued, id=deliveries, address=addresses, parts=parts, origin=st.just("answer")),
        st.builds(DeliveryStarted, id=deliveries, attempt=st.integers(1, 3)),
        st.builds(DeliverySettled, id=deliveries, status=st.sampled_from(DeliveryStatus), platform_id=words),
        st.builds(DeliveryLetBe, id=deliveries, by=st.just(OWNER)),
        st.builds(DeliveryReached, id=deliveries, platform_id=words, reached=st.sampled_from(DeliveryReach)),
    )


Step = tuple[int, list[AnyFact]]


@pytest.mark.soak
@given(data=st.data())
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
def test_derived_anew_the_tables_are_what_they_were(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_live(Path(folder), data))


async def _live(home: Path, data: st.DataObject) -> None:
    db = Database.open(home)
    transcript, blobs = Transcript(db), BlobStore(home)
    refs = [await blobs.put(content) for content in CONTENTS]
    names = [ConversationId("first"), ConversationId("second")]
    for name in names:
        await transcript.append(name, [ConversationOpened("terminal", "/")])
    one = st.tuples(st.sampled_from(names), st.lists(facts(refs), min_size=1, max_size=3))
    for conversation, some in data.draw(st.lists(one, max_size=12)):
        if not _repeats_itself(some):
            await transcript.append(conversation, some)
    if data.draw(st.booleans()):
        await transcript.erase(names[0], blobs)
    await search(db, OWNER, "receipt")  # brings the index up to the log
    before = await db.write(_everything)
    assert await upkeep.verify(db, blobs) == []
    await upkeep.rebuild(db, blobs)
    assert await db.write(_everything) == before
    db.close()


def _repeats_itself(some: list[AnyFact]) -> bool:
    keys = [(fact.address.door, fact.key) for fact in some if isinstance(fact, UserSaid) and fact.key]
    numbers = [fact.number for fact in some if isinstance(fact, NoteProposed)]
    return len(keys) != len(set(keys)) or len(numbers) != len(set(numbers))


def _everything(connection: Any) -> dict[str, Any]:
    tables = {table: sorted(connection.execute(f"SELECT {columns} FROM {table}")) for table, columns in TABLES.items()}
    connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab (main, words, instance)")
    tables["words"] = sorted(connection.execute("SELECT term, doc, offset FROM temp.terms"))
    return tables


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("inbox", "DELETE FROM inbox"),
        ("reached", "DELETE FROM reached"),
        ("outbox", "UPDATE outbox SET status = 'sent'"),
        ("spending", "UPDATE spending SET cost = cost - 1"),
        ("blob_refs", "DELETE FROM blob_refs"),
        ("conversations", "UPDATE conversations SET title = 'something else'"),
    ],
)
@pytest.mark.anyio
async def test_a_derived_table_that_strays_is_noticed_and_mended(table: str, change: str, db: Database) -> None:
    transcript, blobs, name = Transcript(db), BlobStore(db.home), ConversationId("first")
    ref = await blobs.put(b"picture")
    await transcript.append(
        name,
        [
            ConversationOpened("terminal", "/"),
            UserSaid((Text("hello"), Media(ref, MediaKind.IMAGE)), key="1"),
            ModelSaid("m", (Text("hi"),), StopReason.END, Usage(1, 2), 3),
            DeliveryQueued(DeliveryId("d1"), Address("terminal"), (Text("hi"),), "answer"),
            DeliveryReached(DeliveryId("d1"), "n1", DeliveryReach.READ),
        ],
    )
    assert await upkeep.verify(db, blobs) == []
    await db.write(lambda connection: connection.execute(change))
    problems = await upkeep.verify(db, blobs)
    assert len(problems) == 1
    assert problems[0].startswith(f"The table {table} says ")
    await upkeep.rebuild(db, blobs)
    assert await upkeep.verify(db, blobs) == []


REF = BlobRef("ab" * 32, 4, "text/plain")


def test_every_reference_in_every_kind_of_fact_is_found() -> None:
    """Whatever fields facts will have: those in which a reference can stand are filled with one, and it is found."""
    found = set()
    for kind in get_args(AnyFact):
        fields = {field.name: _filled(field.type) for field in msgspec.structs.fields(kind)}
        if REF in [ref for value in fields.values() for ref in blobs_in(value)]:
            found.add(kind.__name__)
        fact = kind(**fields)
        assert ("sha256" in msgspec.json.encode(fact).decode()) == (list(blobs_in(fact)) != [])
    assert found >= {"UserSaid", "ToolFinished", "SetupChanged", "DeliveryQueued"}


def _filled(kind: Any) -> Any:
    """A value of a declared type, with a reference in it if one can stand there."""
    arguments = get_args(kind)
    if BlobRef in (kind, *arguments):
        return REF
    if Media in (kind, *arguments):
        return Media(REF, MediaKind.IMAGE)
    if arguments and kind.__origin__ is tuple if hasattr(kind, "__origin__") else False:
        inner = _filled(arguments[0])
        return () if inner is None else (inner,)
    return None
