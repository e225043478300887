"""A reply that could not be stored is paid for once: it is stored when there is room, and nobody asks again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.errors import StoreFull
from angelia.core.principal import OWNER
from angelia.engine.live import Live
from angelia.engine.log import Log
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.port import UNSTORED
from angelia.store.sql.database import Database
from angelia.testing.model.steps import say
from tests.engine.driven import Driven, driven

pytestmark = pytest.mark.anyio

LONG = "x" * 400_000


async def limit(db: Database, more: int) -> None:
    """Let the database become no larger than by so many of its pages."""
    pages = await db.write(lambda connection: connection.execute("PRAGMA page_count").fetchone()[0])
    await db.write(lambda connection: connection.execute(f"PRAGMA max_page_count = {pages + more}"))


@asynccontextmanager
async def answered_on_a_full_disk(folder: Path) -> AsyncIterator[Driven]:
    """There was room for the request and none for the long answer; by now there is."""
    async with driven(folder, [say(LONG), say("Again.")]) as one:
        await one.say("Tell me everything.")
        await limit(one.db, 20)
        with pytest.raises(StoreFull):
            await one.drive()
        assert len(one.facts(e.ModelAsked)) == 1
        await limit(one.db, 1_000_000)
        yield one


async def test_it_is_stored_once_there_is_room(tmp_path: Path) -> None:
    async with answered_on_a_full_disk(tmp_path) as one:
        await one.drive()
        assert len(one.facts(e.ModelAsked)) == len(one.provider.requests) == 1
        assert [words for origin, _, words in one.told if origin == "answer"] == [LONG]


@asynccontextmanager
async def in_another_life(one: Driven) -> AsyncIterator[Driven]:
    """The process ends; another one opens the conversation."""
    one.transcript = Transcript(one.db)
    one.log = Log(one.log.conversation, one.transcript, Live())
    yield one


async def test_it_is_stored_by_the_next_process(tmp_path: Path) -> None:
    async with answered_on_a_full_disk(tmp_path) as one, in_another_life(one):
        await one.drive()
        assert len(one.provider.requests) == len(one.facts(e.ModelSaid)) == 1
        assert [words for origin, _, words in one.told if origin == "answer"] == [LONG]
        assert not list((one.db.home / UNSTORED).iterdir())


async def test_where_nothing_can_be_written_it_is_told_that_it_goes_with_the_process(tmp_path: Path) -> None:
    async with driven(tmp_path, [say(LONG), say("Again.")]) as one:
        (one.db.home / UNSTORED).write_text("in the way")
        await one.say("Tell me everything.")
        await limit(one.db, 20)
        with pytest.raises(StoreFull, match="kept only as long as this process runs"):
            await one.drive()
        await limit(one.db, 1_000_000)
        async with in_another_life(one):
            await one.drive()
        assert len(one.provider.requests) == 2, "nobody has it any more"


async def test_it_is_erased_with_its_conversation(tmp_path: Path) -> None:
    async with answered_on_a_full_disk(tmp_path) as one:
        assert [path.name for path in (one.db.home / UNSTORED).iterdir()] == [one.log.conversation]
        await one.transcript.erase(one.log.conversation, BlobStore(one.db.home))
        assert not list((one.db.home / UNSTORED).iterdir())


async def test_it_is_stored_by_whoever_opens_the_conversation_again(tmp_path: Path) -> None:
    async with answered_on_a_full_disk(tmp_path) as one:
        one.log = Log(one.log.conversation, one.transcript, Live())
        await one.drive()
        assert len(one.provider.requests) == len(one.facts(e.ModelSaid)) == 1


async def test_it_counts_where_somebody_has_stopped_the_turn_by_then(tmp_path: Path) -> None:
    async with answered_on_a_full_disk(tmp_path) as one:
        await one.log.append(e.CancelAsked(OWNER))
        await one.drive()
        assert len(one.provider.requests) == len(one.facts(e.ModelSaid)) == 1


async def test_a_reply_to_an_earlier_request_is_not_taken_for_one_to_a_later(tmp_path: Path) -> None:
    async with answered_on_a_full_disk(tmp_path) as one:
        asked = one.facts(e.ModelAsked)[0]
        await one.transcript.append(one.log.conversation, [asked])  # another process has asked since, and died of it
        await one.drive()
        assert len(one.provider.requests) == 2
        assert [words for origin, _, words in one.told if origin == "answer"] == ["Again."]
