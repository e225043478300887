"""Two processes that note at once: no note is lost, none is there twice, and each has a number of its own."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from angelia.core.principal import OWNER
from angelia.store.media.blobs import BlobStore
from angelia.store.sql import upkeep
from angelia.store.sql.database import Database
from angelia.store.tables.notes import Notes
from tests.examples import examples
from tests.promise.lives import ROOT

pytestmark = pytest.mark.anyio

EACH = examples(100)
"""Notes of each of two writers; `make soak` writes 10,000 in all."""


async def test_none_of_the_notes_that_two_processes_make_at_once_is_lost(tmp_path: Path) -> None:
    home = tmp_path / "home"
    Database.open(home).close()
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    argv = (sys.executable, "-m", "tests.notes.writer", str(home))
    both = [
        await asyncio.create_subprocess_exec(*argv, name, str(EACH), env=env, stderr=PIPE) for name in ("plum", "pear")
    ]
    said = [await one.communicate() for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    db = Database.open(home)
    notes = await Notes(db).list(OWNER)
    assert sorted(note.text for note in notes) == sorted(
        f"{name} {at}" for name in ("plum", "pear") for at in range(EACH)
    )
    assert [note.number for note in notes] == list(range(1, 2 * EACH + 1))
    assert {note.state for note in notes} == {"kept"}
    await upkeep.rebuild(db, BlobStore(home))
    assert await Notes(db).list(OWNER) == notes
    db.close()
