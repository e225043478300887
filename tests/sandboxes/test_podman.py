"""Podman in Docker's place: what it does otherwise makes no difference (the whole kit would take minutes)."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.docker.sandbox import DockerSandbox
from angelia.sandboxes.docker.settings import DockerSettings
from angelia.sandboxes.port import AccessRefused
from angelia.testing.sandboxes.acts import arrives, place, refused, said, script, shell
from angelia.testing.sandboxes.checks import SandboxCheck, checks

from .daemon import IMAGE, Daemon

pytestmark = [pytest.mark.anyio, pytest.mark.real("podman")]

TAKEN = (
    "input arrives and ends",
    "output and errors keep their order",
    "a time out ends the whole tree",
    "closing ends what runs and may be repeated",
    "links to the outside are refused",
)
KIT = [check for check in checks() if check.name in TAKEN]


def sandbox(podman: Daemon, folder: Path, **settings: object) -> DockerSandbox:
    """One of conversation `one`."""
    (folder / "work").mkdir(exist_ok=True)
    where = SandboxContext("one", str(folder / "work"), folder / "own", folder / "own/run")
    return DockerSandbox(IMAGE, where, settings=DockerSettings(**settings), socket=podman.socket)  # type: ignore[arg-type]


@pytest.mark.soak(every=2)
@pytest.mark.parametrize("check", KIT, ids=lambda check: check.name)
async def test_it_meets_claims_of_the_kit(check: SandboxCheck, podman: Daemon, tmp_path: Path) -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[DockerSandbox]:
        container = sandbox(podman, tmp_path)
        try:
            yield container
        finally:
            await container.close()

    assert len(KIT) == len(TAKEN)
    await check.run(make)


@pytest.mark.soak
async def test_concurrent_first_calls_make_one_container(podman: Daemon, tmp_path: Path) -> None:
    containers = [sandbox(podman, tmp_path) for _ in range(3)]
    starts = await asyncio.gather(*(shell(container, "cut -d' ' -f22 /proc/1/stat") for container in containers * 2))
    assert len(set(starts)) == 1
    for container in containers:
        await container.close()


async def test_what_is_hidden_is_not_copied_into_what_covers_it(
    podman: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "work"))
    (tmp_path / "work/.ssh").mkdir(parents=True)
    (tmp_path / "work/.ssh/id").write_text("canary")
    (tmp_path / "work/.netrc").write_text("canary")
    container = sandbox(podman, tmp_path)
    output, _ = await said(container, script("ls -A .ssh; cat .netrc .ssh/id"))
    assert b"canary" not in output
    assert b"id\n" not in output
    await refused(arrives(container, ".ssh/id"), AccessRefused)
    await container.close()


async def test_a_workspace_in_memory_belongs_to_the_person(podman: Daemon) -> None:
    with TemporaryDirectory(dir="/var/tmp") as folder:
        container = sandbox(podman, Path(folder), workspace="tmpfs")
        await place(container, "file", b"some bytes")
        assert await shell(container, "stat -c %u . file; cat file") == f"{os.getuid()}\n{os.getuid()}\nsome bytes"
        await container.close()
