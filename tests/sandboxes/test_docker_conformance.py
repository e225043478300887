"""A container meets every claim of the public conformance kit, with its workspace bound in and in memory."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pytest

from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.docker.sandbox import DockerSandbox
from angelia.sandboxes.docker.settings import DockerSettings
from angelia.sandboxes.port import Sandbox
from angelia.testing.sandboxes.checks import Make, SandboxCheck, checks
from angelia.testing.sandboxes.files import FILE_CLAIMS

from .daemon import IMAGE, Daemon
from .shared_claims import emptied, shares
from .sizes import SIZES

pytestmark = [pytest.mark.anyio, pytest.mark.real("docker")]

FILES = {claim.__name__.replace("_", " ") for claim in FILE_CLAIMS}
IN_MEMORY = [
    check
    for check in checks(SIZES)
    if check.name in FILES and "swapped" not in check.name  # many reads; `test_byexec` has them, by the same scripts
]


@asynccontextmanager
async def contained(workspace: Literal["bind", "tmpfs"], docker: Daemon, folder: Path) -> AsyncIterator[Sandbox]:
    (folder / "workspace").mkdir()
    sandbox = DockerSandbox(
        IMAGE,
        SandboxContext("c", str(folder / "workspace"), folder / "own", folder / "own/run"),
        settings=DockerSettings(workspace=workspace),
        socket=docker.socket,
    )
    try:
        yield sandbox
    finally:
        await sandbox.close()


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """What stands for several tests needs one loop for all of them."""
    return "asyncio"


@pytest.fixture(scope="module")
async def bound(docker: Daemon, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Make]:
    folder = tmp_path_factory.mktemp("bound")
    async with contained("bind", docker, folder) as sandbox:
        yield lambda: emptied(sandbox, folder / "workspace")


@pytest.fixture(scope="module")
async def in_memory(docker: Daemon) -> AsyncIterator[Make]:
    with outside_tmp() as folder:
        async with contained("tmpfs", docker, folder) as sandbox:
            yield lambda: emptied(sandbox, None)


@contextmanager
def outside_tmp() -> Iterator[Path]:
    """/tmp may be written as a whole: no workspace's outside."""
    with TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


@pytest.mark.soak(every=4)
@pytest.mark.parametrize("check", checks(SIZES), ids=lambda check: check.name)
async def test_with_a_bound_workspace(check: SandboxCheck, docker: Daemon, bound: Make, tmp_path: Path) -> None:
    await check.run(bound if shares(check) else partial(contained, "bind", docker, tmp_path))


@pytest.mark.soak(every=6)
@pytest.mark.parametrize("check", IN_MEMORY, ids=lambda check: check.name)
async def test_with_a_workspace_in_memory(check: SandboxCheck, docker: Daemon, in_memory: Make) -> None:
    with outside_tmp() as folder:
        await check.run(in_memory if shares(check) else partial(contained, "tmpfs", docker, folder))
