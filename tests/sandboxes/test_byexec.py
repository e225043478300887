"""A room that can only run commands moves files as every other does."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from angelia.sandboxes.port import AccessRefused, FileChanged, OutOfSpace, Sandbox
from angelia.testing.sandbox_acts import MB, arrives, names_in, pieces, place, refused, sha256
from angelia.testing.sandbox_checks import Check, Sizes, checks
from angelia.testing.sandbox_files import FILE_CLAIMS

from .byexec_room import RoomForTextOnly, RoomThatMangles, RoomThatOnlyStarts

pytestmark = pytest.mark.anyio

FILES = {claim.__name__.replace("_", " ") for claim in FILE_CLAIMS}
CHECKS = [check for check in checks(Sizes(real=20 * MB)) if check.name in FILES]
"""More pieces than one; at their full size they are those of a container's workspace in memory, by the same scripts."""
SMALL = [
    check
    for check in checks(Sizes(sparse=3_000_000, real=300_000, files=100))
    if check.name in FILES and "swapped" not in check.name  # many reads, and nothing in them is about text
]


async def meets(check: Check, room: type[RoomThatOnlyStarts], tmp_path: Path) -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[Sandbox]:
        sandbox = room(tmp_path / "work space's", tmp_path / "own")
        try:
            yield sandbox
        finally:
            await sandbox.close()

    await check.run(make)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_by_plain_bytes(check: Check, tmp_path: Path) -> None:
    await meets(check, RoomThatOnlyStarts, tmp_path)


@pytest.mark.parametrize("check", SMALL, ids=lambda check: check.name)
async def test_by_text_alone(check: Check, tmp_path: Path) -> None:
    await meets(check, RoomForTextOnly, tmp_path)


async def test_a_full_disk_is_told_and_nothing_is_left(tmp_path: Path) -> None:
    room = RoomThatOnlyStarts(tmp_path / "work", tmp_path / "own")
    (tmp_path / "bin").mkdir()
    room.path = f"{tmp_path}/bin:/usr/bin:/bin"
    cat = tmp_path / "bin/cat"
    cat.write_text("#!/bin/sh\nexec /bin/cat >/dev/full\n")
    cat.chmod(0o755)
    await refused(place(room, "file", b"x"), OutOfSpace)
    assert await names_in(room, ".") == set()
    await room.close()


async def test_bytes_that_are_changed_on_the_way_are_found_out(tmp_path: Path) -> None:
    room = RoomThatMangles(tmp_path / "work", tmp_path / "own")
    (tmp_path / "work/file").write_bytes(b"xyz")
    error = await refused(arrives(room, "file"), FileChanged)
    assert sha256(b"xyz") in str(error)
    await refused(place(room, "other", b"xyz"), FileChanged)
    assert await names_in(room, ".") == {"file"}
    await room.close()


async def test_a_put_of_many_pieces_is_renamed_once_and_whole(tmp_path: Path) -> None:
    room = RoomForTextOnly(tmp_path, tmp_path / "own")
    data = os.urandom(200_000)
    await room.put("deep/er/file", pieces(data, 70_000), size=len(data), sha256=sha256(data), mode=0o640)
    assert (tmp_path / "deep/er/file").read_bytes() == data
    assert (tmp_path / "deep/er/file").stat().st_mode & 0o777 == 0o640
    assert await names_in(room, "deep/er") == {"file"}
    await room.close()


async def test_what_may_not_be_read_is_said(tmp_path: Path) -> None:
    room = RoomThatOnlyStarts(tmp_path, tmp_path / "own")
    error = await refused(arrives(room, "/etc/passwd"), AccessRefused)
    assert str(tmp_path) in str(error)
    await room.close()
