"""Files for the person reach their folder whole, and nothing else is left in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.core.content import Media, MediaKind
from angelia.service.delivery import copied
from angelia.store.blobs import BlobStore

pytestmark = pytest.mark.anyio


def dead_process() -> int:
    """The id of a process that has ended and was waited for."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


async def test_what_a_killed_copy_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    blobs = BlobStore(tmp_path / "home")
    report = Media(await blobs.put(b"the report"), MediaKind.DOCUMENT, "report [1].txt")
    folder = tmp_path / "person"
    folder.mkdir()
    (folder / f".report [1].txt.{dead_process()}.part").write_bytes(b"the rep")
    alive = folder / f".report [1].txt.{os.getppid()}.part"
    alive.write_bytes(b"another process is at it")
    target = copied(report, blobs, folder)
    assert target.read_bytes() == b"the report"
    assert {path.name for path in folder.iterdir()} == {target.name, alive.name}
