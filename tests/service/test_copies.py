"""Files for the person reach their folder whole, and nothing else is left in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.core.content import Media, MediaKind
from angelia.core.errors import StoreDamaged
from angelia.service.conversation.terminal_delivery import copied
from angelia.store.media.blobs import BlobStore

pytestmark = pytest.mark.anyio


def dead_process() -> int:
    """The id of a process that has ended and was waited for."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def store(tmp_path: Path) -> BlobStore:
    (tmp_path / "home").mkdir()
    return BlobStore(tmp_path / "home")


async def test_what_a_killed_copy_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    blobs = store(tmp_path)
    blob = await blobs.put(b"the report")
    report = Media(blob, MediaKind.DOCUMENT, "report [1].txt")
    folder = tmp_path / "person"
    folder.mkdir()
    (folder / f".{blob.sha256[:12]}.{dead_process()}.part").write_bytes(b"the rep")
    alive = folder / f".{blob.sha256[:12]}.{os.getppid()}.part"
    alive.write_bytes(b"another process is at it")
    target = copied(report, blobs, folder)
    assert target.read_bytes() == b"the report"
    assert {path.name for path in folder.iterdir()} == {target.name, alive.name}


async def test_the_same_bytes_are_copied_once_and_others_get_a_number(tmp_path: Path) -> None:
    blobs, folder = store(tmp_path), tmp_path / "person"
    first, second = [Media(await blobs.put(data), MediaKind.DOCUMENT, "a.b.txt") for data in (b"one", b"two")]
    paths = [copied(media, blobs, folder).name for media in (first, second, first, second)]
    assert paths == ["a.b.txt", "a.b-2.txt", "a.b.txt", "a.b-2.txt"]
    assert [path.read_bytes() for path in sorted(folder.iterdir())] == [b"two", b"one"]


@pytest.mark.parametrize(
    "name", ["n" * 255, "é" * 127 + ".", "Makefile", " a\tb\n.txt", "../../etc/x", "..", "", "🐎.png"]
)
async def test_whatever_it_is_called_it_arrives_in_the_folder(tmp_path: Path, name: str) -> None:
    blobs, folder = store(tmp_path), tmp_path / "person"
    for data in (b"one", b"two"):
        target = copied(Media(await blobs.put(data), MediaKind.DOCUMENT, name), blobs, folder)
        assert target.parent == folder
        assert target.read_bytes() == data
    assert len(list(folder.iterdir())) == 2


async def test_bytes_that_are_not_what_they_were_are_not_delivered(tmp_path: Path) -> None:
    blobs, folder = store(tmp_path), tmp_path / "person"
    ref = await blobs.put(b"whole")
    blobs.path(ref.sha256).chmod(0o600)
    blobs.path(ref.sha256).write_bytes(b"wrong")
    with pytest.raises(StoreDamaged):
        copied(Media(ref, MediaKind.DOCUMENT, "x"), blobs, folder)
    assert not list(folder.iterdir())
