"""Full disks, homes that cannot be written, files that are not ours: a clear sentence, and nothing acknowledged."""

import asyncio
import errno
import itertools
import os
import shlex
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import NoReturn

import pytest

from angelia.core.entry import ConversationOpened
from angelia.core.errors import StoreBusy, StoreDamaged, StoreError, StoreFull
from angelia.core.ids import ConversationId
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql import upkeep
from angelia.store.sql.database import FILE, Database
from angelia.store.sql.faults import of_sqlite
from tests.store.processes import command, output
from tests.store.words import said

pytestmark = pytest.mark.anyio

NAME = ConversationId("c1")


async def opened(home: Path) -> Database:
    db = Database.open(home)
    await Transcript(db).append(NAME, [ConversationOpened("terminal", "/")])
    return db


async def test_a_full_database_accepts_nothing_and_works_again_when_there_is_room(home: Path) -> None:
    db = await opened(home)
    transcript = Transcript(db)
    pages = await db.write(lambda connection: connection.execute("PRAGMA page_count").fetchone()[0])
    await db.write(lambda connection: connection.execute(f"PRAGMA max_page_count = {pages + 3}"))
    results = await asyncio.gather(
        *(transcript.append(NAME, [said("x" * 3000)]) for _ in range(30)), return_exceptions=True
    )
    accepted = [result for result in results if isinstance(result, list)]
    refused = [str(result) for result in results if isinstance(result, StoreFull)]
    assert len(accepted) + len(refused) == 30
    assert "is full" in refused[0]
    assert "was not accepted" in refused[0]
    assert await transcript.entries(NAME, after=1) == [entry for entries in accepted for entry in entries]
    await db.write(lambda connection: connection.execute("PRAGMA max_page_count = 1000000"))
    assert await transcript.append(NAME, [said("room again")])
    assert await upkeep.verify(db, BlobStore(home)) == []
    db.close()


@pytest.mark.parametrize(("what", "argument"), [("put", "0.2"), ("append", "0")])
async def test_a_file_that_may_not_grow_is_no_full_disk(home: Path, what: str, argument: str) -> None:
    (await opened(home)).close()

    limited = f"ulimit -f 100 && exec {shlex.join(command(what, home, NAME, argument))}"  # blocks of 512 or 1024 bytes
    said_last = output(["sh", "-c", limited])[-1]
    assert said_last.startswith(f"StoreFull: A file in {home} may not grow beyond ")
    assert "is full" not in said_last
    assert not (home / "blobs").exists() or not list((home / "blobs").iterdir())


@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC])
def test_an_error_of_the_disk_is_neither_damage_nor_said_to_have_written_nothing(home: Path, code: int) -> None:
    home.mkdir()
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    told = of_sqlite(error, home)
    assert type(told) is StoreError
    assert f"The disk that holds {home} reports an error: disk I/O error." in str(told)
    assert "may or may not be there" in str(told)
    assert "malformed" not in str(told)


def test_a_quota_that_is_used_up_is_said_though_sqlite_keeps_it_to_itself(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def over(**_: object) -> NoReturn:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    home.mkdir()
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
    monkeypatch.setattr(tempfile, "TemporaryFile", over)  # as the system says it to any write there
    told = of_sqlite(error, home)
    assert type(told) is StoreFull
    assert f"Your share of the disk that holds {home} is used up" in str(told)


@pytest.mark.real("bwrap")
@pytest.mark.parametrize(("what", "argument"), [("append", "0"), ("put", "0.5")])
async def test_on_a_disk_that_fills_up_all_that_was_acknowledged_is_kept(
    home: Path, tmp_path: Path, what: str, argument: str
) -> None:
    """The disk is a tmpfs of 300 kB; the home is copied out of it before it goes."""
    (await opened(home)).close()
    kept, small = tmp_path / "kept", tmp_path / "disk"  # whoever is not root can mount on folders of their own alone
    kept.mkdir()
    small.mkdir()
    disk = ["bwrap", "--dev-bind", "/", "/", "--size", "300000", "--tmpfs", str(small), "sh", "-c"]
    work = shlex.join(command(what, small, NAME, argument))
    said_last = output([*disk, f"cp -r '{home}'/. '{small}' && {work}; cp -r '{small}'/. '{kept}'"])
    assert said_last[-1].startswith(f"StoreFull: The disk that holds {small} is full")
    shutil.rmtree(kept / "alive", ignore_errors=True)
    db = Database.open(kept)
    numbers = [entry.seq for entry in await Transcript(db).entries(NAME)]
    assert numbers == list(range(1, len(said_last) + 1))
    assert await upkeep.verify(db, BlobStore(kept)) == []
    db.close()


@pytest.mark.real("bwrap")
@pytest.mark.parametrize(("what", "argument"), [("append", "1"), ("put", "0.01")])
async def test_a_home_that_cannot_be_written_is_said_before_anything_is_acknowledged(
    home: Path, what: str, argument: str
) -> None:
    (await opened(home)).close()
    read_only = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(home), str(home)]
    said_last = output([*read_only, *command(what, home, NAME, argument)])
    assert len(said_last) == 1
    assert said_last[0].startswith(f"StoreReadOnly: {home} cannot be written")
    assert "ANGELIA_HOME" in said_last[0]


def test_a_home_that_is_a_file_is_refused(home: Path) -> None:
    home.write_text("not a folder")
    with pytest.raises(StoreError, match="is a file"):
        Database.open(home)
    assert home.read_text() == "not a folder"


def test_a_home_below_a_file_is_refused(home: Path) -> None:
    home.write_text("not a folder")
    with pytest.raises(StoreError, match="Not a directory"):
        Database.open(home / "below")


def test_a_new_home_is_its_owners_alone(home: Path) -> None:
    db = Database.open(home)
    assert home.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in home.iterdir()} == {0o600}
    db.close()


def test_a_database_of_another_program_is_left_alone(home: Path) -> None:
    home.mkdir()
    other = sqlite3.connect(home / FILE)
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(StoreError, match="a database of another program"):
        Database.open(home)


def test_a_file_that_is_no_database_is_damage(home: Path) -> None:
    home.mkdir()
    (home / FILE).write_bytes(b"this is not a database, but it is long enough to be read as one" * 20)
    with pytest.raises(StoreDamaged, match="is damaged: file is not a database"):
        Database.open(home)


async def test_a_damaged_page_is_said_on_opening_and_by_verify(home: Path) -> None:
    db = await opened(home)
    await Transcript(db).append(NAME, [said("x" * 100_000)])
    db.close()
    with (home / FILE).open("r+b") as file:
        file.seek(4096 * 2)
        file.write(b"\xff" * 4096 * 8)
    with pytest.raises(StoreDamaged, match="is damaged"):
        Database.open(home)
    db = Database.open_to_read(home)
    assert any("malformed" in problem for problem in await upkeep.verify(db, BlobStore(home)))
    db.close()


async def test_a_locked_database_is_reported_after_a_while(home: Path) -> None:
    db = await opened(home)
    impatient = Database.open(home, patience_s=0.01)
    other = sqlite3.connect(home / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match=r"keeps the database in .* locked"):
        await Transcript(impatient).append(NAME, [said("now?")])
    assert len(await Transcript(impatient).entries(NAME)) == 1, "readers do not wait"
    other.execute("ROLLBACK")
    assert await Transcript(impatient).append(NAME, [said("now!")])
    for closing in (other, impatient, db):
        closing.close()


async def test_the_lock_of_another_process_is_looked_for_again_and_again(home: Path) -> None:
    db, tried = await opened(home), asyncio.Event()
    attempts, loop = itertools.count(1), asyncio.get_running_loop()

    def see(statement: str) -> None:
        if statement.startswith("BEGIN") and next(attempts) == 50:
            loop.call_soon_threadsafe(tried.set)

    other = sqlite3.connect(home / FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert db._writer
    db._writer.set_trace_callback(see)
    writing = asyncio.create_task(Transcript(db).append(NAME, [said("at the first moment")]))
    await asyncio.wait([writing, asyncio.create_task(tried.wait())], return_when=asyncio.FIRST_COMPLETED)
    other.execute("COMMIT")
    assert len(await writing) == 1
    other.close()
    db.close()
