"""A log knows when it is not whole: what was altered, cut off, swapped or emptied is said, by entry."""

import os
import resource
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from angelia.core.entry import ConversationOpened
from angelia.core.errors import StoreDamaged
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.store.log.chain import checksum
from angelia.store.log.search import search
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql import tips, upkeep
from angelia.store.sql.database import FILE, Database
from tests import nursery
from tests.store.processes import line, rest_of, start
from tests.store.words import said

pytestmark = pytest.mark.anyio

ONE, TWO = ConversationId("one"), ConversationId("two")
CHILD = "tests.store.child:main"


async def filled(home: Path, *, words: str = "the price is 1000 euro") -> None:
    """Two conversations of four entries each, taken in turns."""
    db = Database.open(home)
    transcript = Transcript(db)
    for name in (ONE, TWO):
        await transcript.append(name, [ConversationOpened("terminal", "/")])
    for number in range(3):
        for name in (ONE, TWO):
            await transcript.append(name, [said(f"{words} {number}")])
    db.close()


def tampered(home: Path, *statements: str) -> None:
    """What somebody did to the file with a tool of SQLite's."""
    other = sqlite3.connect(home / FILE)
    for trigger in ("entries_never_change", "entries_only_follow", "entries_stay"):
        other.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    for statement in statements:
        other.execute(statement)
    other.commit()
    other.close()


async def problems_of(home: Path) -> list[str]:
    db = Database.open_to_read(home)
    found = await upkeep.verify(db, BlobStore(home))
    db.close()
    return found


NOT_STORED = "Entry 3 of one is not what was stored there."
SWAPPED = """
    UPDATE entries SET body = other.body FROM (SELECT * FROM entries WHERE id IN (3, 5)) AS other
    WHERE entries.id + other.id = 8
"""
TAMPERED = {
    "its words": ("UPDATE entries SET body = CAST(replace(body, '1000', '9000') AS BLOB) WHERE id = 5", NOT_STORED),
    "its time": ("UPDATE entries SET at = at + 1 WHERE id = 5", NOT_STORED),
    "its epoch": ("UPDATE entries SET epoch = 7 WHERE id = 5", NOT_STORED),
    "its checksum": ("UPDATE entries SET sum = x'00' WHERE id = 5", NOT_STORED),
    "it is gone": ("DELETE FROM entries WHERE id = 5", "Entry 3 of one cannot be found."),
    "it changed places": (
        SWAPPED,
        NOT_STORED,
    ),
    "it came from elsewhere": (
        "UPDATE entries SET body = (SELECT body FROM entries WHERE id = 8) WHERE id = 5",
        NOT_STORED,
    ),
}


@pytest.mark.parametrize(("statement", "sentence"), TAMPERED.values(), ids=TAMPERED.keys())
async def test_an_entry_that_was_tampered_with_is_named(home: Path, statement: str, sentence: str) -> None:
    await filled(home)
    assert await problems_of(home) == []
    tampered(home, statement)
    assert sentence in await problems_of(home)
    db = Database.open(home)
    with pytest.raises(StoreDamaged, match=r"Entr.* of one "):
        await Transcript(db).entries(ONE)
    assert len(await Transcript(db).entries(TWO)) == 4, "the other conversation is as it was"
    db.close()


async def test_a_checksum_stands_on_the_one_before(home: Path) -> None:
    """Whoever alters an entry and gives it the checksum that fits is seen at the next one."""
    await filled(home)
    db = Database.open(home)
    (row,) = await db.read(lambda c: c.execute("SELECT * FROM entries WHERE id = 5").fetchall())
    (before,) = await db.read(lambda c: c.execute("SELECT sum FROM entries WHERE id = 3").fetchone())
    db.close()
    body = row[7].replace(b"1000", b"9000")
    fitting = checksum(before, (*row[1:7], body)).hex()
    tampered(home, f"UPDATE entries SET body = x'{body.hex()}', sum = x'{fitting}' WHERE id = 5")
    assert "Entry 4 of one is not what was stored there." in await problems_of(home)


async def test_a_log_that_lost_a_byte_of_its_journal_is_not_opened(home: Path) -> None:
    """SQLite takes what stands before the lost byte for the whole: 85 of 181 entries, and says nothing."""
    await filled(home)
    child = start("append", home, ONE, "0")
    heard = [int(line(child)) for _ in range(60)]
    child.kill()
    rest_of(child)
    journal = home / f"{FILE}-wal"
    content = journal.read_bytes()
    middle = len(content) // 2
    journal.write_bytes(content[:middle] + content[middle + 1 :])
    before = {path.name: path.read_bytes() for path in (home / FILE, journal)}
    with pytest.raises(StoreDamaged, match=r"The conversation one had (\d+) entries, and has \d+") as told:
        Database.open(home)
    assert max(heard) <= int(str(told.value).split(" had ")[1].split()[0])
    assert "angelia store accept" in str(told.value)
    assert any("The conversation one had" in problem for problem in await problems_of(home))
    assert {path.name: path.read_bytes() for path in (home / FILE, journal)} == before, "all that is there can be saved"


def _away(home: Path) -> None:
    (home / FILE).unlink()


def _emptied(home: Path) -> None:
    (home / FILE).write_bytes(b"")


def _an_older_copy(home: Path) -> None:
    shutil.copy(home.parent / "older.db", home / FILE)


def _that_of_another_home(home: Path) -> None:
    shutil.copy(home.parent / "other" / FILE, home / FILE)


@pytest.mark.parametrize("replaced", [_away, _emptied, _an_older_copy, _that_of_another_home])
async def test_a_log_that_is_not_the_last_one_is_neither_opened_nor_written(
    home: Path, replaced: Callable[[Path], None]
) -> None:
    await filled(home)
    shutil.copy(home / FILE, home.parent / "older.db")
    db = Database.open(home)
    await Transcript(db).append(TWO, [said("one more")])
    db.close()
    await filled(home.parent / "other", words="something else")
    replaced(home)
    there = (home / FILE).read_bytes() if (home / FILE).exists() else None
    with pytest.raises(StoreDamaged, match="is not whole"):
        Database.open(home)
    assert ((home / FILE).read_bytes() if (home / FILE).exists() else None) == there or replaced is _emptied
    assert any(" two " in problem for problem in await problems_of(home))


async def test_a_conversation_that_lost_its_end_is_not_gone_on_with(home: Path) -> None:
    await filled(home)
    tampered(
        home,
        "DELETE FROM entries WHERE conversation = 'one' AND seq > 2",
        "UPDATE conversations SET last_seq = 2, tip = (SELECT sum FROM entries WHERE id = 3) WHERE id = 'one'",
    )
    db = Database.open(home)
    with pytest.raises(StoreDamaged, match="The conversation one had 4 entries, and has 2"):
        await Transcript(db).require_end(ONE)
    await Transcript(db).require_end(TWO)
    db.close()


async def test_a_log_that_is_accepted_counts_from_then_on(home: Path) -> None:
    await filled(home)
    tampered(home, "DELETE FROM entries WHERE conversation = 'two' AND seq = 4")
    with pytest.raises(StoreDamaged):
        Database.open(home)
    db = Database.open_as_it_is(home)
    assert await upkeep.accept(db, BlobStore(home)) == ["The conversation two had 4 entries, and has 3."]
    db.close()
    db = Database.open(home)
    assert await upkeep.verify(db, BlobStore(home)) == []
    (entry,) = await Transcript(db).append(TWO, [said("on")])
    assert entry.seq == 4
    db.close()


async def test_an_erased_conversation_is_no_loss(home: Path) -> None:
    await filled(home)
    db = Database.open(home)
    await Transcript(db).erase(TWO, BlobStore(home))
    db.close()
    assert await problems_of(home) == []
    Database.open(home).close()


@pytest.mark.parametrize("point", ["tips.written:1", "append.before_commit:1", "append.after_commit:1"])
async def test_killed_while_it_erases_it_does_not_take_that_for_a_loss(home: Path, point: str) -> None:
    await filled(home)
    await nursery.run_killed_at(point, ["erase", str(home), TWO], dict(os.environ), entry=CHILD)
    Database.open(home).close()
    assert await problems_of(home) == []


@pytest.mark.parametrize("point", ["append.before_commit:2", "append.after_commit:2", "tips.written:2"])
async def test_killed_between_a_commit_and_its_tip_the_log_is_whole(home: Path, point: str) -> None:
    await filled(home)
    await nursery.run_killed_at(point, ["append", str(home), ONE, "3"], dict(os.environ), entry=CHILD)
    Database.open(home).close()
    assert await problems_of(home) == []


async def test_what_was_acknowledged_is_in_the_tips(home: Path) -> None:
    """Whatever is killed after its acknowledgement can be missed later."""
    await filled(home)
    child = start("append", home, ONE, "0")
    heard = [int(line(child)) for _ in range(20)]
    child.kill()
    heard += [int(text) for text in rest_of(child)]
    tip = tips.TipsJournal(home).of(ONE)
    assert tip is not None
    assert tip.seq >= max(heard)


async def test_tips_whose_last_line_was_torn_say_what_stood_before(home: Path) -> None:
    await filled(home)
    path = home / tips.FILE
    whole = tips.TipsJournal(home).read()
    path.write_bytes(path.read_bytes() + b"\0\0\0tip 9 one 5 ab")
    assert tips.TipsJournal(home).read() == whole
    assert await problems_of(home) == []
    journal = tips.TipsJournal(home)
    journal.erasing(TWO)
    journal.close()
    assert tips.TipsJournal(home).read() == tips.Tips(whole.known, frozenset({TWO})), (
        "what is said next stands by itself"
    )
    db = Database.open(home)
    await Transcript(db).append(ONE, [said("on")])
    db.close()
    Database.open(home).close()


@pytest.mark.parametrize("room", [0, 1, 20, 60])
async def test_a_disk_that_takes_a_part_of_a_line_leaves_none_of_it(home: Path, room: int) -> None:
    await filled(home)
    journal, path = tips.TipsJournal(home), home / tips.FILE
    whole = path.read_bytes()
    tip = tips.Tip(ONE, 5, 9, bytes(32))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + room, hard))
    try:
        with pytest.raises(OSError, match="File too large" if room == 0 else "No space"):
            journal.erasing(ConversationId("x" * 60))
        journal.follow(tip)
        journal.written()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == whole
    journal.follow(tip)
    journal.written()
    journal.close()
    assert path.read_bytes() == whole + tip.line()


async def test_tips_that_are_written_anew_say_the_same(home: Path) -> None:
    await filled(home)
    db, other = Database.open(home), Database.open(home)
    for number in range(1500):
        await Transcript(db).append(ONE, [said(f"{number}")])
    before = tips.TipsJournal(home).read()
    size = (home / tips.FILE).stat().st_size
    await Transcript(other).append(TWO, [said("it has the old file open")])
    await db.write(lambda _: db.tips.rewrite())
    assert (home / tips.FILE).stat().st_size < size / 10
    await Transcript(other).append(TWO, [said("another process goes on")])
    after = tips.TipsJournal(home).read()
    assert after.known[ONE] == before.known[ONE]
    assert after.known[TWO].seq == before.known[TWO].seq + 2
    db.close()
    other.close()


async def test_a_home_without_tips_has_them_from_now_on(home: Path) -> None:
    await filled(home)
    (home / tips.FILE).unlink()
    Database.open(home).close()
    assert set(tips.TipsJournal(home).read().known) == {ONE, TWO}


async def test_reading_goes_past_a_broken_entry_and_names_it(home: Path) -> None:
    await filled(home)
    tampered(home, "UPDATE entries SET body = x'7b' WHERE id = 5", "UPDATE entries SET at = 1 WHERE id = 7")
    db = Database.open(home)
    entries, damages = await Transcript(db).legible(ONE)
    assert [entry.seq for entry in entries] == [1, 2, 4], "one that was altered can be read, and is named"
    assert [(damage.seq, damage.why.partition(":")[0]) for damage in damages] == [
        (3, "cannot be read"),
        (4, "is not what was stored there"),
    ]
    found = await search(db, OWNER, "euro")
    assert len(found.hits) == 5
    assert [sentence.partition(" is not")[0] for sentence in found.damaged][:1] == ["Entry 4 of one"]
    (unread,) = await upkeep.rebuild(db, BlobStore(home))
    assert unread.startswith("Entry 3 of one cannot be read")
    db.close()
