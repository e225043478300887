"""A container meets every claim of the public conformance kit, with its workspace bound in and in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pytest

from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.docker.sandbox import DockerSandbox
from angelia.sandboxes.docker.settings import DockerSettings
from angelia.sandboxes.port import Sandbox
from angelia.testing.sandboxes.checks import SandboxCheck, checks
from angelia.testing.sandboxes.files import FILE_CLAIMS

from .daemon import IMAGE, Daemon
from .sizes import SIZES

pytestmark = [pytest.mark.anyio, pytest.mark.real("docker")]

FILES = {claim.__name__.replace("_", " ") for claim in FILE_CLAIMS}
IN_MEMORY = [
    check
    for check in checks(SIZES)
    if check.name in FILES and "swapped" not in check.name  # many reads; `test_byexec` has them, by the same scripts
]


async def meets(check: SandboxCheck, workspace: Literal["bind", "tmpfs"], docker: Daemon, tmp_path: Path) -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[Sandbox]:
        (tmp_path / "workspace").mkdir()
        sandbox = DockerSandbox(
            IMAGE,
            SandboxContext("c", str(tmp_path / "workspace"), tmp_path / "own", tmp_path / "own/run"),
            settings=DockerSettings(workspace=workspace),
            socket=docker.socket,
        )
        try:
            yield sandbox
        finally:
            await sandbox.close()

    await check.run(make)


@pytest.mark.parametrize("check", checks(SIZES), ids=lambda check: check.name)
async def test_with_a_bound_workspace(check: SandboxCheck, docker: Daemon, tmp_path: Path) -> None:
    await meets(check, "bind", docker, tmp_path)


@pytest.mark.parametrize("check", IN_MEMORY, ids=lambda check: check.name)
async def test_with_a_workspace_in_memory(check: SandboxCheck, docker: Daemon) -> None:
    with TemporaryDirectory(dir="/var/tmp") as folder:  # /tmp may be written as a whole: no workspace's outside
        await meets(check, "tmpfs", docker, Path(folder))
