"""A batch goes on wherever it was killed: each trial has one result, and nothing is asked, and so paid, twice."""

import gc
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from angelia.core.entry import Usage
from angelia.core.errors import BadInput
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.service.batches.batch_file import BatchIdentity, held_batch
from angelia.service.batches.results import TrialResult
from angelia.service.batches.runner import MAX_CRASHES
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import Database
from angelia.testing.crash import Run
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, out_of_credit, with_usage
from tests import nursery
from tests.batches.runs import MODEL, by_task, ran, task_file, tasks_of, two_steps
from tests.promise.lives import environment

pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap")]

PRICED = ("openai:gpt-4o",)
"""2.50 dollars for a million tokens: 40,000 are ten cents."""


def argv(folder: Path, file: Path, *more: str) -> list[str]:
    return ["batch", str(file), "--model", MODEL, "-o", str(folder / "batch"), *more]


def results(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "batch/results.jsonl").read_text().splitlines()]


KILLS = (
    "batch.before_said:1",
    "batch.said:1",
    "batch.files_put:1",
    "tool.finished:1",
    "batch.before_check:1",
    "batch.checked:1",
    "batch.result:1",
    "batch.before_said:1",
)
"""One after the other, in lives of the same batch: `occurrence` counts anew in each life."""


async def test_killed_again_and_again_each_trial_has_one_result_and_is_paid_once(tmp_path: Path) -> None:
    file = task_file(tmp_path, *({"id": f"t{number}", "texts": {"in.txt": "given"}} for number in range(3)))
    words = argv(tmp_path, file, "--parallel", "1", "--check", "grep -q t answer.txt && grep -q given in.txt")
    async with ModelServer(two_steps) as server:
        env = environment(tmp_path, server)
        for kill in KILLS:
            await nursery.run_killed_at(kill, words, env)
        last = await nursery.run(words, env)
        assert last.status == 0, last.stderr
        again = await nursery.run([*words, "--json"], env)
    assert [(row["task"], row["outcome"]) for row in results(tmp_path)] == [(f"t{n}", "passed") for n in range(3)]
    assert len(server.requests) == 6
    assert [json.loads(line)["task"] for line in again.stdout.splitlines()] == ["t0", "t1", "t2"]
    assert "3 results were there from before" in again.stderr
    db = Database.open(tmp_path / "home")
    try:
        count = "SELECT count(DISTINCT conversation), count(*) FROM inbox WHERE door = 'batch'"
        assert await db.read(lambda connection: connection.execute(count).fetchone()) == (3, 3)
        assert await Transcript(db).conversations(OWNER) == []  # a person's list is not theirs
    finally:
        db.close()


async def test_a_task_within_whose_request_the_batch_died_ten_times_has_that_as_its_result(tmp_path: Path) -> None:
    """Up to then it is asked again; and that our own process died says nothing of the model, so others are done."""
    words = argv(tmp_path, task_file(tmp_path, {"id": "t0"}, {"id": "t1"}), "--parallel", "1")
    async with ModelServer(two_steps) as server:
        env = environment(tmp_path, server)
        for _ in range(MAX_CRASHES):
            await nursery.run_killed_at("model.asked:1", words, env)
        last = await nursery.run(words, env)
    assert last.status == 0, last.stderr
    assert [(row["task"], row["ending"]) for row in results(tmp_path)] == [
        ("t0", "ModelUnavailable"),
        ("t1", "Answered"),
    ]
    assert "ended 10 times while openai-chat:m was asked" in results(tmp_path)[0]["why"]


async def test_the_command_says_what_came_and_writes_it_down(tmp_path: Path) -> None:
    file = task_file(tmp_path, {"id": "a"}, {"id": "b"})
    (tmp_path / "check.py").write_text(
        "async def check(context):\n    return 'a' in await context.read('answer.txt'), 'seen'\n"
    )
    async with ModelServer(two_steps) as server:
        words = argv(tmp_path, file, "--check", str(tmp_path / "check.py"), "--tries", "2")
        run = await nursery.run(words, environment(tmp_path, server))
    assert run.status == 0, run.stderr
    assert "2 of 4" in run.stdout
    assert "50.0%" in run.stdout
    assert "b (try 2), openai-chat:m: failed: seen" in run.stderr
    assert {path.name for path in (tmp_path / "batch").iterdir()} == {
        *("batch.json", "junit.xml", "report.html", "results.jsonl", "work")
    }


async def test_another_batch_does_not_go_into_the_folder_of_one(tmp_path: Path) -> None:
    async with ModelServer(two_steps) as server:
        env = environment(tmp_path, server)
        first = argv(tmp_path, task_file(tmp_path, {"id": "a"}))
        assert (await nursery.run(first, env)).status == 0
        other: Run = await nursery.run([*first, "--tries", "2"], env)
        task_file(tmp_path, {"id": "other"})
        changed = await nursery.run(first, env)
    assert (other.status, changed.status) == (2, 2)
    assert "other number of tries (1, now 2)" in other.stderr
    assert "other tasks; nothing was asked" in changed.stderr
    assert len(server.requests) == 2


def test_two_processes_do_not_work_on_one_batch(tmp_path: Path) -> None:
    wanted = BatchIdentity("", "d", ("a:m",), 1, "local")
    with held_batch(tmp_path, wanted) as held:
        second = held_batch(tmp_path, wanted)
        with pytest.raises(BadInput, match="Another process works on"):
            second.__enter__()
    with held_batch(tmp_path, wanted) as again:
        assert again == held


def test_an_identity_that_was_cut_off_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "batch.json").write_text('{"id": "01')
    with held_batch(tmp_path, BatchIdentity("", "d", ("a:m",), 1, "local")) as held:
        assert held.id
    assert json.loads((tmp_path / "batch.json").read_text())["id"] == held.id


async def test_a_model_that_cannot_be_had_leaves_its_trials_for_later(tmp_path: Path) -> None:
    """Those of another model are done; and what was said before is not said again."""

    def broke(request: ReceivedRequest) -> Step:
        return out_of_credit() if request.body["model"] == "m" and request.heard.replies else two_steps(request)

    tasks = tasks_of(tmp_path, {"id": "a"}, {"id": "b"}, {"id": "own", "model": "openai-chat:n"})
    runner, _ = await ran(tmp_path, tasks, broke, parallel=1)
    assert [one.task for one in runner.results] == ["own"]
    assert "out of credit" in runner.away[MODEL]
    assert len(runner.left) == 2
    later, server = await ran(tmp_path, tasks, two_steps, parallel=1)
    assert sorted(by_task(later)) == ["a", "b", "own"]
    assert (later.found, later.left) == (1, {})
    assert len(server.requests) == 3  # the second step of a, and both of b


async def test_the_cap_holds_for_the_whole_batch_and_a_higher_one_goes_on(tmp_path: Path) -> None:
    """A reply costs ten cents, of which two fit into the share of a trial; what is on its way may come on top."""

    def dear(request: ReceivedRequest) -> Step:
        step = two_steps(request)
        return with_usage(step, Usage(input=40_000))  # type: ignore[arg-type]

    tasks = tasks_of(tmp_path, *({"id": f"t{number}"} for number in range(4)))
    capped, _ = await ran(tmp_path, tasks, dear, models=PRICED, parallel=2, max_cost=500_000)
    assert 500_000 <= capped.cost <= 700_000
    assert "cap of the batch is $0.5" in capped.halted
    assert len(capped.results) + len(capped.left) == 4
    whole, _ = await ran(tmp_path, tasks, dear, models=PRICED, parallel=2, max_cost=5_000_000)
    assert (len(whole.results), whole.left) == (4, {})
    assert whole.cost == sum(one.cost for one in whole.results)


async def test_files_and_texts_are_in_the_sandbox_before_the_model_is_asked(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n")
    row: dict[str, object] = {"id": "a", "files": {"in/data.csv": "data.csv"}, "texts": {"note.txt": "hello"}}
    runner, _ = await ran(tmp_path, tasks_of(tmp_path, {**row, "check": "cat in/data.csv note.txt"}))
    assert by_task(runner)["a"].outcome == "passed"
    assert (tmp_path / "batch/work/a/openai-chat-m-1/in/data.csv").read_text() == "a,b\n"


async def test_tasks_do_not_meet_in_a_machine_that_is_one_folder(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="Tasks would meet in ssh:box"):
        await ran(tmp_path, tasks_of(tmp_path, {"id": "a", "sandbox": "ssh:box:/srv"}))


async def test_where_a_task_cannot_be_done_others_are(tmp_path: Path) -> None:
    runner, _ = await ran(tmp_path, tasks_of(tmp_path, {"id": "a", "sandbox": "nowhere:x"}, {"id": "b"}))
    assert [one.task for one in runner.results] == ["b"]
    assert "nowhere:x" in next(iter(runner.left.values()))


async def test_a_trial_is_told_by_its_log_alone(tmp_path: Path) -> None:
    """Without the folder the results are the same: the log holds them."""
    tasks = tasks_of(tmp_path, {"id": "a", "check": "true"})
    first, _ = await ran(tmp_path, tasks)
    again, server = await ran(tmp_path, tasks)
    assert (again.results, server.requests) == (first.results, [])
    db = Database.open(tmp_path / "home")
    try:
        kinds = [
            type(entry.fact).__name__
            for entry in await Transcript(db).entries(ConversationId(first.results[0].conversation))
        ]
    finally:
        db.close()
    assert kinds[-2:] == ["Checked", "DeliverySettled"]


async def test_a_task_that_is_done_leaves_its_result_and_nothing_else_in_memory(tmp_path: Path) -> None:
    few, many = 6, 16
    there: list[Counter[str]] = []
    done = 0

    def counted(result: TrialResult, found: bool) -> None:
        nonlocal done
        done += 1
        if done in (few, many):
            gc.collect()
            kinds = (f"{kind.__module__}.{kind.__qualname__}" for kind in map(type, gc.get_objects()))
            there.append(Counter(kind for kind in kinds if kind.startswith(("angelia.", "asyncio."))))

    tasks = tasks_of(tmp_path / "tasks", *({"id": f"t{number}"} for number in range(many)))
    runner, _ = await ran(tmp_path, tasks, tell=counted, parallel=1)
    assert len(runner.results) == many
    kept = {kind for kind, count in (there[1] - there[0]).items() if count >= many - few}
    assert {kind for kind in kept if not kind.startswith("angelia.testing.")} == set()  # which keeps requests
