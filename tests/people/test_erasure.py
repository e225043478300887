"""Whoever is erased is nowhere any more, whatever ends the erasing on its way; what others said stays, in its place."""

import asyncio
import json
import signal
import zipfile
from pathlib import Path

import pytest

from angelia.core import codec
from angelia.core import entry as e
from angelia.core.errors import BadInput, NotFound, StoreBusy
from angelia.core.principal import ERASED, OWNER, Principal
from angelia.engine.log import Outdated
from angelia.service.app import App
from angelia.service.people.erasure import is_of
from angelia.service.settings.config import load
from angelia.store.log.search import search
from angelia.store.sql import upkeep
from angelia.store.sql.copies import copy_daily
from angelia.store.sql.database import Database
from angelia.store.tables.people import KnownPeople
from angelia.testing.crash import ANGELIA
from tests import nursery
from tests.faces.angelia import Place
from tests.people.group import ANN, ANSWERED, BEN, BENS, BENS_OWN, DREW, GROUP, MIXED, OWN, SAID, SENT, fill
from tests.store.leases import acquire

pytestmark = pytest.mark.anyio

CANARIES = (SAID, ANSWERED, SENT, DREW, "9917364711")
POINTS = (
    "person.begun:1",
    "person.conversation_erased:1",
    "person.conversation_blanked:1",
    "person.before_receipt:1",
    "person.receipt:1",
    *(OVER := ("copy.before_rename:1",)),
)


async def opened(home: Path) -> App:
    """The home."""
    return await App.open(load(home, {}, (), {}))


def found_in(folder: Path, words: tuple[str, ...] = CANARIES) -> set[tuple[str, str]]:
    """In which files below a folder which of these words stand."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {(path.name, word) for path in files for word in words if word.encode() in path.read_bytes()}


async def test_nothing_of_them_is_left_in_any_file_and_others_have_all_of_theirs(tmp_path: Path) -> None:
    app = await opened(home := tmp_path / "home")
    files = await fill(app)
    before = await app.transcript.entries(GROUP)
    assert isinstance(app.db, Database)
    await copy_daily(app.db, 0)
    await copy_daily(app.db, app.clock())
    assert len((await search(app.db, OWNER, SAID)).hits) == 4
    receipt, left = await app.person_erasure.erase(ANN, OWNER)
    assert (receipt.counts.own, receipt.counts.shared, receipt.counts.mixed, left) == (1, 2, 1, [])
    assert await app.blobs.all() == [files["ben"]]
    assert len((await search(app.db, OWNER, SAID)).hits) == 0
    assert len((await search(app.db, OWNER, BENS)).hits) == 6
    assert await upkeep.verify(app.db, app.blobs) == []
    after = await app.transcript.entries(GROUP)
    kept = [entry for entry in before if MIXED in str(entry) or (BENS in str(entry) and SAID not in str(entry))]
    assert [after[entry.seq - 1] for entry in kept] == kept
    assert isinstance(after[-1].fact, e.WordsErased)
    assert [one.principal for one in await KnownPeople(app.db).known()] == [OWNER, ERASED, BEN]
    assert [note.text for note in await app.notes.list(OWNER)] == ["(erased)"]
    await app.close()
    assert found_in(tmp_path) == set()
    assert len(list((home / "copies").glob("*.db"))) == 1
    again = await opened(home)  # whose tips say that the log is whole
    assert await again.transcript.entries(BENS_OWN)
    await upkeep.rebuild(again.db, again.blobs)
    assert await again.transcript.entries(GROUP) == after
    await again.close()


@pytest.mark.parametrize("point", POINTS)
async def test_killed_anywhere_the_same_command_goes_on_and_the_receipt_tells_all(tmp_path: Path, point: str) -> None:
    place = Place(tmp_path / "home", tmp_path / "work")
    place.work.mkdir()
    app = await opened(place.home)
    files = await fill(app)
    assert isinstance(app.db, Database)
    await copy_daily(app.db, 0)
    counts = (await app.person_erasure.preview(ANN)).counts
    await app.close()
    words = ("people", "erase", str(ANN), "--yes-really")
    killed = await nursery.forked(point, words, place.environment({}), ANGELIA, b"")
    assert killed.status == -signal.SIGKILL
    said = await asyncio.to_thread(place.run, "people")
    assert ("is being erased" in said.out) == (point not in OVER)
    ended = await asyncio.to_thread(place.run, *words)
    assert ended.code == 0, ended.err
    app = await opened(place.home)
    (receipt,) = await app.person_erasure.receipts()
    assert receipt.counts == counts
    assert is_of(receipt, ANN)
    assert not is_of(receipt, BEN)
    assert await upkeep.verify(app.db, app.blobs) == []
    await app.close()
    assert found_in(tmp_path) <= {(files["ann"], SENT)}, "bytes that a sweep takes a day later"


async def test_a_turn_of_theirs_that_others_wait_beside_is_ended_first(tmp_path: Path) -> None:
    app = await opened(tmp_path / "home")
    await fill(app, unfinished=True)
    with pytest.raises(BadInput, match="a turn of theirs is open"):
        await app.person_erasure.erase(ANN, OWNER)
    assert len((await search(app.db, OWNER, SAID)).hits) == 5
    await app.close()


async def test_nobody_is_erased_while_somebody_works_there(tmp_path: Path) -> None:
    app = await opened(tmp_path / "home")
    await fill(app)
    other = Database.open(app.loaded.home)
    lease = await acquire(other, BENS_OWN, "the gateway")
    with pytest.raises(StoreBusy, match="the gateway"):
        await app.person_erasure.erase(ANN, OWNER)
    assert await app.transcript.entries(OWN)
    await lease.release()
    other.close()
    await app.close()


async def test_a_process_that_had_read_it_asks_no_model_with_what_it_remembers(tmp_path: Path) -> None:
    app, idle = await opened(tmp_path / "home"), await opened(tmp_path / "home")
    await fill(app)
    session = await idle.conversations.resume(GROUP, door="terminal")
    await app.person_erasure.erase(ANN, OWNER)
    with pytest.raises(Outdated, match="was erased since"):
        await session.log.refresh()
    await idle.close()
    await app.close()


@pytest.mark.parametrize("who", [OWNER, ERASED, Principal("angelia")])
async def test_the_owner_of_a_home_is_not_erased_from_it(tmp_path: Path, who: Principal) -> None:
    app = await opened(tmp_path / "home")
    with pytest.raises(BadInput, match="cannot be erased"):
        await app.person_erasure.erase(who, OWNER)
    with pytest.raises(NotFound):
        await app.person_erasure.erase(BEN, OWNER)
    await app.close()


async def test_a_person_is_taken_out_with_all_of_theirs_and_nothing_of_others(tmp_path: Path) -> None:
    place = Place(tmp_path / "home", tmp_path / "work")
    place.work.mkdir()
    app = await opened(place.home)
    files = await fill(app)
    await app.close()
    ended = await asyncio.to_thread(place.run, "people", "export", str(ANN), "-o", "ann.zip")
    assert ended.code == 0, ended.err
    with zipfile.ZipFile(place.work / "ann.zip") as archive:
        names = set(archive.namelist())
        texts = {name: archive.read(name).decode() for name in names}
    assert names == {
        "person.json",
        "conversations/own.jsonl",
        "shared/group.jsonl",
        "shared/audit.jsonl",
        f"files/{files['ann']}",
        "workspace/telegram/9917364711/letter.txt",
    }
    assert not any(BENS in text for text in texts.values())
    assert all(any(word in text for text in texts.values()) for word in (SAID, ANSWERED, SENT, DREW))
    told = json.loads(texts["person.json"])
    assert told["pairings"][0]["role"] == "member"
    assert [row["cost"] for row in told["spending"]][:1] == [5]
    assert codec.from_json_lines(texts["conversations/own.jsonl"].encode().splitlines())
    assert (place.work / "ann.zip").stat().st_mode & 0o777 == 0o600
    again = await asyncio.to_thread(place.run, "people", "export", str(ANN), "-o", "ann.zip")
    assert again.code == 2
    assert "is there already" in again.err


def test_the_command_line_previews_asks_and_tells(tmp_path: Path) -> None:
    place = Place(tmp_path / "home", tmp_path / "work")
    place.work.mkdir()

    async def begin() -> None:
        app = await opened(place.home)
        await fill(app)
        await app.close()

    asyncio.run(begin())
    preview = place.run("people", "erase", str(ANN), "--dry-run")
    assert "1 conversation of their own (8 entries), 21 entries in 2 of others" in preview.out
    assert "In 1 turn others were heard, too: what was answered there stays." in preview.out
    asked = place.run("people", "erase", str(ANN))
    assert asked.code == 2
    assert "asks twice" in asked.err
    assert place.run("people", "erase", str(ANN), "--yes-really").code == 0
    assert "(erased)" in place.run("people").out
    assert "was erased on" in place.run("people", "erase", str(ANN), "--yes-really").out
