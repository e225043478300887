"""Erased means erased: the entries, the words, the bytes; and nothing else."""

import asyncio

import pytest

from angelia.core.content import BlobRef, Media, MediaKind, Text
from angelia.core.entry import (
    Address,
    AnyFact,
    ApprovalAsked,
    ApprovalGiven,
    ConversationOpened,
    DeliveryQueued,
    Entry,
    Scope,
    UserSaid,
)
from angelia.core.errors import Fenced, NotFound
from angelia.core.ids import CallId, ConversationId, DeliveryId
from angelia.core.principal import OWNER
from angelia.store.log.lease import HeldElsewhere
from angelia.store.log.search import search
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql import upkeep
from angelia.store.sql.database import Database
from angelia.store.tables.grants import Grants
from angelia.store.tables.outbox import Outbox
from tests.store.leases import acquire
from tests.store.words import answered, said

pytestmark = pytest.mark.anyio

OTHER = ConversationId("other")


def picture(ref: BlobRef) -> UserSaid:
    return UserSaid((Text("look, xyzzyplugh"), Media(ref, MediaKind.IMAGE)), key="1")


async def test_a_conversation_goes_with_all_that_belongs_to_it_alone(
    db: Database, transcript: Transcript, conversation: ConversationId, blobs: BlobStore
) -> None:
    mine, shared = await blobs.put(b"only mine"), await blobs.put(b"shared")
    asked = ApprovalAsked(CallId("c1_0"), "May I?", "d", pattern="shell:ls")
    await transcript.append(
        conversation,
        [
            picture(mine),
            UserSaid((Media(shared, MediaKind.IMAGE),)),
            DeliveryQueued(DeliveryId("d1"), Address("terminal"), (), "answer"),
            asked,
            ApprovalGiven(CallId("c1_0"), "d", OWNER, Scope.CONVERSATION),
        ],
    )
    await transcript.append(OTHER, [ConversationOpened("terminal", "/"), UserSaid((Media(shared, MediaKind.IMAGE),))])
    await transcript.erase(conversation, blobs)
    with pytest.raises(NotFound):
        await transcript.entries(conversation)
    assert [summary.id for summary in await transcript.conversations(OWNER)] == [OTHER]
    assert await blobs.all() == [shared.sha256]
    assert await Outbox(db).pending("terminal") == []
    assert await Grants(db).list(OWNER) == []
    assert (await search(db, OWNER, "xyzzyplugh")).hits == ()
    assert await upkeep.verify(db, blobs) == []


@pytest.mark.parametrize("count", [1, 10, 100])
async def test_no_word_of_it_is_left_in_any_file(
    db: Database, transcript: Transcript, conversation: ConversationId, blobs: BlobStore, count: int
) -> None:
    def anywhere(word: bytes) -> bool:  # the index keeps only the end of a word that begins like the one before it
        return any(word in path.read_bytes() for path in db.home.glob("angelia.db*"))

    await transcript.append(OTHER, [ConversationOpened("terminal", "/")])
    for number in range(count):
        await transcript.append(conversation, [said(f"xyzzyplugh{number} " + "x" * 3000)])
        await transcript.append(OTHER, [answered(f"something else {number}")])
    assert len((await search(db, OWNER, "xyzzyplugh0")).hits) == 1
    assert anywhere(b"zzyplugh")
    await transcript.erase(conversation, blobs)
    assert not anywhere(b"zzyplugh")
    assert len((await search(db, OWNER, "something", limit=200)).hits) == count
    assert len(await transcript.entries(OTHER)) == count + 1


async def test_entries_that_come_after_an_erasure_are_found(
    db: Database, transcript: Transcript, conversation: ConversationId, blobs: BlobStore
) -> None:
    """SQLite gives the erased rows' numbers out again; the index must not take them for its own."""
    await transcript.append(conversation, [said(f"old {number}") for number in range(100)])
    await search(db, OWNER, "old")
    await transcript.erase(conversation, blobs)
    await transcript.append(OTHER, [ConversationOpened("terminal", "/"), said("new")])
    assert len((await search(db, OWNER, "new")).hits) == 1


async def test_what_was_paid_stays_counted(
    transcript: Transcript, conversation: ConversationId, blobs: BlobStore
) -> None:
    await transcript.append(conversation, [answered("dear", cost=700)])
    before = await transcript.spent(OWNER, 0)
    assert before.cost == 700
    await transcript.erase(conversation, blobs)
    assert await transcript.spent(OWNER, 0) == before


async def test_a_conversation_that_somebody_works_on_is_not_erased(
    db: Database, transcript: Transcript, conversation: ConversationId, blobs: BlobStore
) -> None:
    lease = await acquire(db, conversation, "the gateway")
    with pytest.raises(HeldElsewhere, match="the gateway"):
        await transcript.erase(conversation, blobs)
    await lease.release()
    await transcript.erase(conversation, blobs)
    with pytest.raises(Fenced):
        await transcript.append(conversation, [answered("late")], lease=lease)


async def test_a_blob_that_others_come_to_need_meanwhile_is_kept_or_they_are_told(
    db: Database, transcript: Transcript, blobs: BlobStore
) -> None:
    """Whatever the order, no entry ever refers to bytes that are gone."""

    async def after_writes(count: int, conversation: ConversationId, facts: list[AnyFact]) -> list[Entry]:
        for _ in range(count):
            await db.write(lambda connection: connection.execute("SELECT 1"))
        return await transcript.append(conversation, facts)

    ends = set()
    for number in range(6):
        name, after = ConversationId(f"c{number}"), ConversationId(f"d{number}")
        ref = await blobs.put(f"picture {number}".encode())
        await transcript.append(name, [ConversationOpened("terminal", "/"), UserSaid((Media(ref, MediaKind.IMAGE),))])
        also: list[AnyFact] = [ConversationOpened("terminal", "/"), UserSaid((Media(ref, MediaKind.IMAGE),))]
        _, appended = await asyncio.gather(
            transcript.erase(name, blobs), after_writes(number, after, also), return_exceptions=True
        )
        ends.add(type(appended))
        there = blobs.path(ref.sha256).exists()
        assert there if isinstance(appended, list) else isinstance(appended, NotFound)
    assert ends == {list, NotFound}, "both orders were tried"


async def test_erasing_what_is_not_there_says_so(transcript: Transcript, blobs: BlobStore) -> None:
    with pytest.raises(NotFound):
        await transcript.erase(ConversationId("nobody"), blobs)
