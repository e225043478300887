"""A person with a home, Angelia's own home beside it, local sandboxes that are closed after the test, and servers."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from angelia.sandboxes.local.resource_limits import USUAL, LocalSettings
from angelia.sandboxes.local.sandbox import LocalSandbox

from .apptainer import Images, images
from .daemon import Daemon, KernelRefuses, daemon
from .daemon import podman as podman_daemon
from .modal_cloud import Cloud, cloud
from .sshd import Server, server


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of somebody who has a secret."""
    home = tmp_path / "person"
    home.mkdir()
    (home / "diary").write_text("canary-diary")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SECRET_KEY", "canary-variable")
    return home


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Angelia's own home."""
    home = tmp_path / "own"
    home.mkdir()
    (home / "keys").write_text("canary-own")
    return home


Build = Callable[..., LocalSandbox]


@pytest.fixture
async def build(person: Path, own: Path, tmp_path: Path) -> AsyncIterator[Build]:
    """Makes local sandboxes: by default of an empty workspace, with `auto` confinement."""
    made: list[LocalSandbox] = []

    def build(workspace: Path = tmp_path / "work", limits: LocalSettings = USUAL, **settings: object) -> LocalSandbox:
        workspace.mkdir(exist_ok=True)
        made.append(LocalSandbox(workspace, home=own, state=own / "run", **settings))  # type: ignore[arg-type]
        made[-1].limits = limits
        return made[-1]

    yield build
    for sandbox in made:
        await sandbox.close()


@pytest.fixture(scope="session")
def docker() -> Iterator[Daemon]:
    """A container daemon of these tests' own. Nothing is left of it, and no container either."""
    try:
        with daemon() as one:
            yield one
            assert one.containers() == []
    except KernelRefuses as refusal:
        if os.environ.get("CI"):
            pytest.fail(f"no container daemon can run here, and CI must have one: {refusal}")
        pytest.skip(f"this machine's kernel does not let a container daemon run: {refusal}")


@pytest.fixture(scope="session")
def podman() -> Iterator[Daemon]:
    """Podman in Docker's place. No container of it is left."""
    with podman_daemon() as one:
        yield one
        assert one.containers() == []


@pytest.fixture(scope="session")
def sshd() -> Iterator[Server]:
    """An SSH server of these tests' own."""
    with server() as one:
        yield one


@pytest.fixture(scope="session")
def apptainer() -> Iterator[Images]:
    """Images for Apptainer."""
    with images() as both:
        yield both


@pytest.fixture(scope="session")
def modal() -> Iterator[Cloud]:
    """Modal, or what stands for it."""
    with cloud() as one:
        yield one
