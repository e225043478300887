"""Fixtures for the tests of tools."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from angelia.sandboxes.local.sandbox import LocalSandbox
from tests.tools.bench import Bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """A bench in an empty folder, without walls around its commands."""
    workspace = (tmp_path / "work").resolve()
    workspace.mkdir()
    sandbox = LocalSandbox(workspace, home=tmp_path / "home", state=tmp_path / "state", confine="off")
    yield Bench(workspace, sandbox)
    await sandbox.close()


@pytest.fixture
async def confined(tmp_path: Path) -> AsyncIterator[Bench]:
    """A bench whose commands are confined to its folder."""
    workspace = (tmp_path / "work").resolve()
    workspace.mkdir()
    sandbox = LocalSandbox(workspace, home=tmp_path / "home", state=tmp_path / "state")
    yield Bench(workspace, sandbox)
    await sandbox.close()


@pytest.fixture
def without_rg(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH that leads to find, grep and readlink, and not to ripgrep."""
    folder = tmp_path_factory.mktemp("bin")
    for name in ("find", "grep", "readlink"):
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
