"""A connection to the daemon that has become a stream: nothing is lost where the two meet, and closing it is heard."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from angelia.sandboxes.docker.engine import DockerEngine
from angelia.sandboxes.docker.hijacked_stream import Stream

pytestmark = pytest.mark.anyio

SAFETY_NET = 60.0
ANSWER = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"


@asynccontextmanager
async def taken(folder: Path, along: bytes) -> AsyncIterator[Stream]:
    """A stream of a daemon that sends `along` with its answer, and then gives back what it gets."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER + along)
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(serve, folder / "s")
    engine = DockerEngine(str(folder / "s"))
    async with server, asyncio.timeout(SAFETY_NET):
        stream = await engine.take_over("/exec/1/start", None, deed="run")
        yield stream
        await stream.aclose()
        await engine.close()


async def test_what_comes_along_with_the_answer_is_read_first(tmp_path: Path) -> None:
    async with taken(tmp_path, b"first") as stream:
        assert await stream.read(1 << 16) == b"first"
        await stream.write(b"second")
        assert await stream.read(3) + await stream.read(1 << 16) == b"second"


@pytest.mark.parametrize("begun", [False, True])
async def test_who_waits_for_bytes_is_told_when_it_is_closed(tmp_path: Path, begun: bool) -> None:
    async with taken(tmp_path, b"first" if begun else b"") as stream:
        if begun:
            await stream.read(1 << 16)
        waiting = asyncio.ensure_future(stream.read(1 << 16))
        await asyncio.sleep(0)
        await stream.aclose()
        assert isinstance((await asyncio.gather(waiting, return_exceptions=True))[0], ConnectionAbortedError)


async def test_a_connection_that_breaks_is_an_error_of_the_system_and_a_fault_of_ours_keeps_its_name(
    tmp_path: Path,
) -> None:
    async with taken(tmp_path, b"first") as stream:
        with pytest.raises(TypeError):
            await stream.write("words")  # type: ignore[arg-type]
        assert await stream.read(1 << 16) == b"first"
        await stream.aclose()
        broken = await asyncio.gather(stream.write(b"more"), stream.read(1), return_exceptions=True)
        assert all(isinstance(one, OSError) for one in broken), broken
