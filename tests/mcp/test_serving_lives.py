"""`angelia mcp serve` as programs start it: over pipes, killed, and started anew."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import hang, say
from angelia.tools.mcp.failures import ServerLost
from angelia.tools.mcp.server import ServerProgram, given
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


async def test_what_was_asked_outlives_a_killed_server_and_is_not_asked_twice(program: Program, tmp_path: Path) -> None:
    async with ModelServer([hang(), say("The south bed.")]) as model:
        env = program.environment(model.base_url)
        argv = (str(Path(sys.executable).with_name("angelia")), "mcp", "serve", "-C", str(program.work))
        async with reached(tmp_path, ServerProgram(argv, given(env), tuple(env))) as (servers, _):
            server = only(servers)
            asking = {"question": "Which bed?", "key": "k1"}
            early = await server.call("ask", {**asking, "seconds": 0}, quiet)
            assert early.structured_content["state"] == "working"
            waiting = asyncio.create_task(server.call("ask", asking, quiet))
            await model.when(lambda one: len(one.requests) == 1)
            os.kill(running(*argv), signal.SIGKILL)
            with pytest.raises(ServerLost):
                await waiting
            answer = await server.call("ask", asking, quiet)
    assert answer.structured_content["state"] == "answered"
    facts = await program.facts(answer.structured_content["conversation"])
    assert len([fact for fact in facts if isinstance(fact, e.UserSaid)]) == 1
