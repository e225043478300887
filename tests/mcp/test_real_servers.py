"""Servers that nobody here wrote: the official Python library's, and the demonstration from npm, by every transport."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from angelia.core.content import Media
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.testing.tools.harness import ToolHarness, text_of
from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.results import outcome_of
from angelia.tools.mcp.server import ServerProgram, Site, given
from tests.mcp.reached import only, reached
from tests.npm import installed
from tests.ports import free_port
from tests.promise.lives import ROOT

pytestmark = pytest.mark.anyio

Transport = Literal["stdio", "http", "sse"]
SPOKEN: tuple[Transport, ...] = ("stdio", "http", "sse")
PYTHONPATH = f"{ROOT / 'src'}:{ROOT}"


@pytest.fixture(autouse=True)
async def in_time() -> AsyncIterator[None]:
    """Nothing here waits for ever."""
    async with asyncio.timeout(300):
        yield


@asynccontextmanager
async def listening(port: int, *argv: str, **env: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that listens on a port, killed at the end."""
    nothing = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *argv, env={"PATH": os.environ["PATH"], **env}, stdin=nothing, stdout=nothing, stderr=nothing
    )
    try:
        while True:
            assert process.returncode is None, "it ended before it listened"
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            writer.close()
            break
        yield process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGKILL)
        await process.wait()


@asynccontextmanager
async def garden(folder: Path, transport: Transport) -> AsyncIterator[ServerProgram | Site]:
    """The server made with the official Python library."""
    module = ("-m", "tests.mcp.garden")
    if transport == "stdio":
        yield ServerProgram(
            (sys.executable, *module), given({"PYTHONPATH": PYTHONPATH, "GARDEN": str(folder)}), ("GARDEN",)
        )
        return
    port = free_port()
    async with listening(port, sys.executable, *module, transport, str(port), PYTHONPATH=PYTHONPATH):
        yield Site(f"http://127.0.0.1:{port}/{'mcp' if transport == 'http' else 'sse'}", given({}), (), transport)


@asynccontextmanager
async def everything(transport: Transport) -> AsyncIterator[ServerProgram | Site]:
    """The demonstration server from npm."""
    folder = installed("mcp-everything", Path(__file__).with_name("everything") / "package.json")
    program = str(folder / "node_modules/@modelcontextprotocol/server-everything/dist/index.js")
    if transport == "stdio":
        yield ServerProgram(("node", program, "stdio"), given({}))
        return
    port = free_port()
    kind = "streamableHttp" if transport == "http" else "sse"
    async with listening(port, "node", program, kind, PORT=str(port)):
        yield Site(f"http://127.0.0.1:{port}/{'mcp' if transport == 'http' else 'sse'}", given({}), (), transport)


class Caller:
    """Calls tools of a connection as the broker would."""

    def __init__(self, folder: Path, connection: McpConnection) -> None:
        self.connection = connection
        self.bench = ToolHarness(folder, LocalSandbox(folder, home=folder / "own", state=folder / "run"))

    async def outcome(self, name: str, /, **arguments: Any) -> Any:
        """What came of it."""
        result = await self.connection.call(name, arguments, self.bench.seen.append)
        return await outcome_of(result, self.bench.context())

    async def said(self, name: str, /, **arguments: Any) -> str:
        """Its words."""
        return text_of(await self.outcome(name, **arguments))


@pytest.mark.soak(every=4)
@pytest.mark.parametrize("transport", SPOKEN)
async def test_a_server_of_the_python_library(tmp_path: Path, transport: Transport) -> None:
    async with garden(tmp_path, transport) as way, reached(tmp_path, way) as (servers, _):
        caller = Caller(tmp_path, only(servers))
        tools, faults = servers.tools(())
        assert not faults
        assert {"s1__echo", "s1__picture", "s1__plant"} <= {tool.name for tool in tools}
        assert [tool.name for tool in tools if tool.traits.reads_only] == ["s1__echo"]
        assert await caller.said("echo", words="rose", times=2) == "rose rose"
        assert json.loads(await caller.said("bed", name="north")) == {"name": "north", "plants": 5}
        [picture] = (await caller.outcome("picture", colour="red")).parts
        assert isinstance(picture, Media)
        assert picture.media == "image"
        assert await caller.said("water", steps=2) == "watered"
        assert "Error executing tool" in await caller.said("fail")
        before = len(tools)
        await caller.said("plant", name="rose")
        while len(servers.tools(())[0]) == before:  # noqa: ASYNC110 - another process tells in its time
            await asyncio.sleep(0.01)
        assert await caller.said("rose") == "a rose"


@pytest.mark.soak
async def test_a_site_that_was_started_anew_has_forgotten_the_session_and_the_call_is_made_all_the_same(
    tmp_path: Path,
) -> None:
    port = free_port()
    argv = (sys.executable, "-m", "tests.mcp.garden", "http", str(port))
    way = Site(f"http://127.0.0.1:{port}/mcp", given({}))
    async with listening(port, *argv, PYTHONPATH=PYTHONPATH) as first, reached(tmp_path, way) as (servers, _):
        caller = Caller(tmp_path, only(servers))
        assert await caller.said("echo", words="one") == "one"
        first.send_signal(signal.SIGKILL)
        await first.wait()
        async with listening(port, *argv, PYTHONPATH=PYTHONPATH):
            assert await caller.said("echo", words="two") == "two"


@pytest.mark.soak(every=3)
@pytest.mark.real("npm")
@pytest.mark.parametrize("transport", SPOKEN)
async def test_the_demonstration_server_of_npm(tmp_path: Path, transport: Transport) -> None:
    async with everything(transport) as way, reached(tmp_path, way) as (servers, _):
        caller = Caller(tmp_path, only(servers))
        tools, faults = servers.tools(())
        assert len(tools) >= 10
        assert not faults
        assert "42" in await caller.said("get-sum", a=1, b=41)
        parts = (await caller.outcome("get-tiny-image")).parts
        assert [part.media for part in parts if isinstance(part, Media)] == ["image"]
        assert str(tmp_path) in await caller.said("get-roots-list")
        await caller.said("trigger-long-running-operation", duration=0.2, steps=2)
        while len(caller.bench.seen) < 2:  # noqa: ASYNC110 - progress is told beside the result
            await asyncio.sleep(0.01)
        assert [str(shown).split()[0] for shown in caller.bench.seen] == ["1/2", "2/2"]
