"""Killed at any instant, the store has what it acknowledged, and nothing by halves."""

import os
import time
from pathlib import Path

import pytest

from angelia.core.entry import ConversationOpened
from angelia.core.ids import ConversationId
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql import upkeep
from angelia.store.sql.database import Database
from tests import nursery
from tests.store.processes import line, rest_of, start

pytestmark = pytest.mark.anyio

NAME = ConversationId("c1")
CHILD = "tests.store.child:main"
ENV = dict(os.environ)


@pytest.fixture
async def home(home: Path) -> Path:
    """A home with one conversation that has one entry, closed."""
    db = Database.open(home)
    await Transcript(db).append(NAME, [ConversationOpened("terminal", "/")])
    db.close()
    return home


async def survived(home: Path) -> int:
    """Check the home; how many entries it has."""
    db = Database.open(home)
    assert await upkeep.verify(db, BlobStore(home)) == []
    count = len(await Transcript(db).entries(NAME))
    db.close()
    return count


@pytest.mark.parametrize("occurrence", [1, 2, 3])
async def test_killed_before_the_commit_nothing_was_acknowledged_and_nothing_is_there(
    home: Path, occurrence: int
) -> None:
    argv = ["append", str(home), NAME, "3"]
    ended = await nursery.run_killed_at(f"append.before_commit:{occurrence}", argv, ENV, entry=CHILD)
    assert len(ended.stdout.split()) == occurrence - 1
    assert await survived(home) == occurrence


@pytest.mark.parametrize("occurrence", [1, 2, 3])
async def test_killed_after_the_commit_it_is_there_though_nobody_heard(home: Path, occurrence: int) -> None:
    argv = ["append", str(home), NAME, "3"]
    ended = await nursery.run_killed_at(f"append.after_commit:{occurrence}", argv, ENV, entry=CHILD)
    assert len(ended.stdout.split()) == occurrence - 1
    assert await survived(home) == occurrence + 1


async def test_killed_in_a_shared_commit_all_or_none_are_there(home: Path) -> None:
    argv = ["append_together", str(home), NAME, "50"]
    ended = await nursery.run_killed_at("append.before_commit:1", argv, ENV, entry=CHILD)
    assert (ended.stdout, await survived(home)) == ("", 1)
    ended = await nursery.run_killed_at("append.after_commit:1", argv, ENV, entry=CHILD)
    assert (ended.stdout, await survived(home)) == ("", 51)


@pytest.mark.parametrize("acknowledged", [1, 40, 300])
async def test_killed_at_a_random_instant_every_acknowledged_entry_is_there(home: Path, acknowledged: int) -> None:
    child = start("append", home, NAME, "0")
    heard = [int(line(child)) for _ in range(acknowledged)]
    child.kill()
    heard += [int(text) for text in rest_of(child)]
    there = await survived(home)
    assert heard == list(range(2, len(heard) + 2))
    assert there in (len(heard) + 1, len(heard) + 2)


@pytest.mark.parametrize(("point", "left"), [("blob.before_rename", 0), ("blob.after_rename", 1)])
async def test_killed_while_a_blob_is_stored_it_is_there_whole_or_not_at_all(home: Path, point: str, left: int) -> None:
    await nursery.run_killed_at(f"{point}:1", ["put", str(home), NAME, "0.2"], ENV, entry=CHILD)
    blobs = BlobStore(home)
    assert len(await blobs.all()) == left
    assert await blobs.verify() == []
    assert await blobs.aged(time.time()) == await blobs.all()
    assert len(list((home / "blobs").iterdir())) == left, "what was left unfinished is cleared away"


async def test_eight_processes_that_are_killed_lose_nothing(home: Path) -> None:
    children = [start("append", home, NAME, "0") for _ in range(8)]
    heard = [int(line(child)) for child in children]
    for child in children:
        child.kill()
    heard += [int(text) for child in children for text in rest_of(child)]
    assert len(set(heard)) == len(heard), "no number was given twice"
    assert await survived(home) >= max(heard)
