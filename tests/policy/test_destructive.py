"""Claims about lines that lose work, and about lines that only look like it."""

import tomllib
from pathlib import Path

import pytest

from angelia.policy.judge import judge
from angelia.policy.situation import Situation
from angelia.policy.verdict import Allow, RunCommand

WORK = "/home/me/work"
TABLE: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("destructive.toml").read_text(encoding="utf-8"))
MISSING = frozenset(f"{WORK}/missing.{end}" for end in ("py", "txt", "db", "bin", "img"))
SITUATION = Situation(WORK, "/home/me", "/home/me/.angelia", absent=MISSING)


@pytest.mark.parametrize("command", TABLE["destructive"])
def test_a_line_that_loses_work_never_runs_unasked(command: str) -> None:
    assert not isinstance(judge(RunCommand(command, WORK, "confined"), SITUATION), Allow)


@pytest.mark.parametrize("command", TABLE["harmless"])
def test_a_line_that_only_looks_like_it_does_not_ask(command: str) -> None:
    verdict = judge(RunCommand(command, WORK, "confined"), SITUATION)
    assert isinstance(verdict, Allow), verdict


def test_the_table_is_as_long_as_the_attacks_were() -> None:
    assert len(TABLE["destructive"]) >= 84
    assert len(TABLE["harmless"]) >= 20
