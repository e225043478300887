"""Of a damaged home all that can be read is saved, and what could not be is listed."""

import os
import random
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from angelia.core.content import Media, MediaKind
from angelia.core.entry import ConversationOpened, Entry, SystemSaid, UserSaid
from angelia.core.errors import BadInput
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql import upkeep
from angelia.store.sql.copies import copy_daily
from angelia.store.sql.database import FILE, Database
from angelia.store.sql.salvage import salvage
from angelia.store.tables.key_value import KeyValue
from tests.store.processes import line, rest_of, start
from tests.store.test_wholeness import ONE, TWO, filled, tampered
from tests.store.words import said

pytestmark = pytest.mark.anyio


async def entries_of(home: Path) -> dict[ConversationId, list[Entry]]:
    db = Database.open(home)
    transcript = Transcript(db)
    found = {row.id: await transcript.entries(row.id) for row in await transcript.conversations(OWNER, 1000)}
    assert await upkeep.verify(db, BlobStore(home)) == []
    db.close()
    return found


async def test_of_a_sound_home_everything_is_saved(home: Path, tmp_path: Path) -> None:
    await filled(home)
    db = Database.open(home)
    ref = await BlobStore(home).put(b"GIF89a and so on")
    long = [said("long " * 20_000), UserSaid((Media(ref, MediaKind.IMAGE),)), *(said(f"{n}") for n in range(300))]
    await Transcript(db).append(TWO, long)
    await KeyValue(db).put("a yes", "for good")
    db.close()
    saved = await salvage(home, tmp_path / "saved", BlobStore(home))
    assert (saved.conversations, saved.entries, saved.lost) == (2, 310, ())
    assert await entries_of(tmp_path / "saved") == await entries_of(home)
    db = Database.open(tmp_path / "saved")
    assert await KeyValue(db).get("a yes") == "for good"
    assert await BlobStore(tmp_path / "saved").get(ref.sha256) == b"GIF89a and so on"
    db.close()


async def test_what_stands_behind_a_lost_byte_of_the_journal_is_saved(home: Path, tmp_path: Path) -> None:
    await filled(home)
    child = start("append", home, ONE, "0")
    heard = [int(line(child)) for _ in range(100)]
    child.kill()
    heard += [int(text) for text in rest_of(child)]
    journal = home / f"{FILE}-wal"
    content = journal.read_bytes()
    middle = len(content) // 2
    journal.write_bytes(content[:middle] + content[middle + 1 :])
    saved = await salvage(home, tmp_path / "saved", BlobStore(home))
    found = await entries_of(tmp_path / "saved")
    there = [entry for entry in found[ONE] if not isinstance(entry.fact, SystemSaid)]
    assert len(there) >= max(heard) - 1 - len(saved.lost)
    assert len(saved.lost) <= 1, "of the frame that lost a byte"
    assert [entry.seq for entry in found[ONE]] == list(range(1, len(found[ONE]) + 1))


async def test_what_was_altered_is_listed_and_never_taken_for_true(home: Path, tmp_path: Path) -> None:
    await filled(home)
    change = "UPDATE entries SET body = CAST(replace(body, '1000', '9000') AS BLOB) WHERE id = 5"
    tampered(home, change, "DELETE FROM entries WHERE id = 6", "UPDATE entries SET body = x'7b' WHERE id = 4")
    saved = await salvage(home, tmp_path / "saved", BlobStore(home))
    assert saved.lost == (
        "Entry 3 of one cannot be read, or is not what was stored there.",
        "Entry 2 of two cannot be read, or is not what was stored there.",
        "Entry 3 of two cannot be found.",
    )
    found = await entries_of(tmp_path / "saved")
    assert b"9000" not in (tmp_path / "saved" / FILE).read_bytes()
    instead = found[ONE][2].fact
    assert isinstance(instead, SystemSaid)
    assert "entry 3 of this conversation, was lost" in instead.text
    assert found[ONE][3].fact == said("the price is 1000 euro 2")


async def test_a_wrong_checksum_alone_loses_nothing(home: Path, tmp_path: Path) -> None:
    await filled(home)
    before = await entries_of(home)
    tampered(home, f"UPDATE entries SET sum = x'{'00' * 16}' WHERE id = 5")
    assert (await salvage(home, tmp_path / "saved", BlobStore(home))).lost == ()
    assert await entries_of(tmp_path / "saved") == before


async def test_what_a_daily_copy_has_is_saved_from_there(home: Path, tmp_path: Path) -> None:
    await filled(home)
    db = Database.open(home)
    await copy_daily(db, 1_790_000_000_000)
    db.close()
    before = await entries_of(home)
    (home / FILE).unlink()
    saved = await salvage(home, tmp_path / "saved", BlobStore(home))
    assert await entries_of(tmp_path / "saved") == before
    assert all("table" in sentence for sentence in saved.lost)


async def test_without_the_database_everything_is_listed_as_lost(home: Path, tmp_path: Path) -> None:
    await filled(home)
    (home / FILE).unlink()
    saved = await salvage(home, tmp_path / "saved", BlobStore(home))
    assert saved.entries == 0
    assert sum("cannot be found" in sentence for sentence in saved.lost) == 8


async def test_what_was_erased_is_not_brought_back(home: Path, tmp_path: Path) -> None:
    await filled(home)
    keeps = Database.open(home)  # so that the write-ahead log stays, with what it held
    db = Database.open(home)
    await Transcript(db).append(TWO, [said("xyzzy")])
    await Transcript(db).erase(TWO, BlobStore(home))
    db.close()
    assert (await salvage(home, tmp_path / "saved", BlobStore(home))).lost == ()
    assert set(await entries_of(tmp_path / "saved")) == {ONE}
    keeps.close()


async def test_nothing_is_saved_over_something_else(home: Path, tmp_path: Path) -> None:
    await filled(home)
    with pytest.raises(BadInput, match="is not empty"):
        await salvage(home, home, BlobStore(home))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed home of some 60 pages."""
    import asyncio

    home = tmp_path_factory.mktemp("sound") / "home"

    async def fill() -> None:
        db = Database.open(home)
        transcript = Transcript(db)
        chance = random.Random(1)
        for number in range(4):
            name = ConversationId(f"c{number}")
            await transcript.append(name, [ConversationOpened("terminal", "/")])
            await transcript.append(name, [said(f"{n} " * chance.randint(1, 900)) for n in range(40)])
        db.close()

    asyncio.run(fill())
    return home


@given(st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_wherever_the_file_is_damaged_what_is_saved_is_what_was_stored(
    sound: Path, tmp_path: Path, data: st.DataObject
) -> None:
    """Bytes are overwritten anywhere: each entry is saved as it was, or listed; nothing is opened for it."""
    folder = tmp_path / os.urandom(8).hex()
    shutil.copytree(sound, folder / "home")
    content = bytearray((folder / "home" / FILE).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        some = data.draw(st.binary(min_size=1, max_size=3000))
        content[at : at + len(some)] = some[: len(content) - at]
    (folder / "home" / FILE).write_bytes(content)
    saved = await salvage(folder / "home", folder / "saved", BlobStore(folder / "home"))
    before, after = await entries_of(sound), await entries_of(folder / "saved")
    assert set(after) == set(before)
    named = " ".join(saved.lost)
    for name, entries in before.items():
        for was, now in zip(entries, after[name], strict=True):
            assert now.fact == was.fact or f"Entry {was.seq} of {name} " in named
