"""The first hour of a developer: two lines in a shell, and the model has mended the code, and it can be taken back."""

import sys
from pathlib import Path

import pexpect
import pytest

from angelia.testing.model.steps import call, say
from tests.faces.angelia import CTRL_D, SECONDS, serving
from tests.installing.building import UV, indexes, run

pytestmark = [pytest.mark.slow, pytest.mark.real("uv"), pytest.mark.real("bwrap")]

WRONG, RIGHT = "echo $((33 - 23))\n", "echo $((33 + 23))\n"
STEPS = [
    say("I look at it first.") + call("shell", {"command": "sh check.sh"}),
    call("read", {"path": "total.sh"}),
    call("edit", {"path": "total.sh", "old": "33 - 23", "new": "33 + 23"}),
    call("shell", {"command": "sh check.sh"}),
    say("Mended: the beds are added now, and the check passes."),
]


@pytest.mark.soak
def test_a_developer_types_two_lines_and_has_their_code_mended(wheel: Path, tmp_path: Path) -> None:
    with serving(tmp_path, STEPS) as place:
        (place.work / "total.sh").write_text(WRONG)
        (place.work / "check.sh").write_text('test "$(sh total.sh)" = 56 && echo all is well\n')
        given = place.environment({"UV_CACHE_DIR": run(UV, "cache", "dir").strip(), "NO_COLOR": "1"})
        given["PATH"] = f"{UV.parent}:{place.home.parent}/.local/bin:{given['PATH']}"
        given.update({name: value for name, value in indexes().items() if value})
        lines = [f"uv tool install --python {sys.executable} {wheel}", "angelia"]
        assert len(lines) == 2, "what the tutorial promises"
        run("sh", "-c", lines[0], **given)
        child = pexpect.spawn(
            "sh", ["-c", lines[1]], env=given, cwd=str(place.work), encoding="utf-8", timeout=SECONDS,
            dimensions=(40, 110),
        )  # fmt: skip
        for question in ("Set it up now", "Which model should think", "In which chat", "How freely may it work"):
            child.expect(question)
            child.expect_exact("]:")
            child.send("\r")
        child.expect("/help lists")
        child.send("Why does check.sh fail? Mend it, and run it.\r")
        child.expect("the check passes")
        assert (place.work / "total.sh").read_text() == RIGHT
        child.expect("ready")
        child.send("/undo\r")
        child.expect("/undo yes")
        child.send("/undo yes\r")
        child.expect("1 path is as it was")
        assert (place.work / "total.sh").read_text() == WRONG
        child.send(CTRL_D)
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 0
