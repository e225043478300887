"""What numbers of passes mean, and how they are told: as a table, as JUnit, as a page."""

import random
from itertools import combinations
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from angelia.core import ending as end
from angelia.faces.cli.batch.junit import junit
from angelia.faces.cli.batch.page import page
from angelia.faces.cli.batch.result_words import result_table
from angelia.service.batches.results import TrialResult, is_final, summaries
from angelia.service.batches.statistics import pass_at, wilson
from angelia.service.batches.tasks import Task
from angelia.service.batches.verdict import of_command, verdict


@pytest.mark.parametrize(
    ("passed", "count", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (1, 2, 0.0945, 0.9055), (81, 263, 0.2553, 0.3662)],
)
def test_the_interval_is_wilsons(passed: int, count: int, low: float, high: float) -> None:
    """The last row is Newcombe's example (Statistics in Medicine 17, 1998, table I, method 3)."""
    assert wilson(passed / count, count) == pytest.approx((low, high), abs=1e-4)


@given(st.integers(1, 7), st.data())
def test_pass_at_k_is_the_share_of_all_choices_in_which_one_passed(tries: int, data: st.DataObject) -> None:
    passed, k = data.draw(st.integers(0, tries)), data.draw(st.integers(1, tries))
    choices = list(combinations([True] * passed + [False] * (tries - passed), k))
    assert pass_at(k, tries, passed) == pytest.approx(sum(map(any, choices)) / len(choices))


def test_pass_at_more_tries_than_were_made_is_refused() -> None:
    with pytest.raises(ValueError, match="pass@3"):
        pass_at(3, 2, 1)


@pytest.mark.parametrize(
    "said", [None, "yes", 7, -0.1, float("nan"), float("inf"), [True], (True, 3), {"passed": True}, (True, "a", "b")]
)
def test_what_is_no_verdict_is_none_and_passes_nothing(said: object) -> None:
    told = verdict(said)
    assert (told.outcome, told.score) == ("unclear", 0.0)
    assert told.why.startswith("The check answered")


@pytest.mark.parametrize(
    ("status", "output", "outcome", "score"),
    [
        (0, "", "passed", 1.0),
        (0, "well\n", "passed", 1.0),
        (3, "score=1\n", "failed", 0.0),
        (0, "a\nscore=0.25\n", "scored", 0.25),
        (0, "score=2", "unclear", 0.0),
        (0, "score=much", "unclear", 0.0),
        (-1, "", "failed", 0.0),
    ],
)
def test_a_command_says_it_by_its_exit_code_or_its_last_line(
    status: int, output: str, outcome: str, score: float
) -> None:
    told = of_command(status, output, 1.0)
    assert (told.outcome, told.score) == (outcome, score)


@pytest.mark.parametrize(
    ("ending", "final"),
    [
        (None, False),
        (end.Answered(), True),
        (end.StepLimit(9), True),
        (end.OutOfCredit("m"), False),
        (end.ModelUnavailable("m", 3), False),
        (end.ModelUnavailable("m", 10, died=10), True),
        (end.BudgetSpent("cost this turn", "$0.5001", "$0.5000"), True),
        (end.BudgetSpent("cost this turn", "$0.2001", "$0.2000"), False),
        (end.BudgetSpent("cost today", "$9", "$9"), False),
        (end.BudgetSpent("tokens this turn", "9", "9"), True),
    ],
)
def test_an_ending_is_a_tasks_own_unless_the_model_or_the_batchs_money_was_away(
    ending: end.Ending | None, final: bool
) -> None:
    assert is_final(ending, Task(id="t", prompt="?", max_cost=0.5)) is final


def result(task: str, number: int = 1, outcome: str = "passed", **more: object) -> TrialResult:
    score = 1.0 if outcome == "passed" else 0.0
    told = {"score": score, "ending": "Answered", "conversation": "c1", "model": "a:m", **more}
    return TrialResult(task=task, number=number, outcome=outcome, **told)  # type: ignore[arg-type]


def test_tries_at_one_task_are_counted_as_one_task() -> None:
    """Ten tries at one task say little of other tasks: the interval stays that of one."""
    (one,) = summaries([result("a", number) for number in range(1, 11)])
    assert (one.passed, one.rate, one.interval) == (10, 1.0, wilson(1.0, 1))
    assert one.pass_at[10] == 1.0


def test_what_came_to_no_verdict_counts_as_not_passed_and_is_named() -> None:
    results = [result("a"), result("b", outcome="hung"), result("c", outcome="failed", ending="StepLimit")]
    (one,) = summaries(results)
    assert (one.passed, one.checked, one.broken) == (1, 3, {"hung": 1})
    table = "\n".join(result_table(results))
    assert "1 of 3" in table
    assert "1 check hung; they count as not passed" in table
    assert "2 answered, 1 step limit" in table


def test_models_stand_side_by_side_in_the_table() -> None:
    results = [result("a"), result("a", model="a:n", outcome="failed")]
    head, *rows = result_table(results)
    assert head.split()[:3] == ["MODEL", "PASSED", "RATE"]
    assert [row.split()[0] for row in rows] == ["a:m", "a:n"]


def test_junit_has_a_suite_for_each_model_and_a_case_for_each_try() -> None:
    results = [
        result("a"),
        result("a", 2, outcome="failed", why="it\x1b[31m is ]]> wrong"),
        result("b", outcome="crashed", why="boom"),
        result("c", model="a:n", outcome="", ending="StepLimit"),
    ]
    root = ET.fromstring(junit("numbers", results))
    suites = [{name: suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped")} for suite in root]
    assert suites == [
        {"name": "a:m", "tests": "3", "failures": "1", "errors": "1", "skipped": "0"},
        {"name": "a:n", "tests": "1", "failures": "0", "errors": "0", "skipped": "1"},
    ]
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.text is not None
    assert "]]> wrong" in failure.text
    assert "\x1b" not in failure.text


def test_the_page_needs_nothing_from_anywhere_and_shows_what_models_said_as_text() -> None:
    evil = "<script>alert(1)</script><img src=http://evil.example/a>\u202e"
    shown = page(evil, [result("a", outcome="failed", answer=evil, why=evil, model="a:<b>")], 2)
    assert "<script" not in shown
    assert "<img" not in shown
    assert "\u202e" not in shown
    assert "&lt;script&gt;" in shown
    assert "default-src 'none'" in shown
    assert "http" not in shown.replace("http://evil.example", "").replace("http-equiv", "")
    assert "2 trials have no result yet" in shown


def test_a_page_of_very_long_answers_stays_small() -> None:
    words = "".join(random.Random(1).choices("abc ", k=1_000_000))
    shown = page("t", [result(f"t{at}", outcome="failed", answer=words) for at in range(20)], 0)
    assert "998,000 more characters" in shown
    assert len(shown) < 200_000
