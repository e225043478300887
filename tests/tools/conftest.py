"""Fixtures for the tests of tools."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.testing.tools.harness import ToolHarness
from angelia.tools.files.toolset import FileTools
from angelia.tools.shell.toolset import ShellTools


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[ToolHarness]:
    """A bench in an empty folder, without walls around its commands."""
    workspace = (tmp_path / "work").resolve()
    workspace.mkdir()
    sandbox = LocalSandbox(workspace, home=tmp_path / "home", state=tmp_path / "state", confine="off")
    bench = ToolHarness(workspace, sandbox, (ShellTools(), FileTools()))
    await bench.open()
    yield bench
    await bench.close()


@pytest.fixture
async def confined(tmp_path: Path) -> AsyncIterator[ToolHarness]:
    """A bench whose commands are confined to its folder."""
    workspace = (tmp_path / "work").resolve()
    workspace.mkdir()
    sandbox = LocalSandbox(workspace, home=tmp_path / "home", state=tmp_path / "state")
    bench = ToolHarness(workspace, sandbox, (ShellTools(), FileTools()))
    await bench.open()
    yield bench
    await bench.close()


@pytest.fixture
def without_rg(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH that leads to find, grep and readlink, and not to ripgrep."""
    folder = tmp_path_factory.mktemp("bin")
    for name in ("find", "grep", "readlink"):
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
