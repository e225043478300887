"""A machine over SSH meets every claim of the public conformance kit."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.port import Sandbox
from angelia.sandboxes.ssh.sandbox import SshSandbox
from angelia.testing.sandboxes.checks import SandboxCheck, checks

from .sizes import SIZES
from .sshd import Server


@pytest.mark.soak(every=4)
@pytest.mark.anyio
@pytest.mark.real("ssh")
@pytest.mark.parametrize("check", checks(SIZES), ids=lambda check: check.name)
async def test_over_ssh(check: SandboxCheck, sshd: Server, person: Path, tmp_path: Path) -> None:
    sshd.introduce(person)

    @asynccontextmanager
    async def make() -> AsyncIterator[Sandbox]:
        (tmp_path / "workspace").mkdir()
        place = SandboxContext("c", str(tmp_path / "workspace"), tmp_path / "own", tmp_path / "own/run", confine="off")
        sandbox = SshSandbox("box", place)
        try:
            yield sandbox
        finally:
            async with sshd.to_the_end():
                await sandbox.close()

    await check.run(make)
