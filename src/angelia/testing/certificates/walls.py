"""The walls: what a command of the local sandbox must not reach on this machine, and the sandbox's conformance kit."""

import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from angelia.core.errors import AngeliaError
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import Sandbox
from angelia.testing.certificates.certificate import TriedClaim
from angelia.testing.certificates.trial import tried
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from angelia.testing.sandboxes.acts import said, script
from angelia.testing.sandboxes.checks import checks

_UNSEEN = "a key that nobody inside may read"
_CONNECT = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 3).close(); print('through')"


async def walls(
    folder: Path, told: Callable[[str], None], confine: Literal["auto", "off"] = "auto"
) -> list[TriedClaim]:
    """Try every wall in `folder`; `told` hears of each. With `confine` off there are none, and it says so."""
    claims = [await _probed(folder, confine, *probe) for probe in _probes(folder)]
    claims += [await _network(folder, confine)]
    for check in checks():
        claims.append(await tried(check.name, check.run(lambda: _sandbox(folder, confine))))
    for claim in claims:
        told(f"{claim.claim}: {'; '.join(claim.broken) or 'held'}")
    return claims


def _probes(folder: Path) -> list[tuple[str, str, str]]:
    """Claims with a command line each, and what it must not say."""
    outside = folder / "outside"
    outside.mkdir(exist_ok=True)
    own = folder / "own"
    own.mkdir(exist_ok=True)
    (own / "key").write_text(_UNSEEN)
    return [
        ("what is in Angelia's home cannot be read", f"cat '{own}/key'", _UNSEEN),
        ("nothing outside of the workspace can be written", f"echo x > '{outside}/file' && echo written", "written"),
    ]


async def _probed(folder: Path, confine: Literal["auto", "off"], claim: str, line: str, never: str) -> TriedClaim:
    try:
        async with _sandbox(folder, confine) as sandbox:
            output, _ = await said(sandbox, script(line))
    except AngeliaError as error:
        return TriedClaim(claim, 1, (f"it could not be tried: {error}",))
    return TriedClaim(claim, 1, (f"a command said {never!r}",) if never.encode() in output else ())


async def _network(folder: Path, confine: Literal["auto", "off"]) -> TriedClaim:
    async with ModelServer([say("never")]) as server:
        port = server.url.rpartition(":")[2]
        line = f'python3 -c "{_CONNECT}" {port}'
        return await _probed(folder, confine, "a confined command connects to nothing of this machine", line, "through")


@asynccontextmanager
async def _sandbox(folder: Path, confine: Literal["auto", "off"]) -> AsyncIterator[Sandbox]:
    with tempfile.TemporaryDirectory(prefix="workspace-", dir=folder) as workspace:
        own = folder / "own"
        sandbox = LocalSandbox(Path(workspace), home=own, state=own / "run", confine=confine)
        try:
            yield sandbox
        finally:
            await sandbox.close()
