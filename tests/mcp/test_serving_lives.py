"""`angelia mcp serve` as programs start it: over pipes, killed, and started anew."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

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
