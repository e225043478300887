"""Servers reached in this process, without an app around them."""

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from angelia.beginning import empty_folder
from angelia.policy.egress import judge_address, judge_url
from angelia.policy.verdict import Trust
from angelia.sandboxes.local.process_ledger import Life
from angelia.sandboxes.port import Sandbox
from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.logins import SiteLogins
from angelia.tools.mcp.server import SandboxProgram, Server, ServerProgram, Site, given
from angelia.tools.mcp.servers import Servers
from angelia.tools.mcp.transports import Transports
from angelia.tools.web.fetcher import Fetcher, resolve_name
from tests.promise.lives import ROOT

BARE = str(Path(__file__).with_name("bare.py"))
ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "SECRET_KEY": "canary"}
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


def bare(folder: Path, era: str = "old", env: Mapping[str, str] | None = None) -> ServerProgram:
    """The server that is written by hand."""
    variables = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", **(env or {})}
    return ServerProgram((sys.executable, BARE, era, str(folder)), given(variables), tuple(variables))


@asynccontextmanager
async def reached(
    folder: Path,
    *ways: ServerProgram | SandboxProgram | Site,
    seconds: float = 60.0,
    resolve: Resolve = resolve_name,
    sandbox: Sandbox | None = None,
    logins: SiteLogins | None = None,
    trust: Trust | None = None,
) -> AsyncIterator[tuple[Servers, list[str]]]:
    """Servers `s1`, `s2` and so on, begun and settled, and a note for every change; `sandbox` is the conversation's.

    They are an editor's, or with `logins` the person's own, unless `trust` says otherwise.
    """
    whose = trust or (Trust.CONFIGURED if logins else Trust.PASSED)
    lives: list[Life] = []
    changes: list[str] = []

    def life() -> Life:
        lives.append(Life(folder / "running"))
        return lives[-1]

    def fetcher(ranges: tuple[str, ...]) -> Fetcher:
        return Fetcher(judge_url, lambda address: judge_address(address, ranges), resolve=resolve)

    def inside() -> Sandbox:
        assert sandbox
        return sandbox

    def redact(text: str) -> str:
        return text.replace("s3cr3t-t0k3n", "[hidden]")

    transports = Transports(life, str(folder), lambda: empty_folder(folder), ENVIRON, fetcher, redact, inside, logins)
    servers = Servers(lambda: transports, lambda: changes.append("changed"))
    for number, way in enumerate(ways, 1):
        servers.add(Server(f"s{number}", way, whose, seconds)).begin()
    try:
        await servers.settled()
        yield servers, changes
    finally:
        await servers.close()
        for one in lives:
            one.close()


def seen(folder: Path) -> list[str]:
    """What the bare server noted."""
    return (folder / "seen").read_text().splitlines()


def only(servers: Servers) -> McpConnection:
    """The one server there is."""
    [connection] = servers.all
    return connection
