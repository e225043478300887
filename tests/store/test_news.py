"""Who waits for entries is woken, whoever appends them."""

import asyncio
import subprocess
import sys

import pytest

from angelia.core.errors import NotFound
from angelia.core.ids import ConversationId, new_conversation
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql.database import Database
from tests.store.words import said

pytestmark = pytest.mark.anyio


async def test_news_that_is_there_comes_at_once(transcript: Transcript, conversation: ConversationId) -> None:
    assert [entry.seq for entry in await transcript.news(conversation, lambda: 0)] == [1]


async def test_news_of_this_process_wakes_all_who_wait(transcript: Transcript, conversation: ConversationId) -> None:
    waiting = [asyncio.create_task(transcript.news(conversation, lambda: 1)) for _ in range(3)]
    await asyncio.sleep(0)
    appended = await transcript.append(conversation, [said("hello")])
    assert await asyncio.gather(*waiting) == [appended] * 3


async def test_news_of_another_process_is_noticed(
    db: Database, transcript: Transcript, conversation: ConversationId
) -> None:
    waiting = asyncio.create_task(transcript.news(conversation, lambda: 1))
    command = [sys.executable, "-m", "tests.store.child", "append", str(db.home), conversation, "1"]
    await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)
    assert [entry.fact for entry in await waiting] == [said("number 1")]


async def test_news_of_another_connection_is_noticed_by_everyone_who_waits_for_it(
    db: Database, transcript: Transcript, conversation: ConversationId
) -> None:
    other = Database.open(db.home)
    elsewhere = new_conversation()
    await transcript.append(elsewhere, [(await transcript.entries(conversation))[0].fact])
    waiting = asyncio.create_task(transcript.news(conversation, lambda: 1))
    also_waiting = asyncio.create_task(transcript.news(elsewhere, lambda: 1))
    await Transcript(other).append(conversation, [said("from elsewhere")])
    assert [entry.seq for entry in await waiting] == [2]
    assert not also_waiting.done()
    await Transcript(other).append(elsewhere, [said("this too")])
    assert [entry.seq for entry in await also_waiting] == [2]
    other.close()


async def test_nothing_is_missed_by_one_who_always_asks_for_what_is_next(
    transcript: Transcript, conversation: ConversationId
) -> None:
    async def follow() -> list[int]:
        seen: list[int] = []
        while len(seen) < 101:
            seen += [entry.seq for entry in await transcript.news(conversation, seen.__len__)]
        return seen

    following = asyncio.create_task(follow())
    for number in range(100):
        await transcript.append(conversation, [said(f"{number}")])
    assert await following == list(range(1, 102))


async def test_who_stops_waiting_leaves_nobody_watching(transcript: Transcript, conversation: ConversationId) -> None:
    waiting = asyncio.create_task(transcript.news(conversation, lambda: 1))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert transcript._news._watch is None


async def test_waiting_for_what_does_not_exist_or_is_erased_ends(
    transcript: Transcript, conversation: ConversationId, blobs: BlobStore
) -> None:
    with pytest.raises(NotFound):
        await transcript.news(ConversationId("nobody"), lambda: 0)
    waiting = asyncio.create_task(transcript.news(conversation, lambda: 1))
    await asyncio.sleep(0)
    await transcript.erase(conversation, blobs)
    with pytest.raises(NotFound):
        await waiting
