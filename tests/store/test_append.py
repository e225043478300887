"""Appending to the log, and reading it."""

import asyncio
from pathlib import Path

import pytest

from angelia.core.content import BlobRef, Media, MediaKind, Text
from angelia.core.entry import AnyFact, ConversationOpened, DeliveryReach, DeliveryReached, SystemSaid, UserSaid
from angelia.core.errors import BadInput, CodecError, NotFound, StoreError
from angelia.core.ids import ConversationId, DeliveryId, PlaceId, new_conversation
from angelia.core.principal import OWNER, Principal
from angelia.store.log.transcript import Summary, Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql.database import Database
from tests.store import rows
from tests.store.words import answered, said

pytestmark = pytest.mark.anyio

ANN, BOB = Principal("chat", "ann"), Principal("chat", "bob")


async def test_entries_count_from_one_and_come_back_as_they_went_in(
    transcript: Transcript, conversation: ConversationId
) -> None:
    facts: list[AnyFact] = [said("hello"), answered("hi"), SystemSaid("a note")]
    appended = await transcript.append(conversation, facts)
    assert [entry.seq for entry in appended] == [2, 3, 4]
    assert [entry.fact for entry in appended] == facts
    assert (await transcript.entries(conversation))[1:] == appended
    assert await transcript.entries(conversation, after=3) == appended[2:]


async def test_what_was_acknowledged_is_there_after_reopening(home: Path) -> None:
    db = Database.open(home, clock=lambda: 1234)
    conversation = new_conversation()
    await Transcript(db).append(conversation, [ConversationOpened("terminal", "/work"), said("hello")])
    db.close()
    db = Database.open(home)
    entries = await Transcript(db).entries(conversation)
    assert [(entry.seq, entry.at) for entry in entries] == [(1, 1234), (2, 1234)]
    db.close()


async def test_a_conversation_opens_once(transcript: Transcript, conversation: ConversationId) -> None:
    with pytest.raises(BadInput, match="exists already"):
        await transcript.append(conversation, [ConversationOpened("terminal", "/elsewhere")])
    assert len(await transcript.entries(conversation)) == 1


async def test_nothing_is_appended_to_a_conversation_that_does_not_exist(transcript: Transcript) -> None:
    with pytest.raises(NotFound, match="There is no conversation nobody"):
        await transcript.append(ConversationId("nobody"), [said("hello")])
    with pytest.raises(NotFound):
        await transcript.entries(ConversationId("nobody"))


async def test_a_repeat_is_absorbed_with_all_that_came_along(
    transcript: Transcript, conversation: ConversationId
) -> None:
    assert await transcript.append(conversation, [said("hello", key="7")])
    assert await transcript.append(conversation, [said("hello", key="7"), SystemSaid("x")]) == []
    other = new_conversation()
    assert await transcript.append(other, [ConversationOpened("terminal", "/"), said("hello", key="7")]) == []
    assert await transcript.append(conversation, [said("hello", key="7", door="telegram")])
    assert [summary.id for summary in await transcript.conversations(OWNER)] == [conversation]
    assert len(await transcript.entries(conversation)) == 3


async def test_repeats_at_the_same_moment_leave_one_message(
    transcript: Transcript, conversation: ConversationId
) -> None:
    tries = [transcript.append(conversation, [said("hello", key=f"{n % 40}")]) for n in range(400)]
    appended = await asyncio.gather(*tries)
    assert sum(len(entries) for entries in appended) == 40
    assert len(await transcript.entries(conversation)) == 41


async def test_what_a_network_tells_of_a_message_twice_or_at_the_same_moment_is_written_down_once(
    transcript: Transcript, conversation: ConversationId
) -> None:
    told = [
        DeliveryReached(DeliveryId(f"d{delivery}"), f"n{message}", reached, why)
        for delivery, message in ((1, 1), (1, 2), (2, 1))
        for reached, why in ((DeliveryReach.READ, ""), (DeliveryReach.FAILED, "gone"), (DeliveryReach.FAILED, "full"))
    ]
    appended = await asyncio.gather(*(transcript.append(conversation, [fact]) for fact in told * 3))
    assert sorted(len(entries) for entries in appended) == [0] * 2 * len(told) + [1] * len(told)
    assert [entry.fact for entry in (await transcript.entries(conversation))[1:]] == told


async def test_many_conversations_at_once_have_no_gaps(transcript: Transcript) -> None:
    async def live(conversation: ConversationId) -> list[int]:
        await transcript.append(conversation, [ConversationOpened("terminal", "/")])
        for number in range(10):
            await transcript.append(conversation, [said(f"{number}"), answered(f"{number}")])
        return [entry.seq for entry in await transcript.entries(conversation)]

    numbers = await asyncio.gather(*(live(new_conversation()) for _ in range(50)))
    assert numbers == [list(range(1, 22))] * 50


async def test_one_that_fails_takes_nothing_from_its_neighbours(
    transcript: Transcript, conversation: ConversationId
) -> None:
    lost = Media(BlobRef("0" * 64, 3, "image/png"), MediaKind.IMAGE)
    good, bad, also_good = await asyncio.gather(
        transcript.append(conversation, [said("before")]),
        transcript.append(conversation, [said("half of this"), UserSaid((lost,))]),
        transcript.append(conversation, [said("after")]),
        return_exceptions=True,
    )
    assert isinstance(bad, NotFound)
    assert "is not in the store" in str(bad)
    assert isinstance(good, list)
    assert isinstance(also_good, list)
    assert [good[0].seq, also_good[0].seq] == [2, 3]
    assert [entry.fact for entry in await transcript.entries(conversation, after=1)] == [said("before"), said("after")]


async def test_an_entry_from_the_future_is_refused_by_name(
    db: Database, transcript: Transcript, conversation: ConversationId
) -> None:
    await db.write(lambda connection: rows.insert(connection, conversation, 2, b"", version=9))
    with pytest.raises(CodecError, match=f"Entry 2 of {conversation} was written in format 9"):
        await transcript.entries(conversation)


async def test_the_newest_conversation_is_the_last_in_the_log_whatever_the_clock_said(home: Path) -> None:
    now = iter([3_000_000, 3_000_001, 1000, 1001, 1002, 1003])
    db = Database.open(home, clock=lambda: next(now))
    transcript = Transcript(db)
    assert await transcript.newest(OWNER) is None
    for name in ("three-years-ahead", "today"):
        await transcript.append(ConversationId(name), [ConversationOpened("terminal", "/")])
        await transcript.append(ConversationId(name), [said("hello")])
    await transcript.append(ConversationId("a-guests"), [ConversationOpened("chat", "/", owner=Principal("chat", "7"))])
    assert await transcript.newest(OWNER) == "today"
    assert await transcript.newest(Principal("chat", "7")) == "a-guests"
    db.close()


async def test_conversations_are_listed_by_last_use_with_their_first_words(home: Path) -> None:
    now = iter(range(1000, 2000))
    db = Database.open(home, clock=lambda: next(now))
    transcript = Transcript(db)
    first, second = ConversationId("a"), ConversationId("b")
    await transcript.append(first, [ConversationOpened("terminal", "/w", owner=ANN), said("one\n line")])
    await transcript.append(second, [ConversationOpened("acp", "/v", owner=BOB)])
    assert [summary.id for summary in await transcript.conversations(OWNER)] == [second, first]
    await transcript.append(first, [said("more")])
    assert await transcript.conversations(OWNER, limit=1) == [
        Summary(first, "one line", 1000, 1002, 3, "terminal", ANN, "/w", "local", PlaceId(first))
    ]
    assert [summary.id for summary in await transcript.conversations(OWNER, owner=BOB)] == [second]
    db.close()


async def test_a_message_without_words_is_called_by_its_files(
    transcript: Transcript, conversation: ConversationId, blobs: BlobStore
) -> None:
    ref = await blobs.put(b"GIF89a")
    await transcript.append(conversation, [UserSaid((Text("  "), Media(ref, MediaKind.IMAGE, name="cat.gif")))])
    assert (await transcript.conversations(OWNER))[0].title == "cat.gif"


async def test_a_conversation_is_found_by_its_beginning_or_its_end(transcript: Transcript) -> None:
    for name in ("01abc", "01abd", "01xbd"):
        await transcript.append(ConversationId(name), [ConversationOpened("terminal", "/")])
    assert await transcript.find(OWNER, "01X") == "01xbd"
    assert await transcript.find(OWNER, "bc") == "01abc"
    assert await transcript.find(OWNER, "01abd") == "01abd"
    with pytest.raises(BadInput, match=r"fits 2 conversations: .*01abd"):
        await transcript.find(OWNER, "01a")
    for nothing in ("zz", "", "%"):
        with pytest.raises(NotFound):
            await transcript.find(OWNER, nothing)


async def test_a_closed_store_says_so(db: Database, transcript: Transcript, conversation: ConversationId) -> None:
    db.close()
    with pytest.raises(StoreError, match="already closed"):
        await transcript.append(conversation, [said("too late")])


async def test_what_was_asked_for_before_closing_is_done(home: Path) -> None:
    db = Database.open(home)
    transcript, conversation = Transcript(db), new_conversation()
    task = asyncio.create_task(transcript.append(conversation, [ConversationOpened("terminal", "/")]))
    await asyncio.sleep(0)
    db.close()
    assert [entry.seq for entry in await task] == [1]


async def test_ten_thousand_entries_open(transcript: Transcript, conversation: ConversationId) -> None:
    for _ in range(10):
        await transcript.append(conversation, [answered(f"line {number}") for number in range(1000)])
    assert len(await transcript.entries(conversation)) == 10_001
