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
from tests.mcp.test_real_servers import PYTHONPATH, listening
from tests.npm import installed
from tests.ports import free_port
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

_TOOLS = "tools that say what the kit tells them to"
_RESOURCES, _NO_PROMPTS = "resources of the kit's; ours are the files of skills", "prompts, of which ours serves none"
_ASKS_NOTHING = "tools that ask their client, and ours ask the person in the conversation"
_TASKS = "tools of the kit's that take long; how ours are tasks is in test_serving_tasks.py"
SERVER_NOT_MET = {
    **dict.fromkeys(
        [
            *(f"tools-call-{kind}" for kind in ("simple-text", "image", "audio", "embedded-resource", "mixed-content")),
            *(f"tools-call-{kind}" for kind in ("with-logging", "error", "with-progress", "sampling")),
            *("server-stateless", "json-schema-2020-12", "http-custom-header-server-validation"),
        ],
        _TOOLS,
    ),
    **dict.fromkeys(["logging-set-level", "completion-complete"], "what our server does not offer"),
    **dict.fromkeys([f"resources-{what}" for what in ("read-text", "read-binary", "templates-read")], _RESOURCES),
    **dict.fromkeys([f"resources-{what}" for what in ("subscribe", "unsubscribe")], _RESOURCES),
    "caching": "prompts and templates beside what is there",
    "prompts-list": _NO_PROMPTS,
    **dict.fromkeys(
        [f"prompts-get-{what}" for what in ("simple", "with-args", "embedded-resource", "with-image")], _NO_PROMPTS
    ),
    **dict.fromkeys(
        [
            *("tools-call-elicitation", "elicitation-sep1034-defaults", "elicitation-sep1330-enums"),
            *(f"input-required-result-basic-{what}" for what in ("elicitation", "sampling", "list-roots")),
            *(f"input-required-result-{what}" for what in ("request-state", "multiple-input-requests", "multi-round")),
            *(f"input-required-result-{what}" for what in ("non-tool-request", "result-type", "tampered-state")),
            "input-required-result-capability-check",
        ],
        _ASKS_NOTHING,
    ),
    **dict.fromkeys(
        [
            *(f"tasks-{what}" for what in ("lifecycle", "capability-negotiation", "wire-fields", "mrtr-input")),
            *(f"tasks-{what}" for what in ("request-state-removal", "request-headers", "dispatch-and-envelope")),
            *(f"tasks-{what}" for what in ("required-task-error", "mrtr-composition")),
        ],
        _TASKS,
    ),
}
"""What the kit wants of a server in each scenario that ours does not pass; all others are passed."""


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


@pytest.mark.soak
@pytest.mark.parametrize("version", ["2026-07-28", "2025-11-25"])
async def test_our_client_meets_all_that_a_version_requires(tmp_path: Path, version: str) -> None:
    async with client_at(tmp_path / "client") as command:
        said = await kit("client", "--command", command, "--requirements", version, "--timeout", "120000")
    found = re.findall(r"^([✓✗]) (\S+): \d+ passed, \d+ failed$", said, re.MULTILINE)
    assert len(found) > 20, said
    assert {name for sign, name in found if sign == "✗"} - CHANCE == set(NOT_MET), said


@pytest.mark.soak
async def test_our_server_passes_all_that_asks_for_no_tools_of_the_kit() -> None:
    port = free_port()
    words = (sys.executable, "-m", "tests.mcp.conformance_server", str(port))
    async with listening(port, *words, PYTHONPATH=PYTHONPATH, HOME=os.environ.get("HOME", "/")):
        url = f"http://127.0.0.1:{port}/mcp"
        said = await kit("server", "--url", url, "--suite", "all", "--timeout", "120000")
    found = re.findall(r"^([✓✗]) (\S+): \d+ passed, \d+ failed$", said, re.MULTILINE)
    assert len(found) > 60, said
    assert {name for sign, name in found if sign == "✗"} == set(SERVER_NOT_MET), said
