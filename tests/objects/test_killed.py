"""Killed at any instant, no entry names bytes that are not where they belong, and nothing is there by halves."""

import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from angelia.core.entry import ConversationOpened
from angelia.service.blob_places import in_log
from angelia.store.log.transcript import Transcript
from angelia.store.media.cached_blobs import CachedBlobs
from angelia.store.objects.registry import open_objects
from angelia.store.sql import upkeep
from angelia.store.sql.database import Database
from tests import nursery
from tests.objects.child import NAME, SIZE
from tests.objects.conftest import REAL_SEAWEEDFS, fresh_prefix
from tests.objects.s3_server import credentials
from tests.objects.seaweedfs import SeaweedFS

pytestmark = pytest.mark.anyio

POINTS = [
    "blob.before_rename:1",
    "blob.after_rename:1",
    "blob.before_upload:1",
    "blob.after_upload:1",
    "append.before_commit:1",
    "append.after_commit:1",
]


@pytest.fixture(params=["folder", "s3", REAL_SEAWEEDFS])
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Mapping[str, str]]:
    """An address where nothing is, and the environment by which it is reached."""
    if request.param == "folder":
        (tmp_path / "elsewhere").mkdir()
        return str(tmp_path / "elsewhere"), {}
    found = request.getfixturevalue(request.param)
    return fresh_prefix(), credentials(found.port if isinstance(found, SeaweedFS) else found)


@pytest.mark.soak(every=3)
@pytest.mark.parametrize("point", POINTS)
async def test_killed_at_each_place_the_next_life_finds_all_that_was_named(
    tmp_path: Path, elsewhere: tuple[str, Mapping[str, str]], point: str
) -> None:
    address, environ = elsewhere
    db = Database.open(tmp_path / "home")
    await Transcript(db).append(NAME, [ConversationOpened("terminal", "/")])
    db.close()
    argv = [str(tmp_path / "home"), address]
    ended = await nursery.run_killed_at(point, argv, {**os.environ, **environ}, entry="tests.objects.child:main")

    db = Database.open(tmp_path / "home")
    blobs = CachedBlobs(db.home, open_objects(address, environ), 1_000_000, in_log(db))
    named = len(await Transcript(db, blobs).entries(NAME)) - 1
    assert await upkeep.verify(db, blobs) == []
    assert len(await blobs.all()) >= named, "the bytes are there before the entry that names them is"
    assert set((await blobs.stored()).values()) <= {SIZE}, "whole, or not at all"
    assert ("named" in ended.stdout) <= named
    again = await blobs.put(b"x" * SIZE)
    blobs.path(again.sha256).unlink()
    assert await blobs.get(again.sha256) == b"x" * SIZE
    assert await upkeep.sweep(db, blobs, time.time() + 5) == ([] if named else [again.sha256])
    assert [path for path in (tmp_path / "home" / "blobs").iterdir() if path.name.startswith(".part")] == []
    db.close()
