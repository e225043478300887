"""The crash harness lists every occurrence, kills at exactly one, and says when it could not."""

import os
import signal
from pathlib import Path

import pytest

from angelia.testing.crash import NotReached, occurrences, run, run_killed_at

pytestmark = pytest.mark.anyio

ENTRY = "tests.testing.doomed:main"
ENV = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parents[2])}
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


async def test_a_point_that_is_never_passed_fails_the_test(tmp_path: Path) -> None:
    with pytest.raises(NotReached, match=r"step\.before:3 was not reached; status 3"):
        await run_killed_at("step.before:3", [str(tmp_path / "out")], ENV, entry=ENTRY)
