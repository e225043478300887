"""Start-up loads little: what each way in may import is listed here."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.testing.model.server_process import model_server_process

DEAR = {
    "PIL",
    "anthropic",
    "genai_prices",
    "html_to_markdown",
    "hypothesis",
    "markdown_it",
    "mcp",
    "openai",
    "prompt_toolkit",
    "pydantic",
    "pydantic_ai",
    "pypdfium2",
    "rich.markdown",
    "tree_sitter",
    "xllamacpp",
}
"""Whole seconds, or tens of milliseconds: on no quick way in."""

STANDARD_BUT_SLOW = {
    "asyncio",
    "base64",
    "email",
    "http",
    "multiprocessing",
    "pathlib",
    "shlex",
    "sqlite3",
    "ssl",
    "unittest",
    "urllib",
}
"""Parts of the standard library that say nothing about a version or a value."""

VALUES = {"angelia", "msgspec", "typing_extensions"}
"""What the values need; msgspec imports typing_extensions where it is installed."""

WAYS: dict[str, tuple[list[str], set[str]]] = {
    "the values": (["-c", "import angelia.core.entry"], VALUES),
    "--version": (["-m", "angelia", "--version"], {"angelia", "click"}),
    "--help": (["-m", "angelia", "--help"], {"angelia", "click"}),
}
"""What is run, and which packages beside the standard library it may import."""


NOT_ASKED_FOR = {
    "angelia.browsers.chromium.frames",
    "angelia.browsers.chromium.downloads",
    "angelia.browsers.chromium.live_browser",
    "angelia.browsers.chromium.tab",
    "angelia.channels.registry",
    "angelia.faces.cli.pictures",
    "angelia.models.catalog.listing",
    "angelia.policy.paths",
    "angelia.policy.shell",
    "angelia.sandboxes.guard.autorun",
    "angelia.sandboxes.guard.guard",
    "angelia.sandboxes.local.bubblewrap",
    "angelia.sandboxes.local.command",
    "angelia.sandboxes.guard.dotenv",
    "angelia.sandboxes.local.local_pty",
    "angelia.sandboxes.guard.sourced",
    "angelia.sandboxes.undo.call_sandbox",
    "angelia.sandboxes.undo.mirror",
    "angelia.sandboxes.undo.restore",
    "angelia.service.chats",
    "angelia.service.command_port",
    "angelia.service.conversation.deletion",
    "angelia.service.conversation.undo",
    "angelia.service.people.admission",
    "angelia.service.places.places",
    "angelia.service.retention",
    "angelia.service.screenshots",
    "angelia.service.settings.faults",
    "angelia.store.log.ranked_search",
    "angelia.tools.files.matching",
    "angelia.tools.mcp.connection",
    "angelia.tools.mcp.results",
    "angelia.tools.mcp.transports",
    "angelia.skills.front_matter",
    "filecmp",
    "glob",
    "httpx2",
    "json",
    "mimetypes",
    "random",
    "shutil",
    "tempfile",
    "tomllib",
    "zoneinfo",
}
"""What one question needs nothing of: pages, servers, chats, commands and what guards them, terminals, taking back,
searches, faulty settings, presets, time zones, what is done once a day, who is let in, servers of tools.
"""

MOST_MODULES = 430
"""Of our own, for one question: each takes some 0.15 ms. One that is used in one function only is imported there."""


def imported(argv: list[str], home: Path, **more: str) -> set[str]:
    """Every module that a fresh interpreter imports for this, beyond what an idle one does."""

    def run(words: list[str]) -> set[str]:
        ended = subprocess.run(
            [sys.executable, "-X", "importtime", *words],
            env={**os.environ, "ANGELIA_HOME": str(home), **more},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr[-2000:]
        lines = [line for line in ended.stderr.splitlines() if line.startswith("import time:")]
        return {line.rpartition("|")[2].strip() for line in lines[1:]}

    return run(argv) - run(["-c", ""])


def beneath(names: set[str], modules: set[str]) -> set[str]:
    """Those modules that are one of `names`, or lie beneath one."""
    return {module for module in modules if any(f"{module}.".startswith(f"{name}.") for name in names)}


@pytest.mark.parametrize("way", WAYS)
def test_only_listed_packages_are_imported_by(way: str, tmp_path: Path) -> None:
    argv, allowed = WAYS[way]
    modules = imported(argv, tmp_path)
    packages = {module.partition(".")[0] for module in modules} - sys.stdlib_module_names
    assert packages <= allowed
    assert not beneath(DEAR | STANDARD_BUT_SLOW, modules)
    assert "angelia" in packages


def test_one_question_imports_only_what_it_needs(tmp_path: Path) -> None:
    (work := tmp_path / "work").mkdir()
    argv = ["-m", "angelia", "ask", "--model", "openai-chat:test", "-C", str(work), "hi"]
    with model_server_process("--instant") as url:
        more = {"HOME": str(tmp_path / "user"), "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "k"}
        imported(argv, tmp_path / "home", **more)  # the first one also does what is due once a day
        modules = imported(argv, tmp_path / "home", **more)
    assert "angelia.engine.driver" in modules
    assert not beneath(DEAR | NOT_ASKED_FOR, modules)
    assert len(beneath({"angelia"}, modules)) <= MOST_MODULES


def test_what_is_dear_would_be_seen(tmp_path: Path) -> None:
    modules = imported(["-c", "import angelia.core.entry, PIL.Image, sqlite3"], tmp_path)
    assert {"PIL", "sqlite3"} <= beneath(DEAR | STANDARD_BUT_SLOW, modules)


def test_asking_for_the_version_leaves_nothing_behind(tmp_path: Path) -> None:
    imported(WAYS["--version"][0], tmp_path / "home")
    assert not list(tmp_path.iterdir())
