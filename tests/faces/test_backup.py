"""`angelia backup` and `restore`: one file, a home out of it anywhere, and no half of either."""

import asyncio
import hashlib
import os
import shutil
import sqlite3
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.core.errors import BadInput
from angelia.service.backups.archive import unpack
from angelia.store.sql.database import Database
from angelia.testing.model.steps import call, say
from tests import nursery
from tests.examples import some
from tests.faces.angelia import Place, serving

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 2000


@pytest.fixture
def lived(tmp_path: Path) -> Iterator[Place]:
    """A home in which something happened: a conversation with a file, a change in the folder, keys, settings."""
    steps = [
        say("I write.") + call("write", {"path": "b.txt", "content": "new"}),
        call("send_file", {"path": "b.txt"}),
        say("Done."),
    ]
    with serving(tmp_path, steps) as place:
        (place.work / "note.md").write_text("words " * 20_000)
        assert place.ask("--file", "note.md", "Change it.").code == 0
        (place.home / "gateway.env").write_text(f"OPENAI_API_KEY=sk-1\nTOKEN_FILE={place.home}/telegram.token\n")
        (place.home / "telegram.token").write_text("42:secret")
        os.mkfifo(place.home / "clock.pipe")
        (place.home / "config.toml").write_text(
            f'[files]\noutbox = "{place.home}/outbox"\n[context]\ninstructions = "see /else{place.home}/x"\n'
        )
        yield place


def backups(place: Place) -> list[Path]:
    """The backups that count, the newest first."""
    return sorted((place.home.parent / "home-backups").glob("angelia-*"), reverse=True)


def elsewhere(place: Place) -> Place:
    """The same, with another home."""
    return replace(place, home=place.home.parent / "elsewhere" / "home")


def test_a_home_restored_elsewhere_is_the_home(lived: Place) -> None:
    newest = lived.run("sessions").out.splitlines()[1].split()[0]
    fork = lived.run("fork", newest).out.strip()
    made = lived.run("backup")
    assert made.code == 0, made.err
    (file,) = backups(lived)
    assert made.out.startswith(str(file))
    said, forked_said = lived.run("show").out, lived.run("show", fork).out
    shutil.rmtree(lived.home)
    there = elsewhere(lived)
    restored = there.run("restore", str(file))
    assert restored.code == 0, restored.err
    assert there.run("store", "verify").out.endswith("is in order.\n")
    assert there.run("show").out == said
    assert there.run("show", fork).out == forked_said
    assert (there.home / "outbox" / "b.txt").read_text() == "new"
    assert there.run("undo", "--yes", "--in", newest).code == 0
    assert not (there.work / "b.txt").exists()
    assert there.ask("Go on.", "--continue").code == 0


def test_settings_that_name_places_in_the_home_name_those_in_the_new_one(lived: Place) -> None:
    lived.run("backup", "--keys")
    there = elsewhere(lived)
    assert there.run("restore", str(backups(lived)[0])).code == 0
    settings = (there.home / "config.toml").read_text()
    assert f'outbox = "{there.home}/outbox"' in settings
    assert f"see /else{lived.home}/x" in settings
    assert (there.home / "gateway.env").read_text().endswith(f"TOKEN_FILE={there.home}/telegram.token\n")


@pytest.mark.parametrize("options", [(), ("--no-keys", "--passphrase-file", "words"), ("--keys",)])
def test_keys_are_in_it_by_choice(lived: Place, options: tuple[str, ...]) -> None:
    (lived.work / "words").write_text("correct horse\n")
    made = lived.run("backup", *options)
    assert backups(lived)[0].stat().st_mode & 0o777 == 0o600
    there = elsewhere(lived)
    words = options[-2:] if "words" in options else ()
    assert there.run("restore", str(backups(lived)[0]), *words).code == 0
    with_keys = "--keys" in options
    assert [(there.home / name).exists() for name in ("gateway.env", "telegram.token")] == [with_keys] * 2
    assert ("they are keys: gateway.env, telegram.token." in made.err) is not with_keys


def test_under_a_passphrase_nothing_is_read_and_keys_are_in_it(lived: Place) -> None:
    (lived.work / "words").write_text("correct horse\n")
    (lived.work / "others").write_text("battery staple\n")
    assert lived.run("backup", "--passphrase-file", "words").code == 0
    (file,) = backups(lived)
    assert b"sk-1" not in file.read_bytes()
    assert b"Change it" not in file.read_bytes()
    there = elsewhere(lived)
    assert "is encrypted" in there.run("restore", str(file)).err
    refused = there.run("restore", str(file), "--passphrase-file", "others")
    assert refused.code == 2
    assert "cannot be decrypted" in refused.err
    assert list(there.home.iterdir()) == []
    assert there.run("restore", str(file), "--passphrase-file", "words").code == 0
    assert (there.home / "telegram.token").read_text() == "42:secret"


HARMS = [(harm, encrypted) for encrypted in (False, True) for harm in ("changed", "cut", "nothing of ours")]


@pytest.mark.soak(every=2)
@pytest.mark.parametrize(("harm", "encrypted"), [*HARMS[:3], *some(HARMS[3:], 3)])
def test_a_backup_that_is_not_whole_restores_nothing(lived: Place, harm: str, encrypted: bool) -> None:
    (lived.work / "words").write_text("correct horse\n")
    words = ("--passphrase-file", "words") if encrypted else ()
    blob = lived.work / "big.bin"
    blob.write_bytes(hashlib.shake_256(b"bytes that do not compress").digest(3_000_000))
    assert lived.ask("--file", "big.bin", "Keep it.", "--set", "model=openai-chat:test").code == 0
    assert lived.run("backup", *words).code == 0
    (file,) = backups(lived)
    data = bytearray(file.read_bytes())
    match harm:
        case "cut":
            del data[-1_500_000:]
        case "changed":
            data[len(data) // 2] ^= 1
        case _:
            data = bytearray(PICTURE)
    file.write_bytes(data)
    there = elsewhere(lived)
    refused = there.run("restore", str(file), *words)
    assert refused.code == 2, refused.err
    assert "Traceback" not in refused.err
    assert list(there.home.iterdir()) == []


def test_a_home_in_which_nothing_was_said_yet_is_one(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home/config.toml").write_text("[limits]\nmax_steps = 7\n")
    place = Place(tmp_path / "home", tmp_path / "work")
    assert place.run("backup").code == 0
    there = elsewhere(place)
    assert there.run("restore", str(backups(place)[0])).code == 0
    assert "max_steps = 7" in (there.home / "config.toml").read_text()


def test_what_is_there_is_never_overwritten(lived: Place) -> None:
    lived.run("backup")
    refused = lived.run("restore", str(backups(lived)[0]))
    assert refused.code == 2
    assert "is not empty" in refused.err
    assert lived.run("store", "verify").code == 0


def test_so_many_are_kept(lived: Place) -> None:
    folder = lived.home.parent / "home-backups"
    folder.mkdir()
    for day in range(10, 19):
        (folder / f"angelia-202601{day}T000000Z.tar.gz").touch()
    (folder / "angelia-of-mine.tar.gz").touch()
    assert lived.run("backup", "--keep", "3").code == 0
    names = [path.name for path in backups(lived)]
    assert names[0] == "angelia-of-mine.tar.gz"
    assert names[2:] == ["angelia-20260118T000000Z.tar.gz", "angelia-20260117T000000Z.tar.gz"]


def test_tar_opens_it_and_sha256sum_checks_it(lived: Place, tmp_path: Path) -> None:
    lived.run("backup")
    opened = tmp_path / "opened"
    opened.mkdir()
    subprocess.run(["tar", "xzf", backups(lived)[0]], cwd=opened, check=True)
    checked = subprocess.run(["sha256sum", "--check", "--strict", "files.sha256"], cwd=opened, check=False)
    assert checked.returncode == 0


def test_it_is_made_while_others_write(lived: Place) -> None:
    over = threading.Event()
    writer = threading.Thread(target=lambda: asyncio.run(_written_until(over, lived.home)))
    writer.start()
    try:
        assert lived.run("backup").code == 0
    finally:
        over.set()
        writer.join()
    there = elsewhere(lived)
    assert there.run("restore", str(backups(lived)[0])).code == 0
    assert there.run("store", "verify").code == 0


async def _written_until(over: threading.Event, home: Path) -> None:
    with closing(Database.open(home)) as db:
        while not over.is_set():
            await db.write(_remember)


def _remember(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO remembered VALUES (hex(randomblob(16)), 'x')")


@pytest.mark.slow
@pytest.mark.anyio
async def test_killed_at_any_point_it_leaves_no_half_backup(lived: Place) -> None:
    env = lived.environment({})
    passed = await nursery.occurrences(["backup"], env)
    points = [point for point in passed if point.startswith("backup.")]
    assert {point.partition(":")[0] for point in points} == {
        "backup.copied",
        "backup.packed",
        "backup.before_rename",
        "backup.after_rename",
    }
    whole = len(backups(lived))
    for point in points:
        for made in backups(lived):
            made.unlink()
        await nursery.run_killed_at(point, ["backup"], env)
        assert len(backups(lived)) == (whole if "after" in point else 0)
    assert lived.run("backup").code == 0


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_restore_that_is_killed_leaves_no_home_that_could_be_taken_for_one(lived: Place) -> None:
    lived.run("backup")
    there = elsewhere(lived)
    await nursery.run_killed_at("restore.before_log:1", ["restore", str(backups(lived)[0])], there.environment({}))
    assert "is not there" in there.run("sessions").err
    assert there.ask("Are you whole?").code == 1
    assert "is not empty" in there.run("restore", str(backups(lived)[0])).err


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a/../../evil"])
def test_no_name_in_an_archive_leads_out_of_the_home(lived: Place, name: str, tmp_path: Path) -> None:
    lived.run("backup")
    forged = tmp_path / "forged.tar.gz"
    with tarfile.open(backups(lived)[0]) as real, tarfile.open(forged, "w:gz") as tar:
        head = real.next()
        assert head is not None
        tar.addfile(head, real.extractfile(head))
        tar.addfile(tarfile.TarInfo(name))
    with pytest.raises(BadInput, match="outside the home"):
        unpack(forged, tmp_path / "into", "", lambda done, size: None)
    assert not (tmp_path / "evil").exists()
