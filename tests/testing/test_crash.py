"""The crash harness lists every occurrence, kills at exactly one, and says when it could not."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.testing.crash import NotReached, command, occurrences, run, run_killed_at

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
ENTRY = "tests.testing.doomed:main"
ENV = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
ALL = ["step.before:1", "step.after:1", "step.before:2", "step.after:2"]


@pytest.mark.parametrize("more", [[], ["thread"]])
async def test_every_occurrence_is_listed_in_order(tmp_path: Path, more: list[str]) -> None:
    assert await occurrences([str(tmp_path / "out"), *more], ENV, entry=ENTRY) == ALL


async def test_a_run_to_its_end_gives_output_and_status(tmp_path: Path) -> None:
    ended = await run([str(tmp_path / "out")], ENV, entry=ENTRY, stdin=b"piped")
    assert (ended.status, ended.stdout, ended.passed) == (3, "angelia piped", tuple(ALL))


@pytest.mark.parametrize("more", [[], ["thread"]])
async def test_killed_at_each_occurrence_nothing_after_it_has_happened(tmp_path: Path, more: list[str]) -> None:
    left = []
    for number, point in enumerate(ALL):
        file = tmp_path / f"out{number}"
        file.touch()
        ended = await run_killed_at(point, [str(file), *more], ENV, entry=ENTRY)
        assert ended.status == -signal.SIGKILL
        assert list(ended.passed) == ALL[: number + 1]
        left.append(file.read_text())
    assert left == ["", "0\n", "0\n", "0\n1\n"]


def test_a_point_without_a_number_is_the_first_of_its_name(tmp_path: Path) -> None:
    words = command(tmp_path / "log", [str(tmp_path / "out")], at="step.after", entry=ENTRY)
    assert subprocess.run(words, env=ENV, check=False).returncode == -signal.SIGKILL
    assert (tmp_path / "log").read_text().splitlines() == ALL[:2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["crash", "--log", "nowhere/passed", "--", "ask"], "nowhere/passed cannot be written: No such file"),
        (
            ["crash", "--log", "p", "--at", "tool.startd", "--", "ask"],
            "no crash point tool.startd. Did you mean tool.started",
        ),
        (["crash", "--log", "p", "--at", "tool.started:0", "--", "ask"], "occurrence in tool.started:0 is no number"),
        (["model", "--script", "nowhere.json"], "nowhere.json cannot be read: No such file"),
        (["model", "--by-replies", "steps.json"], "steps.json holds no steps: JSON is malformed"),
        (["model", "--script", "other.json"], "other.json holds no steps: Expected `array`"),
    ],
)
def test_a_file_that_will_not_do_is_said_without_a_trace(tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "steps.json").write_text("bed,crop")
    (tmp_path / "other.json").write_text("{}")
    part, *options = words
    argv = [sys.executable, "-P", "-m", f"angelia.testing.{part}", *options]
    ended = subprocess.run(argv, env=ENV, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert ended.returncode == 2
    assert said in ended.stderr.decode()
    assert "Traceback" not in ended.stderr.decode()


async def test_a_point_that_is_never_passed_fails_the_test(tmp_path: Path) -> None:
    with pytest.raises(NotReached, match=r"step\.before:3 was not reached; status 3"):
        await run_killed_at("step.before:3", [str(tmp_path / "out")], ENV, entry=ENTRY)
