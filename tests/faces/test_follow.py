"""The log streams out as it grows: nothing twice, nothing missed, across restarts, deaths and erasures."""

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from angelia.core.entry import ConversationOpened
from angelia.core.errors import BadInput, NotFound
from angelia.core.ids import ConversationId
from angelia.faces.cli.follow import follow_to_file
from angelia.service.settings.config import load
from angelia.service.stored_home import StoredHome
from angelia.store.log.follow import BEGINNING, FollowedEntry, LogMark, follow, read_mark
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql.database import Database
from tests import nursery
from tests.store.words import said

pytestmark = pytest.mark.anyio

ONE, TWO, THREE = (ConversationId(f"c{number}") for number in (1, 2, 3))


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    db = Database.open(tmp_path / "home")
    yield db
    db.close()


async def begin(db: Database, conversation: ConversationId, count: int = 2) -> None:
    words = [said(f"{conversation} {number}") for number in range(count)]
    await Transcript(db).append(conversation, [ConversationOpened("terminal", "/work"), *words])


async def some(db: Database, *known: LogMark) -> list[FollowedEntry]:
    """The next entries."""
    async for entries in follow(db, known):
        return entries
    raise AssertionError("it never ends by itself")


async def written(home: Path, file: Path, count: int) -> list[str]:
    """Follow into a file until it has so many lines; then those that it has, by what they say."""
    opened = StoredHome.open(load(home, {}))
    following = asyncio.create_task(follow_to_file(opened, file))
    while (file.read_bytes().count(b"\n") if file.exists() else 0) < count:
        await asyncio.wait([following], timeout=0.01)
        if following.done():
            await following
    following.cancel()
    with suppress(asyncio.CancelledError):
        await following
    opened.db.close()
    return told(file)


def told(file: Path) -> list[str]:
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [f"{line['conversation']}.{line['seq']}" for line in lines]


async def test_every_entry_comes_once_in_order_and_what_is_appended_follows(db: Database) -> None:
    await begin(db, ONE)
    await begin(db, TWO, 1)
    following = follow(db)
    first = await anext(following)
    assert [(one.mark.conversation, one.mark.seq) for one in first] == [
        (ONE, 1),
        (ONE, 2),
        (ONE, 3),
        (TWO, 1),
        (TWO, 2),
    ]
    coming = asyncio.ensure_future(anext(following))
    await Transcript(db).append(ONE, [said("more")])
    assert [(one.mark.conversation, one.mark.seq) for one in await coming] == [(ONE, 4)]
    assert [one.mark.seq for one in await some(db, read_mark(str(first[2].mark)))] == [1, 2, 4]


async def test_what_comes_after_the_last_entry_was_erased_is_not_missed(db: Database) -> None:
    await begin(db, ONE)
    await begin(db, TWO)
    following = follow(db)
    before = await anext(following)
    await Transcript(db).erase(TWO, BlobStore(db.home))
    await begin(db, THREE, 1)
    after = await anext(following)
    assert [(one.mark.conversation, one.mark.seq) for one in after] == [(THREE, 1), (THREE, 2)]
    assert after[0].mark.place > before[-1].mark.place, "no place is given again"
    with pytest.raises(NotFound, match="not in the log any more"):
        await some(db, before[-1].mark)
    assert await some(db, BEGINNING, *(one.mark for one in before)) == after


async def test_a_file_goes_on_where_it_ended_also_within_a_line(db: Database, tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    await begin(db, ONE)
    assert await written(db.home, file, 3) == ["c1.1", "c1.2", "c1.3"]
    file.write_bytes(file.read_bytes()[:-10])
    await begin(db, TWO)
    assert await written(db.home, file, 6) == ["c1.1", "c1.2", "c1.3", "c2.1", "c2.2", "c2.3"]
    await Transcript(db).erase(TWO, BlobStore(db.home))
    await begin(db, THREE, 0)
    assert (await written(db.home, file, 7))[6:] == ["c3.1"]
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("point", ["follow.before_write", "follow.after_write"])
async def test_killed_around_a_write_it_has_each_line_once(db: Database, tmp_path: Path, point: str) -> None:
    file = tmp_path / "log.jsonl"
    env = {**os.environ, "ANGELIA_HOME": str(db.home)}
    argv = ["export", "--follow", "-o", str(file)]
    await begin(db, ONE)
    await nursery.run_killed_at(f"{point}:1", argv, env)
    await begin(db, TWO)
    await nursery.run_killed_at(f"{point}:1", argv, env)
    assert await written(db.home, file, 6) == ["c1.1", "c1.2", "c1.3", "c2.1", "c2.2", "c2.3"]


async def test_a_file_of_something_else_stays_as_it_is_and_two_do_not_write_one(db: Database, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    home = StoredHome.open(load(db.home, {}))
    for text in ("mine\nand not finished", "mine", '{"mark":"1.c1.1"}\n{"mine": 1}\n'):
        other.write_text(text)
        with pytest.raises(BadInput, match="is not what `export --follow` has written"):
            await follow_to_file(home, other)
        assert other.read_text() == text
    first = asyncio.create_task(follow_to_file(home, tmp_path / "log.jsonl"))
    while not (tmp_path / "log.jsonl").exists():
        await asyncio.wait([first], timeout=0.01)
    with pytest.raises(BadInput, match="Somebody else follows"):
        await follow_to_file(home, tmp_path / "log.jsonl")
    first.cancel()
    await asyncio.wait([first])
    home.db.close()


@pytest.mark.parametrize("text", ["", "7", "7.c1", "x.c1.3", "7..3"])
def test_what_is_no_mark_is_said(text: str) -> None:
    with pytest.raises(BadInput, match="is no mark"):
        read_mark(text)
