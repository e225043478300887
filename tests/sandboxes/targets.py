"""A workspace with a folder that is full and one that cannot be written, in a world of its own.

    bwrap … python -m tests.sandboxes.targets KIND WORKSPACE OWN

puts a sandbox on this machine to the claims about them; `world` is the part before `python`, which mounts nothing
outside.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import Sandbox
from angelia.testing.sandboxes.trouble import check_targets

from .by_commands_sandbox import SandboxThatOnlyStarts


def furnish(workspace: Path) -> None:
    """Make both folders."""
    (workspace / "full").mkdir(parents=True)
    (workspace / "read-only").mkdir()
    (workspace / "read-only/file").write_text("old")


def world(workspace: Path) -> list[str]:
    """What a command is begun with that is to live there; it ends with whoever started it."""
    full, read_only = str(workspace / "full"), str(workspace / "read-only")
    mounts = ["--dev-bind", "/", "/", "--size", "2000000", "--tmpfs", full, "--ro-bind", read_only, read_only]
    return ["bwrap", *mounts, "--die-with-parent", "--cap-add", "ALL"]


@asynccontextmanager
async def _sandbox(name: str, workspace: Path, own: Path) -> AsyncIterator[Sandbox]:
    sandbox: Sandbox
    if name == "local":
        sandbox = LocalSandbox(workspace, home=own, state=own / "run", confine="off")
    else:
        sandbox = SandboxThatOnlyStarts(workspace, own)
    yield sandbox
    await sandbox.close()


if __name__ == "__main__":
    asyncio.run(check_targets(lambda: _sandbox(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))))
