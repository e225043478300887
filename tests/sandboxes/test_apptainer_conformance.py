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
from angelia.testing.sandboxes.checks import Make, SandboxCheck, checks

from .apptainer import Images
from .shared_claims import emptied, shares
from .sizes import SIZES

pytestmark = [pytest.mark.anyio, pytest.mark.real("apptainer")]


@asynccontextmanager
async def instance(image: Path, folder: Path) -> AsyncIterator[tuple[Sandbox, Path]]:
    workspace = folder / 'work, "space":'
    workspace.mkdir()
    place = SandboxContext("c", str(workspace), folder / "own", folder / "own/run")
    sandbox = ApptainerSandbox(str(image), place)
    try:
        yield sandbox, workspace
    finally:
        await sandbox.close()
        assert not await persistent.found(place.state, [ApptainerSettings()])


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """What stands for several tests needs one loop for all of them."""
    return "asyncio"


@pytest.fixture(scope="module")
async def standing(apptainer: Images, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Make]:
    async with instance(apptainer.folder, tmp_path_factory.mktemp("standing")) as (sandbox, workspace):
        yield lambda: emptied(sandbox, workspace)


@pytest.mark.soak(every=4)
@pytest.mark.parametrize("check", checks(SIZES), ids=lambda check: check.name)
async def test_in_an_instance(check: SandboxCheck, apptainer: Images, standing: Make, tmp_path: Path) -> None:
    @asynccontextmanager
    async def make() -> AsyncIterator[Sandbox]:
        async with instance(apptainer.folder, tmp_path) as (sandbox, _):
            yield sandbox

    await check.run(standing if shares(check) else make)
