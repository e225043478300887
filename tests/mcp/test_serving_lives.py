"""`angelia mcp serve` as programs start it: over pipes, killed, and started anew."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from angelia.core import entry as e
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import hang, say
from angelia.tools.mcp.call_person import NOBODY
from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.failures import ServerLost, Unavailable
from angelia.tools.mcp.server import ServerProgram, given
from angelia.tools.mcp.task_look import TaskTaken
from tests.mcp.reached import only, reached
from tests.promise.lives import ROOT
from tests.python.conftest import program
from tests.python.programs import Program

pytestmark = pytest.mark.anyio
__all__ = ["program"]


@pytest.fixture(autouse=True)
async def in_time() -> AsyncIterator[None]:
    """Nothing here waits for ever."""
    async with asyncio.timeout(120):
        yield


def quiet(_: str) -> None:
    """Nobody watches."""


def running(*argv: str) -> int:
    """The process that runs this command."""
    ends = "\0".join(argv).encode() + b"\0"
    for at in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if at.read_bytes().endswith(ends):
                return int(at.parent.name)
    raise AssertionError("nothing runs it")


async def called_again(server: McpConnection, asking: dict[str, str]) -> None:
    """Ask once more, of whichever life answers."""
    while True:
        with suppress(ServerLost, Unavailable):
            await server.call("ask", asking, quiet)


async def ended(server: McpConnection, task: str) -> types.CallToolResult:
    """What a task has come to."""
    while True:
        look = await server.look_at_task(task, NOBODY)
        if look.result:
            return look.result
        await asyncio.sleep(0.05)


async def test_what_was_asked_outlives_a_killed_server_and_is_not_asked_twice(program: Program, tmp_path: Path) -> None:
    async with ModelServer([hang(), say("The south bed.")]) as model:
        env = program.environment(model.base_url)
        argv = (str(Path(sys.executable).with_name("angelia")), "mcp", "serve", "-C", str(program.work))
        async with reached(tmp_path, ServerProgram(argv, given(env), tuple(env))) as (servers, _):
            server = only(servers)
            asking = {"question": "Which bed?", "key": "k1"}
            with pytest.raises(TaskTaken, match="k1"):
                await server.call("ask", asking, quiet)
            await model.when(lambda one: len(one.requests) == 1)
            os.kill(running(*argv), signal.SIGKILL)
            with pytest.raises(TaskTaken, match="k1"):
                await called_again(server, asking)
            answer = await ended(server, "k1")
    assert answer.structured_content
    assert answer.structured_content["state"] == "answered"
    facts = await program.facts(answer.structured_content["conversation"])
    assert len([fact for fact in facts if isinstance(fact, e.UserSaid)]) == 1


class Served:
    """A server whose client writes lines, and reads none: `read` is the end of its answers."""

    def __init__(self, process: asyncio.subprocess.Process, read: int) -> None:
        self.process, self.read = process, read

    def put(self, **message: Any) -> None:
        """One message."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def ended(self) -> tuple[int, str]:
        """How it ended, and what it said to whoever looks at that."""
        _, said = await self.process.communicate(b"")
        return self.process.returncode or 0, said.decode().strip()


@asynccontextmanager
async def begun(program: Program, model: ModelServer) -> AsyncIterator[Served]:
    """A server that has been said hello to."""
    read, write = os.pipe()
    words = (sys.executable, "-m", "angelia", "mcp", "serve", "-C", str(program.work))
    pipe, env = asyncio.subprocess.PIPE, {**program.environment(model.base_url), "PYTHONPATH": str(ROOT / "src")}
    process = await asyncio.create_subprocess_exec(*words, env=env, stdin=pipe, stdout=write, stderr=pipe)
    os.close(write)
    one = Served(process, read)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    one.put(id=1, method="initialize", params=hello)
    one.put(method="notifications/initialized")
    try:
        yield one
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


ASK = {"name": "ask", "arguments": {"question": "Which bed?", "key": "k1"}}


async def test_a_client_that_reads_no_more_is_heard_until_it_has_left(program: Program) -> None:
    async with ModelServer([hang()]) as model, begun(program, model) as server:
        os.close(server.read)
        server.put(id=2, method="tools/list")
        server.put(id=3, method="tools/call", params=ASK)
        asked = asyncio.create_task(model.when(lambda one: len(one.requests) == 1))
        await asyncio.wait({asked, asyncio.create_task(server.process.wait())}, return_when=asyncio.FIRST_COMPLETED)
        assert await server.ended() == (0, "")
        assert asked.done()


async def test_ctrl_c_ends_a_server_whose_client_stays(program: Program) -> None:
    async with ModelServer([hang()]) as model, begun(program, model) as server:
        server.put(id=2, method="tools/call", params=ASK)
        await model.when(lambda one: len(one.requests) == 1)
        server.process.send_signal(signal.SIGINT)
        await server.process.wait()
        assert await server.ended() == (130, "")
        os.close(server.read)
