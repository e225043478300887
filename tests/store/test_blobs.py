"""Bytes go in once, and come out as they were."""

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from angelia.core.content import BlobRef
from angelia.core.errors import BadInput, NotFound, StoreDamaged
from angelia.store.media.blobs import BlobStore

pytestmark = pytest.mark.anyio

SIZES = [0, 1, 64 * 1024, 64 * 1024 + 1, 3_000_000]


async def pieces(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


@pytest.mark.parametrize("size", SIZES)
async def test_the_same_bytes_get_the_same_name_whichever_way_they_come(
    blobs: BlobStore, tmp_path: Path, size: int
) -> None:
    data = os.urandom(size)
    file = tmp_path / "some file"
    file.write_bytes(data)
    ref = await blobs.put(data)
    assert ref == BlobRef(hashlib.sha256(data).hexdigest(), size, ref.mime)
    assert await blobs.put_file(file, limit=size) == ref
    assert await blobs.put_stream(pieces(data, 50_000), limit=size) == ref
    assert await blobs.get(ref.sha256) == data
    assert await blobs.all() == [ref.sha256]


@pytest.mark.parametrize("size", SIZES[1:])
async def test_what_exceeds_the_limit_is_refused_and_leaves_nothing(
    blobs: BlobStore, tmp_path: Path, size: int
) -> None:
    file = tmp_path / "large"
    file.write_bytes(b"x" * size)
    with pytest.raises(BadInput, match=r"has \d+\.\d MB, and at most \d+ MB are taken"):
        await blobs.put_file(file, limit=size - 1)
    with pytest.raises(BadInput):
        await blobs.put_stream(pieces(b"x" * size, 1000), limit=size - 1)
    assert await blobs.all() == []
    folder = blobs.path("0" * 64).parent
    assert not folder.exists() or not list(folder.iterdir())


async def test_a_blob_stays_when_the_file_it_came_from_changes(blobs: BlobStore, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(b"before")
    ref = await blobs.put_file(file, limit=1000)
    with file.open("r+b") as opened:
        opened.write(b"after!")
    assert await blobs.get(ref.sha256) == b"before"
    assert blobs.path(ref.sha256).stat().st_nlink == 1
    assert blobs.path(ref.sha256).stat().st_mode & 0o222 == 0


@pytest.mark.parametrize("kind", ["nothing", "folder", "pipe", "secret folder's file"])
async def test_what_is_no_readable_file_is_bad_input(blobs: BlobStore, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "thing"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "secret folder's file":
        tmp_path.joinpath("plain").touch()
        path = tmp_path / "plain" / "thing"
    with pytest.raises(BadInput, match=r"thing (cannot be read|is not a file)"):
        await blobs.put_file(path, limit=1000)


async def test_where_the_file_system_can_share_blocks_nothing_is_copied(
    blobs: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clones = 0

    def ioctl(target: int, request: int, source: int) -> None:
        """As btrfs and XFS do it (ioctl_ficlone(2))."""
        nonlocal clones
        assert request == 0x40049409
        os.sendfile(target, source, 0, os.fstat(source).st_size)
        clones += 1

    def refuse(*_: object) -> None:
        raise AssertionError("it was copied")

    monkeypatch.setattr("angelia.store.media.durable.fcntl.ioctl", ioctl)
    monkeypatch.setattr("angelia.store.media.blobs._copy", refuse)
    monkeypatch.setattr("shutil.copyfileobj", refuse)
    there, back = tmp_path / "there", tmp_path / "back"
    there.write_bytes(os.urandom(300_000))
    ref = await blobs.put_file(there, limit=1_000_000)
    blobs.copy(ref, back)
    assert (await blobs.get(ref.sha256), back.read_bytes()) == (there.read_bytes(), there.read_bytes())
    assert clones == 2


async def test_a_stream_that_breaks_leaves_nothing_and_says_its_own_error(blobs: BlobStore) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"some"
        raise ConnectionResetError("the line went dead")

    with pytest.raises(ConnectionResetError, match="the line went dead"):
        await blobs.put_stream(broken(), limit=1000)
    assert list(blobs.path("0" * 64).parent.iterdir()) == []


async def test_damage_is_seen_and_mended_by_putting_the_bytes_again(blobs: BlobStore) -> None:
    ref = await blobs.put(b"precious")
    path = blobs.path(ref.sha256)
    path.chmod(0o600)
    path.write_bytes(b"previous")
    assert await blobs.verify() == [ref.sha256]
    with pytest.raises(StoreDamaged, match="holds other bytes"):
        await blobs.get(ref.sha256)
    await blobs.put(b"precious")
    assert await blobs.verify() == []
    assert await blobs.get(ref.sha256) == b"precious"


async def test_a_name_that_is_none_opens_nothing(blobs: BlobStore) -> None:
    for name in ("../angelia.db", "", "AB" * 32, "0" * 63):
        with pytest.raises(NotFound):
            await blobs.get(name)
    with pytest.raises(NotFound, match="is not in the store"):
        await blobs.get("0" * 64)


async def test_the_type_is_what_the_bytes_say_unless_it_is_given(blobs: BlobStore) -> None:
    assert (await blobs.put(b"%PDF-1.7")).mime == "application/pdf"
    assert (await blobs.put(b"%PDF-1.7", mime="text/x-strange")).mime == "text/x-strange"


async def test_only_what_nobody_put_lately_is_old(blobs: BlobStore) -> None:
    old, fresh = await blobs.put(b"old"), await blobs.put(b"fresh")
    a_week_ago = time.time() - 7 * 86_400
    os.utime(blobs.path(old.sha256), (a_week_ago, a_week_ago))
    assert await blobs.aged(time.time() - 86_400) == [old.sha256]
    await blobs.put(b"old")
    assert await blobs.aged(time.time() - 86_400) == []
    assert fresh.sha256 in await blobs.all()


async def test_the_same_bytes_at_the_same_moment_are_stored_once(blobs: BlobStore) -> None:
    refs = await asyncio.gather(*(blobs.put(b"y" * 200_000) for _ in range(20)))
    assert len(set(refs)) == 1
    assert await blobs.verify() == []
    assert len(list(blobs.path(refs[0].sha256).parent.iterdir())) == 1
