"""The kit for toolsets lets ours pass, and says what one does not keep."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from angelia.policy.verdict import Effect
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.testing.tools.checks import check_toolset
from angelia.testing.tools.harness import ToolHarness
from angelia.tools.files.toolset import FileTools
from angelia.tools.port import Tool
from angelia.tools.shell.toolset import ShellTools
from angelia.tools.standalone import Standalone
from angelia.tools.web.fetch import Fetch, FetchArguments

pytestmark = pytest.mark.anyio

FETCH = {"fetch": {"url": "https://example.org/"}}
OURS = [
    (ShellTools, {"shell": {"command": "true"}, "process": {"action": "poll", "id": "c1_0"}}),
    (
        FileTools,
        {
            "read": {"path": "a"},
            "write": {"path": "a", "content": ""},
            "edit": {"path": "a", "old": "a", "new": "b"},
            "find": {"pattern": "a"},
        },
    ),
    (lambda: Standalone("web", Fetch()), FETCH),
]


class Secretive(Fetch):
    """Says nothing of what it does."""

    async def effects(self, arguments: FetchArguments, context: object) -> Sequence[Effect]:
        return ()


class Shifting(Standalone):
    """Makes its tools anew each time."""

    def tools(self) -> Sequence[Tool]:
        return (Fetch(),)


class Moody(Standalone):
    """Says something else each time."""

    said = 0

    def instructions(self) -> str:
        self.said += 1
        return f"{self.said}"


KEPT = Standalone("web", Fetch())
UNKEPT = [
    (lambda: KEPT, FETCH, "an object of its own"),
    (lambda: Standalone("web", Secretive()), FETCH, "names no effect"),
    (lambda: Shifting("web"), FETCH, "the same objects"),
    (lambda: Moody("web", Fetch()), FETCH, "the same bytes"),
    (lambda: Standalone("web", Fetch(), Fetch()), FETCH, "that name is taken"),
    (lambda: Standalone("web", Fetch()), {}, "calls are given of"),
    (lambda: Standalone("web", Fetch()), {"fetch": {}}, "must match this schema"),
]


@pytest.fixture
def sandbox(tmp_path: Path) -> LocalSandbox:
    (tmp_path / "work").mkdir()
    return LocalSandbox(tmp_path / "work", home=tmp_path / "home", state=tmp_path / "state", confine="off")


@pytest.mark.parametrize(("make", "calls"), OURS)
async def test_our_own_toolsets_keep_what_every_toolset_has_to(
    tmp_path: Path, sandbox: LocalSandbox, make: Any, calls: Any
) -> None:
    await check_toolset(make, tmp_path / "work", sandbox, calls)
    await sandbox.close()


@pytest.mark.parametrize(("make", "calls", "says"), UNKEPT)
async def test_what_is_not_kept_is_said(
    tmp_path: Path, sandbox: LocalSandbox, make: Any, calls: Any, says: str
) -> None:
    with pytest.raises(AssertionError, match=says):
        await check_toolset(make, tmp_path / "work", sandbox, calls)
    await sandbox.close()


async def test_a_tool_is_tested_with_what_it_names_and_nothing_else(tmp_path: Path, sandbox: LocalSandbox) -> None:
    bench = ToolHarness(tmp_path / "work", sandbox, [FileTools()])
    (tmp_path / "work" / "a").write_text("one\n")
    assert await bench.said("read", path="a") == "1\tone"
    await bench.close()
