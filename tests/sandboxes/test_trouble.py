"""Trouble in the middle of a transfer is said as what it is, and nothing half done is left."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.docker.sandbox import DockerSandbox
from angelia.sandboxes.docker.settings import DockerSettings
from angelia.sandboxes.local.processes import end
from angelia.sandboxes.port import Sandbox
from angelia.sandboxes.ssh.sandbox import SshSandbox
from angelia.testing.sandboxes.acts import names_in
from angelia.testing.sandboxes.trouble import Kill, check_deaths, check_targets
from tests.promise.pipes import is_alive

from .by_commands_sandbox import SandboxThatOnlyStarts
from .daemon import IMAGE, Daemon
from .sshd import Server, server
from .targets import furnish, world

pytestmark = pytest.mark.anyio


@pytest.mark.real("bwrap")
@pytest.mark.parametrize("kind", ["local", "byexec"])
async def test_full_and_read_only_folders_of_this_machine(kind: str, tmp_path: Path) -> None:
    furnish(tmp_path / "work")
    (tmp_path / "own").mkdir()
    module = ("-m", "tests.sandboxes.targets", kind, str(tmp_path / "work"), str(tmp_path / "own"))
    process = await asyncio.create_subprocess_exec(
        *world(tmp_path / "work"), sys.executable, *module, stderr=asyncio.subprocess.PIPE
    )
    _, told = await process.communicate()
    assert process.returncode == 0, told.decode()


@pytest.mark.real("ssh")
@pytest.mark.real("bwrap")
async def test_full_and_read_only_folders_of_another_machine(person: Path, tmp_path: Path) -> None:
    furnish(tmp_path / "work")
    with server(*world(tmp_path / "work")) as sshd:
        sshd.introduce(person)

        @asynccontextmanager
        async def make() -> AsyncIterator[Sandbox]:
            sandbox = SshSandbox("box", SandboxContext("c", str(tmp_path / "work"), tmp_path, tmp_path, confine="off"))
            yield sandbox
            await sandbox.close()

        await check_targets(make)


@asynccontextmanager
async def contained(docker: Daemon, folder: Path, **settings: object) -> AsyncIterator[DockerSandbox]:
    (folder / "work").mkdir(exist_ok=True)
    place = SandboxContext("c", str(folder / "work"), folder / "own", folder / "own/run")
    in_memory = DockerSettings(workspace="tmpfs", **settings)  # type: ignore[arg-type]
    sandbox = DockerSandbox(IMAGE, place, settings=in_memory, socket=docker.socket)
    yield sandbox
    await sandbox.close()


@pytest.mark.real("docker")
async def test_full_and_read_only_folders_of_a_container(docker: Daemon) -> None:
    with TemporaryDirectory(dir="/var/tmp") as folder:
        furnish(Path(folder, "outside"))
        volume = f"{folder}/outside/read-only:{folder}/work/read-only"
        await check_targets(lambda: contained(docker, Path(folder), tmp_mb=2, volumes=(volume,)))


@pytest.mark.real("docker")
async def test_a_container_that_is_killed(docker: Daemon, tmp_path: Path) -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[tuple[Sandbox, Kill]]:
        async def kill() -> None:
            """As when it runs out of memory; `docker kill` would wait for whoever reads its output."""
            (name,) = docker.containers()
            first = int(docker.docker("inspect", "-f", "{{.State.Pid}}", name))
            await end(lambda: {first} if is_alive(first) else set(), grace=0)

        async with contained(docker, tmp_path) as sandbox:
            yield sandbox, kill

    await check_deaths(make)


@pytest.mark.real("ssh-as-root")  # another's sshd has no process of its own for a session, as far as was seen
async def test_a_connection_that_is_killed(sshd: Server, person: Path, tmp_path: Path) -> None:
    sshd.introduce(person)
    (tmp_path / "work").mkdir()

    @asynccontextmanager
    async def make() -> AsyncIterator[tuple[Sandbox, Kill]]:
        sandbox = SshSandbox("box", SandboxContext("c", str(tmp_path / "work"), tmp_path, tmp_path, confine="off"))
        yield sandbox, sshd.kill_sessions
        assert await names_in(sandbox, ".") == {"large"}  # of a transfer that was cut nothing is left
        await sandbox.close()

    await check_deaths(make)


async def test_commands_that_are_killed(tmp_path: Path) -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[tuple[Sandbox, Kill]]:
        sandbox = SandboxThatOnlyStarts(tmp_path / "work", tmp_path / "own")
        yield sandbox, sandbox.close

    await check_deaths(make)
