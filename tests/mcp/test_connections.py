"""One server, from its start to its end: what it brings, what it does wrong, and what is made of that."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from angelia.beginning import FOLDER
from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.connection_state import Gone, Ready
from angelia.tools.mcp.failures import ServerLost, ServerRefused, Unavailable
from angelia.tools.mcp.server import ServerProgram, Site, given
from angelia.tools.mcp.servers import trouble
from tests.mcp.reached import bare, only, reached, seen
from tests.ports import free_port

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def in_time() -> AsyncIterator[None]:
    """Nothing here waits for ever."""
    async with asyncio.timeout(120):
        yield


def quiet(_: str) -> None:
    """Nobody watches."""


async def said(connection: McpConnection, tool: str, **arguments: Any) -> str:
    """The words of a result."""
    result = await connection.call(tool, arguments, quiet)
    return " ".join(block.text for block in result.content if block.type == "text")


async def until(holds: Any) -> None:
    """Wait until something is so in another process, which tells nobody."""
    while not holds():  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0.01)


NAMES = ["say", "note", "picture", "steps", "die", "wait", "more", "token", "fail", "odd", "refuse"]


@pytest.mark.parametrize("era", ["old", "new"])
async def test_a_server_of_either_era_lists_every_page_is_called_and_tells_of_new_tools(
    tmp_path: Path, era: str
) -> None:
    async with reached(tmp_path, bare(tmp_path, era)) as (servers, _):
        server = only(servers)
        assert [tool.name for tool in server.tools] == NAMES
        assert await said(server, "say", words="hello") == "hello"
        await said(server, "more")
        await until(lambda: len(server.tools) > len(NAMES))
        assert server.tools[-1].name == "extra"
    began = [line for line in seen(tmp_path) if line.startswith("began")]
    assert began == [f"began in {tmp_path / FOLDER}"] * (1 if era == "old" else 2)


async def test_progress_is_shown_and_an_error_of_the_tool_is_a_result(tmp_path: Path) -> None:
    shown: list[str] = []
    async with reached(tmp_path, bare(tmp_path)) as (servers, _):
        server = only(servers)
        await server.call("steps", {}, shown.append)
        await until(lambda: len(shown) == 2)
        assert shown == ["1/2 part 1\n", "2/2 part 2\n"]
        result = await server.call("fail", {}, quiet)
        assert result.is_error


async def test_a_server_that_dies_in_mid_call_is_lost_to_that_call_and_there_for_the_next(tmp_path: Path) -> None:
    program = bare(tmp_path, env={"BARE_TOKEN": "s3cr3t-t0k3n"})
    async with reached(tmp_path, program) as (servers, _):
        server = only(servers)
        with pytest.raises(ServerLost, match=r"went away while this ran \(it has ended; it last said: out of ink"):
            await server.call("die", {}, quiet)
        assert isinstance(server.state, Gone)
        assert "s3cr3t" not in server.state.why
        assert [tool.name for tool in server.tools] == NAMES
        assert await said(server, "say", words="again") == "again"
        assert trouble(server) == ""
    assert seen(tmp_path).count("died") == 1


async def test_two_calls_run_side_by_side_and_one_that_is_stopped_is_told_so(tmp_path: Path) -> None:
    async with reached(tmp_path, bare(tmp_path)) as (servers, _):
        server = only(servers)
        waiting = asyncio.create_task(server.call("wait", {}, quiet))
        await until(lambda: "waits" in seen(tmp_path))
        assert await said(server, "say", words="meanwhile") == "meanwhile"
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await until(lambda: "notifications/cancelled" in seen(tmp_path))
        assert await said(server, "say", words="after") == "after"
    assert seen(tmp_path).count(f"began in {tmp_path / FOLDER}") == 1


async def test_a_list_that_is_refused_while_a_call_runs_ends_no_call_and_is_asked_for_again(tmp_path: Path) -> None:
    async with reached(tmp_path, bare(tmp_path)) as (servers, _):
        server = only(servers)
        bringing = asyncio.create_task(said(server, "more", words="later"))
        await until(lambda: "refused a list" in seen(tmp_path))
        assert await said(server, "say", words="meanwhile") == "meanwhile"
        assert await bringing == "brought"
        await until(lambda: len(server.tools) > len(NAMES))
    assert seen(tmp_path).count(f"began in {tmp_path / FOLDER}") == 1


async def test_a_call_that_stays_silent_is_given_up_and_nobody_knows_what_became_of_it(tmp_path: Path) -> None:
    async with reached(tmp_path, bare(tmp_path), seconds=0.3) as (servers, _):
        with pytest.raises(ServerLost, match=r"gave no sign for 0\.3 s"):
            await only(servers).call("wait", {}, quiet)
        await until(lambda: "notifications/cancelled" in seen(tmp_path))
        assert isinstance(only(servers).state, Ready)


async def test_a_server_that_cannot_be_had_is_named_with_the_reason_and_stops_nobody_else(tmp_path: Path) -> None:
    ways = (
        ServerProgram(("/no/such/server",), given({})),
        bare(tmp_path),
        ServerProgram(("sh", "-c", "echo no licence >&2; exit 1"), given({})),
        ServerProgram(("sh", "-c", "exit 0"), given({}), (), "/no/such/folder"),
    )
    async with reached(tmp_path, *ways) as (servers, _):
        troubles = [trouble(connection) for connection in servers.all]
        assert troubles[0].endswith("/no/such/server could not be started: No such file or directory.")
        assert troubles[1] == ""
        assert "it last said: no licence" in troubles[2]
        assert "No such file or directory" in troubles[3]
        with pytest.raises(Unavailable, match="Nothing was sent"):
            await servers.all[0].call("say", {}, quiet)
        assert await said(servers.all[1], "say", words="here") == "here"


async def test_a_program_knows_only_what_it_was_given(tmp_path: Path) -> None:
    line = f"env | cut -d= -f1 | sort > {tmp_path}/names; exit 0"
    program = ServerProgram(("sh", "-c", line), given({"GIVEN": "x"}), ("GIVEN",))
    async with reached(tmp_path, program):
        names = set((tmp_path / "names").read_text().split())
    assert names - {"_", "PWD", "OLDPWD", "SHLVL"} == {"ANGELIA_COMMAND", "GIVEN", "HOME", "PATH"}


async def test_leaving_ends_the_program_and_the_call_that_runs(tmp_path: Path) -> None:
    async with reached(tmp_path, bare(tmp_path)) as (servers, _):
        waiting = asyncio.create_task(only(servers).call("wait", {}, quiet))
        await until(lambda: "waits" in seen(tmp_path))
    with pytest.raises(ServerLost):
        await waiting
    assert not list((tmp_path / "running").glob("*.lock"))


async def answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A site that lets nobody in."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    await writer.drain()
    writer.close()


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_a_site_that_wants_a_login_and_one_that_is_not_there_say_so(tmp_path: Path, transport: Any) -> None:
    site = await asyncio.start_server(answering, "127.0.0.1", 0)
    port = site.sockets[0].getsockname()[1]
    here, gone = (Site(f"http://127.0.0.1:{number}/mcp", given({}), (), transport) for number in (port, free_port()))
    async with site, reached(tmp_path, here, gone) as (servers, _):
        locked, absent = map(trouble, servers.all)
    assert "wants a login (HTTP 401)" in locked
    assert "s2 cannot be used: ConnectError" in absent, absent


async def test_a_name_that_leads_to_this_machine_is_not_followed(tmp_path: Path) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async def knocked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        knocks.append(writer)
        writer.close()

    knocks: list[Any] = []
    site = await asyncio.start_server(knocked, "127.0.0.1", 0)
    port = site.sockets[0].getsockname()[1]
    way = Site(f"http://notes.example:{port}/mcp", given({}))
    async with site, reached(tmp_path, way, resolve=resolve) as (servers, _):
        assert "127.0.0.1 is this machine" in trouble(only(servers))
    assert not knocks


async def test_a_program_that_is_killed_while_it_rests_is_started_again(tmp_path: Path) -> None:
    async with reached(tmp_path, bare(tmp_path)) as (servers, _):
        server = only(servers)
        life = next((tmp_path / "running").glob("*/*/commands"))
        os.kill(int(life.read_text().splitlines()[-1].split()[0]), signal.SIGKILL)
        await until(lambda: isinstance(server.state, Gone))
        assert await said(server, "say", words="back") == "back"


async def test_what_a_server_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    async with reached(tmp_path, bare(tmp_path)) as (servers, _):
        with pytest.raises(ServerRefused, match="no such paper"):
            await only(servers).call("refuse", {}, quiet)
        with pytest.raises(ServerRefused, match="none of the protocol's"):
            await only(servers).call("odd", {}, quiet)
        assert await said(only(servers), "say", words="still here") == "still here"
