"""An Apptainer instance meets every claim of the public conformance kit."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from angelia.sandboxes.apptainer import persistent
from angelia.sandboxes.apptainer.sandbox import ApptainerSandbox
from angelia.sandboxes.apptainer.settings import ApptainerSettings
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.port import Sandbox
from angelia.testing.sandboxes.checks import SandboxCheck, checks

from .apptainer import Images
from .sizes import SIZES


@pytest.mark.anyio
@pytest.mark.real("apptainer")
@pytest.mark.parametrize("check", checks(SIZES), ids=lambda check: check.name)
async def test_in_an_instance(check: SandboxCheck, apptainer: Images, tmp_path: Path) -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[Sandbox]:
        workspace = tmp_path / 'work, "space":'
        workspace.mkdir()
        place = SandboxContext("c", str(workspace), tmp_path / "own", tmp_path / "own/run")
        sandbox = ApptainerSandbox(str(apptainer.folder), place)
        try:
            yield sandbox
        finally:
            await sandbox.close()
            assert not await persistent.found(place.state, [ApptainerSettings()])

    await check.run(make)
