"""What the embedded model gets done: forty small tasks, checked by what they left, and plain questions in words."""

import asyncio
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from angelia.core import entry as e
from angelia.core.content import Media, Text
from angelia.models.local.weights import DEFAULT, SMALLER, weights_path
from angelia.policy.approvers import nobody
from angelia.service.app import App
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.service.settings.config import load
from bench.local_questions import QUESTIONS
from bench.local_tasks import FILES, TASKS, Outcome, Task, harmed
from bench.rows import Row, Target, row
from bench.runs import Benchmark

LEAST = {DEFAULT: (0.85, 0.80), SMALLER: (0.55, 0.0)}
"""Shares of tasks to pass: of those it is tuned on, and of those kept aside."""
LEAST_ANSWERED = {DEFAULT: 0.9, SMALLER: 0.5}
"""Share of plain questions to be answered in words alone: no tool is called, and no file is other than before."""


def rows(bench: Benchmark) -> Iterator[Row]:
    """For each of the weights that are in this home's `models`."""
    home = Path(os.environ.get("ANGELIA_HOME") or Path.home() / ".angelia")
    for name, (tuned, aside) in LEAST.items():
        if not weights_path(name, home / "models").is_file():
            yield Row(f"{name}", "", note=f"not here: angelia models get {name}")
            continue
        folder = bench.place(f"local-{name}")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "models").symlink_to(home / "models")
        results, answered = asyncio.run(_all(folder, f"local:{name}"))
        for which, least in ((False, tuned), (True, aside)):
            mine = [passed for task, passed, *_ in results if task.aside is which]
            title = f"{name}: passed of {len(mine)}{' kept aside' if which else ''}"
            yield Row(title, "%", (sum(mine) / len(mine),), target=Target(least=least))
        yield row(f"{name}: files harmed", "", float(sum(len(lost) for _, _, lost, *_ in results)), 0.0)
        untrue = sum(_untrue(task, passed, answer) for task, passed, _, _, answer in results)
        yield row(f"{name}: untrue done", "", float(untrue), 0.0)
        yield row(f"{name}: one task", "s", [seconds for *_, seconds, _ in results], 10.0)
        for aside in (False, True):
            mine = [words for question, words in zip(QUESTIONS, answered, strict=True) if question.aside is aside]
            title = f"{name}: answered in words of {len(mine)} questions{' kept aside' if aside else ''}"
            yield Row(title, "%", (sum(mine) / len(mine),), target=Target(least=LEAST_ANSWERED[name]))


def _untrue(task: Task, passed: bool, answer: str) -> bool:
    """Whether a task was to change or send something, has not, and nothing beside the answer says so."""
    acts = bool(task.changes) or "send" in task.wish.lower()
    return acts and not passed and not re.search(r"^\(.+", answer, re.MULTILINE) and "I would run" not in answer


_Results: TypeAlias = list[tuple[Task, bool, tuple[str, ...], float, str]]


async def _all(home: Path, model: str) -> tuple[_Results, list[bool]]:
    """What came of each task, and whether each question was answered in words."""
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    app = await App.open(load(home, env, (), {"model": model}), env)
    results, answered = [], []
    for task in TASKS:
        outcome, seconds = await _tried(app, model, task.wish)
        results.append((task, bool(task.done(outcome)), harmed(task, outcome), seconds, outcome.answer))
        _show(results[-1][1], seconds, task.wish, outcome)
    for question in QUESTIONS:
        outcome, seconds = await _tried(app, model, question.wish)
        answered.append(bool(outcome.answer.strip()) and not outcome.calls and outcome.files == FILES)
        _show(answered[-1], seconds, question.wish, outcome)
    await app.close()
    return results, answered


def _show(passed: bool, seconds: float, wish: str, outcome: Outcome) -> None:
    if os.environ.get("BENCH_SHOWS"):
        print("pass" if passed else "FAIL", f"{seconds:5.1f}", wish, "|", outcome.answer[:150], flush=True)


async def _tried(app: App, model: str, wish: str) -> tuple[Outcome, float]:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name, held in FILES.items():
            (work / name).write_text(held, "utf-8")
        session = app.conversations.begin(door="terminal", workspace=work)
        await app.conversations.employ(session, model, approvers=nobody)
        began = time.monotonic()
        await session.say([Text(wish)], address=TERMINAL)
        await session.settled()
        seconds = time.monotonic() - began
        facts = [entry.fact for entry in session.log.entries]
        answers = [fact for fact in facts if isinstance(fact, e.DeliveryQueued)]
        said = [part.text for fact in answers for part in fact.parts if isinstance(part, Text)]
        sent = [part.name for fact in answers for part in fact.parts if isinstance(part, Media)]
        files = {path.name: path.read_text("utf-8", "replace") for path in work.iterdir() if path.is_file()}
        await app.conversations.leave(session)
        calls = sum(isinstance(fact, e.ToolFinished) for fact in facts)
        return Outcome("\n".join(said), files, tuple(sent), calls), seconds
