"""`angelia mcp serve --http`: this machine alone, and only who has the key."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from angelia.core.errors import AngeliaError
from angelia.faces.listener.serve import Scope, Send, serve, stays_here
from angelia.faces.listener.unfinished import ListenerLimits, Receive
from angelia.faces.mcp.listener import KeyGuard, demand_loopback, key_in, serve_http
from angelia.faces.mcp.tools import TOOLS
from angelia.service.app import App
from angelia.service.settings.config import load
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from angelia.tools.mcp.server import Site, given
from tests.mcp.reached import only, reached
from tests.python.conftest import AskModelAt, at, program
from tests.python.programs import MODEL, Program

pytestmark = pytest.mark.anyio
__all__ = ["at", "program"]


@asynccontextmanager
async def listening(program: Program) -> AsyncIterator[str]:
    """The address of a server in this process."""
    app = await App.open(load(program.home, os.environ, flags={"model": MODEL}), dict(os.environ))
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(serve_http(app, program.work, TOOLS, "127.0.0.1:0", port.set_result))
    try:
        yield f"http://127.0.0.1:{await asyncio.wait_for(port, 60)}"
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await app.close()


async def test_who_has_the_key_asks_and_reads(program: Program, at: AskModelAt, tmp_path: Path) -> None:
    async with ModelServer([say("The south bed.")]) as model:
        at(model)
        async with listening(program) as url:
            headers = {"Authorization": f"Bearer {key_in(program.home)}"}
            async with reached(tmp_path, Site(f"{url}/mcp", given(headers), tuple(headers))) as (servers, _):
                answer = await only(servers).call("ask", {"question": "Which bed?"}, lambda _: None)
    assert [block.text for block in answer.content if block.type == "text"] == ["The south bed."]
    assert (program.home / "keys/mcp-serve").stat().st_mode & 0o777 == 0o600


async def test_nobody_else_gets_anything(program: Program, at: AskModelAt) -> None:
    async with ModelServer([]) as model:
        at(model)
        async with listening(program) as url, httpx2.AsyncClient(trust_env=False) as client:
            key = {"Authorization": f"Bearer {key_in(program.home)}"}
            asking = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            refused = [
                await client.post(f"{url}/mcp", json=asking, headers=headers)
                for headers in (
                    {},
                    {"Authorization": "Bearer"},
                    {"Authorization": "Bearer wrong"},
                    {"Authorization": key["Authorization"].replace("Bearer", "Basic")},
                )
            ]
            unknown = [await client.get(url + path) for path in ("/", "/files/x", "/mcp/../x")]
            elsewhere = await client.get(f"{url}/health", headers=key)
            rebound = await client.post(f"{url}/mcp", json=asking, headers={**key, "Host": "evil.example"})
            foreign = await client.post(f"{url}/mcp", json=asking, headers={**key, "Origin": "https://evil.example"})
    assert [one.status_code for one in [*refused, *unknown]] == [401] * 7
    assert {one.headers["www-authenticate"] for one in refused} == {"Bearer"}
    assert (elsewhere.status_code, rebound.status_code, foreign.status_code) == (404, 421, 403)


async def test_a_client_that_waits_at_the_end_is_let_go_with_an_answer() -> None:
    asked, port = asyncio.Event(), asyncio.get_running_loop().create_future()

    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        asked.set()
        await asyncio.get_running_loop().create_future()

    guard = KeyGuard("own", never, ListenerLimits(answered_s=0))
    serving = asyncio.create_task(serve(guard, "127.0.0.1:0", begun=port.set_result))
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
        head = {"authorization": "Bearer own"}
        waiting = asyncio.create_task(client.get(f"http://127.0.0.1:{await port}/mcp", headers=head))
        await asked.wait()
        serving.cancel()
        await asyncio.wait([serving])
        await guard.close()
        assert (await waiting).status_code == 503


@pytest.mark.parametrize("listen", ["0.0.0.0:8790", "192.168.1.4:8790", "[::]:8790", "garden.example:8790", "8790"])
def test_other_machines_are_never_listened_to(listen: str) -> None:
    with pytest.raises(AngeliaError):
        demand_loopback(listen)


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "localhost:8790", "[::1]:8790"])
def test_this_machine_is(listen: str) -> None:
    assert stays_here(listen, "--http")


def test_a_key_that_others_could_read_is_not_used(tmp_path: Path) -> None:
    key_in(tmp_path)
    (tmp_path / "keys/mcp-serve").chmod(0o644)
    with pytest.raises(AngeliaError):
        key_in(tmp_path)
