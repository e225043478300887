"""Files on their way to the page: whoever sends one hears what came of it, and half of one stays nowhere."""

import asyncio
import os
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import httpx2
import pytest

from angelia.faces.web.asgi.server import LIMITS
from angelia.store.media.blobs import BlobStore
from angelia.store.media.durable import UNFINISHED
from tests.ports import free_port
from tests.web.test_streams import life, link_of
from tests.web.visitor import Visitor, opened, visiting

pytestmark = pytest.mark.anyio

NOBODY = "http://127.0.0.1:9/v1"
PIECE = bytes(1_000_000)


def arriving(folder: Path) -> list[Path]:
    """Files that are being stored."""
    return [*(folder / "home" / "blobs").glob(f"{UNFINISHED}*")]


async def until(true: Callable[[], bool]) -> None:
    """Wait for what files tell."""
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110 - a file tells
            await asyncio.sleep(0)


class Sender:
    """Somebody who brings a file, piece by piece, and reads the answer once all of it is sent, as browsers do."""

    def __init__(self, address: str, cookies: httpx2.Cookies) -> None:
        self._address = address
        self._cookie = "; ".join(f"{one.name}={one.value}" for one in cookies.jar)

    async def begin(self, size: int) -> None:
        """Say that a file comes; of no size it comes in chunks."""
        self._chunked = not size
        head = {
            "host": self._address.removeprefix("http://"),
            "origin": self._address,
            "content-type": "application/octet-stream",
            "sec-fetch-site": "same-origin",
            "cookie": self._cookie,
            **({"content-length": str(size)} if size else {"transfer-encoding": "chunked"}),
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items() if value)
        port = int(self._address.rpartition(":")[2])
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port)
        self.writer.write(f"POST /api/uploads?name=a.bin HTTP/1.1\r\n{lines}\r\n".encode())

    async def send(self, pieces: int) -> None:
        """So many megabytes of it."""
        for _ in range(pieces):
            self.writer.write(b"f4240\r\n" + PIECE + b"\r\n" if self._chunked else PIECE)
            await self.writer.drain()

    async def hears(self) -> bytes:
        """The answer, once all of it is sent."""
        self.writer.write(b"0\r\n\r\n" if self._chunked else b"")
        async with asyncio.timeout(LIMITS.body_s / 2):
            came = await self.reader.read()
        self.writer.close()
        return came


def sender(page: Visitor) -> Sender:
    return Sender(page.address, page.client.cookies)


@contextmanager
def full_beyond(size: int) -> Iterator[None]:
    """No file of ours grows beyond so many bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def whole(page: Visitor) -> None:
    """The same file, once more: now it is taken."""
    came = await page.client.post(f"{page.address}/api/uploads?name=a.bin", headers=page.head, content=PIECE)
    assert (came.status_code, came.json()["size"]) == (201, len(PIECE))


@pytest.mark.parametrize(
    ("size", "status", "why"),
    [(20_000_000, 413, b"larger than 5,000,000 bytes"), (0, 400, b"at most 5 MB are taken")],
    ids=["told", "untold"],
)
async def test_who_brings_more_than_is_taken_hears_why_though_all_of_it_is_sent(
    tmp_path: Path, size: int, status: int, why: bytes
) -> None:
    async with opened(tmp_path, NOBODY, **{"files.max_bytes": 5_000_000}) as app, visiting(app) as page:
        one = sender(page)
        await one.begin(size)
        await one.send(20)
        came = await one.hears()
        assert (came.split(b" ")[1], why in came) == (str(status).encode(), True)
        assert not arriving(tmp_path)
        await whole(page)


async def test_on_a_full_disk_the_sender_hears_so_though_more_is_sent(tmp_path: Path) -> None:
    async with opened(tmp_path, NOBODY) as app, visiting(app) as page:
        with full_beyond(5_000_000):
            one = sender(page)
            await one.begin(20_000_000)
            await one.send(20)
            came = await one.hears()
        assert (came.split(b" ")[1], b"may not grow beyond 5.0 MB" in came) == (b"503", True)
        assert not arriving(tmp_path)
        await whole(page)


async def test_who_was_not_let_in_is_not_listened_to_any_further(tmp_path: Path) -> None:
    async with opened(tmp_path, NOBODY) as app, visiting(app) as page:
        one = Sender(page.address, httpx2.Cookies())
        await one.begin(1000)
        came = await one.hears()
    assert came.startswith(b"HTTP/1.1 401 ")


async def test_of_a_file_whose_sender_has_gone_nothing_stays(tmp_path: Path) -> None:
    async with opened(tmp_path, NOBODY) as app, visiting(app) as page:
        one = sender(page)
        await one.begin(20_000_000)
        await one.send(10)
        await until(lambda: bool(arriving(tmp_path)))
        one.writer.transport.abort()
        await until(lambda: not arriving(tmp_path))
        await whole(page)


async def test_killed_while_a_file_comes_the_next_life_takes_it_and_half_of_it_goes_in_a_day(tmp_path: Path) -> None:
    port = free_port()
    async with httpx2.AsyncClient() as client:
        async with life(tmp_path, NOBODY, port) as angelia:
            address, code = await link_of(angelia)
            head = {"origin": address, "content-type": "application/json"}
            assert (await client.post(f"{address}/api/login", json={"code": code}, headers=head)).status_code == 204
            one = Sender(address, client.cookies)
            await one.begin(20_000_000)
            await one.send(10)
            await until(lambda: bool(arriving(tmp_path)))
            angelia.kill()
            with pytest.raises((ConnectionResetError, BrokenPipeError)):
                await one.send(1_000)
        [half] = arriving(tmp_path)
        async with life(tmp_path, NOBODY, port) as angelia:
            await link_of(angelia)
            again = await client.post(f"{address}/api/uploads?name=a.bin", headers=head, content=PIECE)
            assert again.status_code == 201
    yesterday = time.time() - 86_400
    os.utime(half, (yesterday, yesterday))
    assert await BlobStore(tmp_path / "home").aged(yesterday + 1) == []
    assert {path.name for path in (tmp_path / "home" / "blobs").iterdir()} == {sha256(PIECE).hexdigest()}
