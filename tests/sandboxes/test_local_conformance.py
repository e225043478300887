"""The local sandbox meets every claim of the public conformance kit, confined and not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest

from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import Sandbox
from angelia.sandboxes.undo.store import UndoSettings, UndoStore
from angelia.testing.sandboxes.checks import SandboxCheck, checks

from .sizes import SIZES


async def meets(check: SandboxCheck, confine: Literal["auto", "off"], tmp_path: Path, *, kept: bool = False) -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[Sandbox]:
        workspace = tmp_path / "workspace"
        workspace.mkdir()
        sandbox = LocalSandbox(workspace, home=tmp_path / "own", state=tmp_path / "own/run", confine=confine)
        if kept:
            sandbox.kept_in(UndoStore(tmp_path / "own", UndoSettings()), "c")
        try:
            yield sandbox
        finally:
            await sandbox.close()

    await check.run(make)


@pytest.mark.soak(every=6)
@pytest.mark.real("bwrap")
@pytest.mark.anyio
@pytest.mark.parametrize("check", checks(SIZES), ids=lambda check: check.name)
async def test_confined(check: SandboxCheck, tmp_path: Path) -> None:
    await meets(check, "auto", tmp_path)


@pytest.mark.soak(every=2)
@pytest.mark.real("bwrap")
@pytest.mark.anyio
@pytest.mark.parametrize("check", checks(SIZES), ids=lambda check: check.name)
async def test_confined_and_watched(check: SandboxCheck, tmp_path: Path) -> None:
    await meets(check, "auto", tmp_path, kept=True)


@pytest.mark.soak(every=3)
@pytest.mark.anyio
@pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
async def test_unconfined(check: SandboxCheck, tmp_path: Path) -> None:
    await meets(check, "off", tmp_path)
