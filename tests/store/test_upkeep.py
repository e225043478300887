"""A home can be checked, mended, copied and swept."""

import asyncio
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from angelia.core.content import Media, MediaKind
from angelia.core.entry import ConversationOpened, UserSaid
from angelia.core.errors import BadInput, NotFound, StoreDamaged
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.store.log.search import search
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.port import StoreConnection
from angelia.store.sql import database, upkeep
from angelia.store.sql.copies import copy_daily
from angelia.store.sql.copy_folder import copies
from angelia.store.sql.database import FILE, Database
from tests import nursery
from tests.store import rows
from tests.store.processes import command, line, output, rest_of, start
from tests.store.words import said

pytestmark = pytest.mark.anyio


@pytest.fixture
async def picture(transcript: Transcript, conversation: ConversationId, blobs: BlobStore) -> str:
    """The name of the bytes that an entry of the conversation refers to."""
    ref = await blobs.put(b"GIF89a and so on")
    await transcript.append(conversation, [said("needle"), UserSaid((Media(ref, MediaKind.IMAGE),))])
    return ref.sha256


async def test_a_sound_home_has_no_problems(db: Database, blobs: BlobStore, picture: str) -> None:
    assert await upkeep.verify(db, blobs) == []


async def test_missing_and_damaged_blobs_are_named(db: Database, blobs: BlobStore, picture: str) -> None:
    path = blobs.path(picture)
    path.chmod(0o600)
    path.write_bytes(b"something else")
    assert await upkeep.verify(db, blobs) == [f"The blob {picture} holds other bytes than were stored."]
    path.unlink()
    assert await upkeep.verify(db, blobs) == [f"The blob {picture} is missing."]


async def test_gaps_and_unreadable_entries_are_named(
    db: Database, blobs: BlobStore, conversation: ConversationId
) -> None:
    await db.write(lambda connection: rows.insert(connection, conversation, 5, b"{}"))
    problems = await upkeep.verify(db, blobs)
    assert problems[0] == f"Entries 2 to 4 of {conversation} cannot be found."
    assert problems[1].startswith(f"Entry 5 of {conversation} cannot be read")


async def test_of_a_long_log_the_conversations_used_last_are_looked_through(
    db: Database, transcript: Transcript, blobs: BlobStore
) -> None:
    old, middle, new = (ConversationId(name) for name in ("old", "middle", "new"))
    for name, at in ((middle, 2), (new, 3), (old, 1)):
        await transcript.append(name, [ConversationOpened("terminal", "/w"), said("needle")], at=[at, at])
    await db.write(lambda connection: rows.insert(connection, old, 5, b"{}"))
    whole = await upkeep.verify(db, blobs)
    assert await upkeep.verify_newest(db, blobs, 7) == upkeep.PartlyVerified(tuple(whole), 3, 3)
    part = await upkeep.verify_newest(db, blobs, 3)
    assert part == upkeep.PartlyVerified((), 2, 3), "it looks at what nobody used for long"
    await db.write(lambda connection: rows.insert(connection, new, 5, b"{}"))
    part = await upkeep.verify_newest(db, blobs, 3)
    assert part.problems[0] == f"Entries 3 to 4 of {new} cannot be found."


async def test_an_index_that_lost_words_is_noticed_and_rebuilt(
    db: Database, transcript: Transcript, conversation: ConversationId, blobs: BlobStore
) -> None:
    await transcript.append(conversation, [said("needle"), said("needle again")])
    await search(db, OWNER, "needle")
    lose = "INSERT INTO words (words, rowid, text) VALUES ('delete', 2, 'needle')"
    await db.write(lambda connection: connection.execute(lose))
    assert len((await search(db, OWNER, "needle")).hits) == 1
    (problem,) = await upkeep.verify(db, blobs)
    assert problem.startswith("The full-text index knows 1 of 2 entries")
    await upkeep.rebuild(db, blobs)
    assert await upkeep.verify(db, blobs) == []
    assert len((await search(db, OWNER, "needle")).hits) == 2


async def test_a_backup_is_a_home(
    db: Database, blobs: BlobStore, conversation: ConversationId, picture: str, tmp_path: Path
) -> None:
    to = tmp_path / "backups" / "today"
    await upkeep.backup(db, blobs, to)
    copy = Database.open(to)
    assert await Transcript(copy).entries(conversation) == await Transcript(db).entries(conversation)
    assert await BlobStore(to).get(picture) == await blobs.get(picture)
    assert await upkeep.verify(copy, BlobStore(to)) == []
    copy.close()
    with pytest.raises(BadInput, match="is not empty"):
        await upkeep.backup(db, blobs, to)


async def test_a_backup_while_others_write_is_consistent(
    db: Database, transcript: Transcript, conversation: ConversationId, blobs: BlobStore, tmp_path: Path
) -> None:
    for number in range(5):
        await transcript.append(conversation, [said(f"{number}")])
        await upkeep.backup(db, blobs, tmp_path / f"backup{number}")
        copy = Database.open(tmp_path / f"backup{number}")
        assert len(await Transcript(copy).entries(conversation)) == number + 2
        copy.close()


async def test_a_backup_of_lost_or_damaged_bytes_fails_aloud(
    db: Database, blobs: BlobStore, picture: str, tmp_path: Path
) -> None:
    path = blobs.path(picture)
    path.chmod(0o600)
    path.write_bytes(b"something else")
    with pytest.raises(StoreDamaged):
        await upkeep.backup(db, blobs, tmp_path / "one")
    path.unlink()
    with pytest.raises(NotFound):
        await upkeep.backup(db, blobs, tmp_path / "two")


A_WEEK = 7 * upkeep.DAY_S
A_DAY_AGO = time.time() - 86_400


def older(path: Path, seconds: float = A_WEEK) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


async def begun_before(db: Database, seconds: int) -> None:
    """The log has been there for so long."""
    await db.write(lambda connection: connection.execute("UPDATE born SET at = at - ?", (seconds,)))


async def test_a_copy_that_nobody_waits_for_is_not_looked_through_to_its_end(db: Database, tmp_path: Path) -> None:
    begun, over = threading.Event(), threading.Event()
    many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 50000000) SELECT max(i) FROM n"
    found: list[int] = []

    def look(connection: StoreConnection) -> None:
        begun.set()
        try:
            found.extend(connection.execute(many).fetchone())
        finally:
            over.set()

    copying = asyncio.create_task(db.copy_to(tmp_path / "copy.db", look))
    await asyncio.to_thread(begun.wait)
    copying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await copying
    assert await asyncio.to_thread(over.wait, 200)
    assert found == []


class LeftAt:
    """Stands in for the event that says that nobody waits for a copy any more: said at the look of this number. What
    is to happen meanwhile happens at the second one.
    """

    def __init__(self, number: int, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.number, self.looks, self.meanwhile = number, 0, meanwhile

    def set(self) -> None:
        """It has ended."""

    def is_set(self) -> bool:
        """Whether to leave."""
        self.looks += 1
        if self.looks == 2:
            self.meanwhile()
        return self.looks >= self.number


def pages_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as found:
        return int(found.execute("PRAGMA page_count").fetchone()[0])


def rows_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as found:
        return int(found.execute("SELECT count(*) FROM remembered").fetchone()[0])


async def test_a_copy_that_nobody_waits_for_is_written_no_further(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_COPIED_AT_ONCE", 1)
    left = LeftAt(3)
    monkeypatch.setattr(database, "Event", lambda: left)
    looked = list[StoreConnection]()
    with pytest.raises(database._CopyLeft):
        await db.copy_to(tmp_path / "copy.db", looked.append)
    assert (left.looks, looked) == (3, [])


async def test_a_copy_is_of_one_moment_and_ends_though_others_write_meanwhile(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def others_write() -> None:
        with closing(sqlite3.connect(db.home / "angelia.db", isolation_level=None)) as other:
            other.execute("INSERT INTO remembered VALUES ('meanwhile', 'x')")

    monkeypatch.setattr(database, "_COPIED_AT_ONCE", 1)
    seen = LeftAt(10**9, others_write)
    monkeypatch.setattr(database, "Event", lambda: seen)
    before = rows_of(db.home / "angelia.db")
    await db.copy_to(tmp_path / "copy.db", lambda _: None)
    assert rows_of(db.home / "angelia.db") == before + 1
    assert rows_of(tmp_path / "copy.db") == before
    assert seen.looks <= pages_of(tmp_path / "copy.db") + 1, "it was not begun anew"


async def test_the_sweep_takes_old_orphans_and_nothing_else(db: Database, blobs: BlobStore, picture: str) -> None:
    orphan, fresh = await blobs.put(b"orphan"), await blobs.put(b"fresh orphan")
    for name in (orphan.sha256, picture):
        older(blobs.path(name))
    await begun_before(db, 2 * A_WEEK)
    assert await upkeep.unreferenced(db, blobs) == (2, len(b"orphan" + b"fresh orphan"))
    assert await upkeep.sweep(db, blobs, A_DAY_AGO) == [orphan.sha256]
    assert set(await blobs.all()) == {picture, fresh.sha256}


async def test_what_was_swept_lies_in_the_trash_for_thirty_days(db: Database, blobs: BlobStore, picture: str) -> None:
    older(blobs.path(picture))
    await begun_before(db, 2 * A_WEEK)
    await db.write(lambda connection: connection.execute("DELETE FROM blob_refs"))  # a table that went wrong
    assert await upkeep.sweep(db, blobs, A_DAY_AGO) == [picture]
    assert await blobs.empty_trash(A_DAY_AGO - 29 * upkeep.DAY_S) == []
    await upkeep.rebuild(db, blobs)
    assert await blobs.get(picture) == b"GIF89a and so on"
    blobs.set_aside(picture)
    assert f"The blob {picture} lies in the trash; `angelia store rebuild` mends that." in await upkeep.verify(
        db, blobs
    )
    older(db.home / "trash" / picture, 31 * upkeep.DAY_S)
    assert await blobs.empty_trash(A_DAY_AGO - 29 * upkeep.DAY_S) == [picture]


async def test_a_log_that_is_empty_sweeps_nothing(home: Path) -> None:
    blobs = BlobStore(home)
    db = Database.open(home)
    older(blobs.path((await blobs.put(b"whose")).sha256))
    await begun_before(db, 2 * A_WEEK)
    assert await upkeep.sweep(db, blobs, A_DAY_AGO) == []
    db.close()


async def test_a_log_that_is_younger_than_the_bytes_sweeps_nothing(
    db: Database, blobs: BlobStore, conversation: ConversationId
) -> None:
    """Database and tips are gone, and somebody went on: what is older belongs to the log that was here before."""
    older(blobs.path((await blobs.put(b"of the log before")).sha256))
    assert await upkeep.sweep(db, blobs, A_DAY_AGO) == []


async def test_a_log_that_was_cut_off_sweeps_nothing(
    db: Database, blobs: BlobStore, conversation: ConversationId, picture: str
) -> None:
    older(blobs.path(picture))
    await begun_before(db, 2 * A_WEEK)

    def cut(connection: sqlite3.Connection) -> None:
        for statement in ("DROP TRIGGER entries_stay", "DELETE FROM entries WHERE seq > 1", "DELETE FROM blob_refs"):
            connection.execute(statement)

    await db.write(cut)
    with pytest.raises(StoreDamaged, match="had 3 entries, and has 1"):
        await upkeep.sweep(db, blobs, A_DAY_AGO)
    assert await blobs.all() == [picture]


async def test_an_erased_conversation_leaves_nothing_in_the_trash(
    db: Database, transcript: Transcript, conversation: ConversationId, blobs: BlobStore, picture: str
) -> None:
    await transcript.erase(conversation, blobs)
    assert (await blobs.all(), await blobs.trash()) == ([], [])


async def test_a_backup_is_its_owners_alone_whatever_the_umask(
    db: Database, blobs: BlobStore, picture: str, tmp_path: Path
) -> None:
    before = os.umask(0)
    try:
        await upkeep.backup(db, blobs, tmp_path / "copy")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "copy").rglob("*")}
    assert modes == {"angelia.db": 0o600, "angelia.tips": 0o600, "blobs": 0o700, picture: 0o400}


async def test_a_backup_of_a_log_that_is_not_whole_is_refused_and_leaves_none(
    db: Database, blobs: BlobStore, conversation: ConversationId, picture: str, tmp_path: Path
) -> None:
    await db.write(lambda connection: connection.execute("DROP TRIGGER entries_never_change"))
    await db.write(lambda connection: connection.execute("UPDATE entries SET at = at + 1 WHERE seq = 2"))
    with pytest.raises(StoreDamaged, match=f"Entry 2 of {conversation} is not what was stored there"):
        await upkeep.backup(db, blobs, tmp_path / "copy")
    assert list((tmp_path / "copy").iterdir()) == []


DAY_MS = 86_400_000


async def test_of_each_day_one_copy_is_kept_and_of_seven_days(home: Path, db: Database, picture: str) -> None:
    for day in range(10):
        assert await copy_daily(db, 1_790_000_000_000 + day * DAY_MS)
        assert await copy_daily(db, 1_790_000_000_000 + day * DAY_MS) is None
    assert len(copies(home)) == 7
    assert {path.stat().st_mode & 0o777 for path in copies(home)} == {0o600}
    restored = home.parent / "restored"
    restored.mkdir()
    shutil.copy(copies(home)[0], restored / FILE)
    again = Database.open(restored)
    assert len(await Transcript(again).conversations(OWNER)) == 1
    again.close()


async def test_copies_of_days_to_come_go_once_seven_newer_ones_are_there(
    home: Path, db: Database, conversation: ConversationId
) -> None:
    right = 1_790_000_000_000
    ahead = [await copied(db, conversation, right + (400 + day) * DAY_MS) for day in range(7)]
    for day in range(7):
        today = await copied(db, conversation, right + day * DAY_MS)
        assert today in copies(home)
        assert len(copies(home)) == 7
    assert not set(copies(home)) & set(ahead)


async def test_a_copy_of_today_that_is_older_than_others_is_made_anew(
    home: Path, db: Database, conversation: ConversationId
) -> None:
    right = 1_790_000_000_000
    early = await copied(db, conversation, right + 2 * DAY_MS)
    was = early.read_bytes()
    await copied(db, conversation, right + DAY_MS)
    assert await copied(db, conversation, right + 2 * DAY_MS) == early
    assert early.read_bytes() != was
    assert await copy_daily(db, right + 2 * DAY_MS) is None


async def copied(db: Database, conversation: ConversationId, moment: int) -> Path:
    """Something more is said, and the copy of that day is made."""
    await Transcript(db).append(conversation, [said("more")])
    copy = await copy_daily(db, moment)
    assert copy is not None
    return copy


async def test_a_damaged_log_never_takes_the_place_of_a_sound_copy(home: Path, db: Database, picture: str) -> None:
    for day in range(7):
        await copy_daily(db, 1_790_000_000_000 + day * DAY_MS)
    before = copies(home)
    await db.write(lambda connection: connection.execute("DROP TRIGGER entries_never_change"))
    await db.write(lambda connection: connection.execute("UPDATE entries SET body = x'7b7d' WHERE seq = 2"))
    with pytest.raises(StoreDamaged, match="Entry 2"):
        await copy_daily(db, 1_790_000_000_000 + 8 * DAY_MS)
    assert copies(home) == before
    assert sorted((home / "copies").iterdir(), reverse=True) == before


@pytest.mark.parametrize("point", ["copy.before_rename:1"])
async def test_killed_while_it_copies_there_is_no_half_copy(home: Path, point: str) -> None:
    db = Database.open(home)
    await Transcript(db).append(ConversationId("c1"), [ConversationOpened("terminal", "/")])
    db.close()
    await nursery.run_killed_at(point, ["copy", str(home), "c1"], dict(os.environ), entry="tests.store.child:main")
    assert copies(home) == []
    db = Database.open(home)
    assert await copy_daily(db, 1_790_000_000_000)
    db.close()


@pytest.mark.real("bwrap")
@pytest.mark.parametrize("log_left", ["with its journal", "closed"])
async def test_a_home_that_nobody_may_write_can_be_read(home: Path, blobs: BlobStore, log_left: str) -> None:
    db = Database.open(home)
    conversation = ConversationId("c1")
    await Transcript(db).append(conversation, [ConversationOpened("terminal", "/"), said("needle")])
    if log_left == "closed":
        db.close()
    else:
        child = start("append", home, conversation, "0")
        line(child)
        child.kill()
        rest_of(child)
        (home / f"{FILE}-shm").unlink()
    read_only = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(home), str(home)]
    assert output([*read_only, *command("look", home, conversation)])[:3] == ["1 conversation", "1 found", "in order"]
    db.close()


async def test_a_copied_folder_is_a_home_too(
    home: Path, db: Database, transcript: Transcript, conversation: ConversationId, tmp_path: Path
) -> None:
    await transcript.append(conversation, [said("one")])
    db.close()
    shutil.copytree(home, tmp_path / "copy")
    copy = Database.open(tmp_path / "copy")
    await Transcript(copy).append(conversation, [said("two")])
    await Transcript(copy).append(ConversationId("x"), [ConversationOpened("terminal", "/")])
    assert len(await Transcript(copy).entries(conversation)) == 3
    copy.close()
