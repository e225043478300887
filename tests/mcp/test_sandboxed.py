"""A server in the sandbox: called as one of the machine is, confined, and ended with the conversation."""

import asyncio
import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from angelia.sandboxes.apptainer.sandbox import ApptainerSandbox
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.docker.sandbox import DockerSandbox
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.modal.sandbox import ModalSandbox
from angelia.sandboxes.port import Sandbox
from angelia.sandboxes.ssh.sandbox import SshSandbox
from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.connection_state import Gone
from angelia.tools.mcp.failures import ServerLost, Unavailable
from angelia.tools.mcp.server import SandboxProgram, given
from angelia.tools.mcp.servers import trouble
from tests.mcp.reached import only, reached
from tests.sandboxes.by_commands_sandbox import SandboxThatConfinesNothing
from tests.sandboxes.conftest import apptainer, docker, modal, own, person, sshd
from tests.sandboxes.daemon import IMAGE

__all__ = ["apptainer", "docker", "modal", "own", "person", "sshd"]

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent
LINES = (HERE / "line_server.sh").read_text()


@pytest.fixture(autouse=True)
async def in_time() -> AsyncIterator[None]:
    """Nothing here waits for ever."""
    async with asyncio.timeout(120):
        yield


def lines(**env: str) -> SandboxProgram:
    """The server for places that have a shell alone."""
    return SandboxProgram(("sh", "-c", LINES), given(env), tuple(env))


async def said(connection: McpConnection, tool: str, **arguments: Any) -> str:
    """The words of a result."""
    result = await connection.call(tool, arguments, lambda _: None)
    return " ".join(block.text for block in result.content if block.type == "text")


async def until(holds: Callable[[], Any]) -> None:
    """Wait until something is so in another process, which tells nobody."""
    while not holds():  # noqa: ASYNC110 - there is no event to wait for
        await asyncio.sleep(0.01)


Opened = AbstractAsyncContextManager[Sandbox]


@asynccontextmanager
async def confined(folder: Path) -> AsyncIterator[LocalSandbox]:
    """A local sandbox."""
    (folder / "work").mkdir()
    sandbox = LocalSandbox(folder / "work", home=folder / "own", state=folder / "own/run")
    yield sandbox
    await sandbox.close()


def opened(name: str, folder: Path, request: pytest.FixtureRequest) -> Opened:
    """A sandbox of that kind, with an empty workspace."""
    work = folder / "work"
    place = SandboxContext("c", str(work), folder / "own", folder / "own/run", confine="off")

    @asynccontextmanager
    async def made() -> AsyncIterator[Sandbox]:
        work.mkdir()
        sandbox: Sandbox
        match name:
            case "docker":
                sandbox = DockerSandbox(IMAGE, place, socket=request.getfixturevalue("docker").socket)
            case "apptainer":
                sandbox = ApptainerSandbox(str(request.getfixturevalue("apptainer").folder), place)
            case "ssh":
                request.getfixturevalue("sshd").introduce(request.getfixturevalue("person"))
                sandbox = SshSandbox("box", place)
            case _:
                there = SandboxContext("c", "/workspace", place.home, place.state)
                sandbox = ModalSandbox(request.getfixturevalue("modal").image, there)
        yield sandbox
        await sandbox.close()

    return confined(folder) if name == "local" else made()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.real(part))
        for name, part in (
            ("local", "bwrap"),
            ("docker", "docker"),
            ("apptainer", "apptainer"),
            ("ssh", "ssh"),
            ("modal", "modal-stand-in"),
        )
    ],
)
async def test_in_every_kind_of_sandbox_it_is_called_and_one_that_dies_is_there_for_the_next_call(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(opened(name, tmp_path, request))
        workspace = (await sandbox.describe()).workspace
        program = lines(LINES_TOKEN="s3cr3t-t0k3n")
        servers, _ = await stack.enter_async_context(reached(tmp_path, program, sandbox=sandbox))
        server = only(servers)
        assert trouble(server) == ""
        assert [tool.name for tool in server.tools] == ["where", "die", "wait", "given"]
        assert await said(server, "where") == workspace
        names = set((await said(server, "given")).split())
        assert "LINES_TOKEN" in names
        assert not {"SECRET_KEY", "PYTEST_CURRENT_TEST"} & names
        with pytest.raises(ServerLost, match=r"went away while this ran \(it has ended; it last said: out of ink"):
            await said(server, "die")
        assert isinstance(server.state, Gone)
        assert "s3cr3t" not in server.state.why
        assert await said(server, "where") == workspace


@pytest.mark.real("bwrap")
async def test_one_of_the_python_library_reads_nothing_and_reaches_nobody_outside(
    tmp_path: Path, person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        async with confined(tmp_path) as sandbox:
            shutil.copy(HERE / "library_server.py", tmp_path / "work/server.py")
            (tmp_path / "work/note").write_text("what the workspace holds")
            program = SandboxProgram(("python", "server.py"), given({}))
            async with reached(tmp_path, program, sandbox=sandbox) as (servers, _):
                server = only(servers)
                assert trouble(server) == ""
                assert await said(server, "read", path="note") == "what the workspace holds"
                assert await said(server, "read", path=str(person / "diary")) == "no: No such file or directory"
                assert await said(server, "knock", port=port) == "no: Connection refused"


def alive(mark: str) -> list[str]:
    """The command lines that hold these words."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if mark in words:
            found.append(words)
    return found


@pytest.mark.real("bwrap")
async def test_leaving_ends_it_with_all_it_started_and_the_call_that_runs(tmp_path: Path) -> None:
    program = SandboxProgram(("sh", "-c", f": {tmp_path}; sleep 1000 & {LINES}\nsleep 1000"), given({}))
    async with confined(tmp_path) as sandbox:
        async with reached(tmp_path, program, sandbox=sandbox) as (servers, _):
            waiting = asyncio.create_task(said(only(servers), "wait"))
            await until((tmp_path / "work/waits").exists)
            assert alive(str(tmp_path))
        with pytest.raises(ServerLost):
            await waiting
        await until(lambda: not alive(f": {tmp_path}"))


@pytest.mark.real("bwrap")
async def test_a_sandbox_that_is_closed_takes_its_servers_with_it_and_they_say_so(tmp_path: Path) -> None:
    async with confined(tmp_path) as sandbox, reached(tmp_path, lines(), sandbox=sandbox) as (servers, _):
        server = only(servers)
        await sandbox.close()
        await until(lambda: isinstance(server.state, Gone))
        with pytest.raises(Unavailable, match="This sandbox has been closed"):
            await said(server, "where")


async def test_where_nothing_can_be_confined_it_is_refused_and_runs_nowhere(tmp_path: Path) -> None:
    room = SandboxThatConfinesNothing(tmp_path / "work", tmp_path / "own")
    program = SandboxProgram(("sh", "-c", f"touch '{tmp_path}/ran'; {LINES}"), given({}))
    async with reached(tmp_path, program, sandbox=room) as (servers, _):
        assert trouble(only(servers)).endswith("This sandbox cannot confine commands.")
    assert not (tmp_path / "ran").exists()
    await room.close()


@pytest.mark.real("bwrap")
async def test_what_cannot_be_started_there_is_named(tmp_path: Path) -> None:
    ways = (
        SandboxProgram(("no-such-server",), given({})),
        SandboxProgram(("sh", "-c", "echo no licence >&2; exit 1"), given({})),
        SandboxProgram(("true",), given({}), (), "no/such/folder"),
    )
    async with confined(tmp_path) as sandbox, reached(tmp_path, *ways, sandbox=sandbox) as (servers, _):
        troubles = [trouble(connection) for connection in servers.all]
    assert "no-such-server" in troubles[0]
    assert "it last said: no licence" in troubles[1]
    assert "There is no folder" in troubles[2]
