"""The conformance kit of the Model Context Protocol, from npm: our client by both versions, and our server.

The kit wants a newer Node.js than some systems have, so one comes with it from npm.
"""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from tests.mcp.conformance_client import client_at
from tests.mcp.test_real_servers import PYTHONPATH, free_port, listening
from tests.npm import installed
from tests.promise.lives import ROOT

pytestmark = [pytest.mark.anyio, pytest.mark.real("npm"), pytest.mark.slow]

NOT_MET = {
    "auth/client-credentials-jwt": "a program without a person is no client of ours",
    "auth/client-credentials-basic": "likewise",
    "auth/enterprise-managed-authorization": "an extension: logins by a company's own identity provider",
    "auth/dpop": "an extension: tokens bound to a key",
    "auth/dpop-nonce": "likewise",
    "auth/wif-jwt-bearer": "an extension: identities of workloads",
}
"""What our client does not do, which neither version requires, and why; each is run, so that the list stays true."""

CHANCE = frozenset({"sse-retry"})
"""The library connects again at once, and whether the kit takes that for the pause it asked for is chance."""

SERVER = ("server-initialize", "ping", "tools-list")
"""Of a server's scenarios those that want no tools of the kit's own."""


async def kit(*words: str) -> str:
    """What the kit says, once it has ended."""
    folder = installed("mcp-conformance", Path(__file__).with_name("conformance_kit") / "package.json") / "node_modules"
    node = next(iter(sorted(folder.glob("node-linux-*/bin/node"))), None)
    if node is None:
        pytest.skip("there is no Node.js for this machine in the kit's packages")
    program = str(folder / "@modelcontextprotocol/conformance/dist/index.js")
    process = await asyncio.create_subprocess_exec(
        *(str(node), program, *words),
        env={"PATH": os.environ["PATH"], "PYTHONPATH": PYTHONPATH, "HOME": os.environ.get("HOME", "/")},
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    return f"{out.decode(errors='replace')}\nstatus {process.returncode}"


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_our_client_meets_all_that_a_version_requires(tmp_path: Path, version: str) -> None:
    async with client_at(tmp_path / "client") as command:
        said = await kit("client", "--command", command, "--requirements", version, "--timeout", "120000")
    found = re.findall(r"^([✓✗]) (\S+): \d+ passed, \d+ failed$", said, re.MULTILINE)
    assert len(found) > 20, said
    assert {name for sign, name in found if sign == "✗"} - CHANCE == set(NOT_MET), said


@pytest.mark.parametrize("scenario", SERVER)
async def test_our_server_passes_a_scenario(scenario: str) -> None:
    port = free_port()
    words = (sys.executable, "-m", "tests.mcp.conformance_server", str(port))
    async with listening(port, *words, PYTHONPATH=PYTHONPATH, HOME=os.environ.get("HOME", "/")):
        said = await kit("server", "--url", f"http://127.0.0.1:{port}/mcp", "--scenario", scenario)
    assert said.endswith("status 0"), said
