"""A sandbox at Modal meets every claim of the public conformance kit: the real SDK, a service of the tests' own.

With an account at Modal, the same claims are put to the real service by one command:

    ANGELIA_TEST_MODAL=python:3.12-slim .venv/bin/pytest tests/sandboxes/test_modal_conformance.py
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.modal import persistent
from angelia.sandboxes.modal.sandbox import ModalSandbox
from angelia.sandboxes.port import Sandbox
from angelia.testing.sandboxes.checks import Make, SandboxCheck, Sizes, checks

from .modal_cloud import REAL, Cloud
from .shared_claims import emptied, shares
from .sizes import SIZES

CHECKS = [
    check
    for check in checks(Sizes(sparse=64_000_000, real=64_000_000, output=64_000_000, files=200, races=SIZES.races))
    # many reads take long; `test_byexec` has them, by the same scripts
    if "swapped" not in check.name or REAL in os.environ
]


pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap")]


@asynccontextmanager
async def at_modal(image: str, folder: Path) -> AsyncIterator[Sandbox]:
    place = SandboxContext("kit", "/workspace", folder / "own", folder / "own/run")
    sandbox = ModalSandbox(image, place)
    try:
        yield sandbox
    finally:
        await sandbox.close()
        for known in await persistent.found(place.state, []):
            await persistent.end(known)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """What stands for several tests needs one loop for all of them."""
    return "asyncio"


@pytest.fixture(scope="module")
async def standing(modal: Cloud, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Make]:
    async with at_modal(modal.image, tmp_path_factory.mktemp("standing")) as sandbox:
        yield lambda: emptied(sandbox, None)


@pytest.mark.soak(every=4)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
async def test_at_modal(check: SandboxCheck, modal: Cloud, standing: Make, tmp_path: Path) -> None:
    await check.run(standing if shares(check) else partial(at_modal, modal.image, tmp_path))
