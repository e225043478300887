"""What tasks and long logs cost of our own: a task of one step, a fork of a long log, a long log in others' formats."""

import asyncio
import sqlite3
import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ids import ConversationId, delivery_id, new_conversation, wall_clock
from angelia.faces.cli.batch.command import batch_deps
from angelia.faces.cli.trajectories import FORMATS
from angelia.policy.approvers import nobody
from angelia.service.app import App
from angelia.service.batches.runner import BatchPlan, BatchRunner
from angelia.service.batches.tasks import Task
from angelia.service.conversation.forks import fork_conversation
from angelia.service.settings.config import load
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import FILE, Database
from bench.rows import Row, Yardstick, row
from bench.runs import Benchmark, angelia, run
from bench.startup import model_environment

_MODEL = "openai-chat:scripted"
_SIDE_BY_SIDE = 16
_TASKS = 64
"""Tasks that are measured at a time."""
_PROMPT = "Say ok."
_LONG = 10_000
_EXPORTED = 100_000


def rows(bench: Benchmark, url: str) -> Iterator[Row]:
    """Tasks side by side, turn included, and forks of ten thousand entries."""
    tasks, turns = asyncio.run(_tasks(bench, url))
    alone = Yardstick("the turn alone", statistics.median(turns))
    yield row(f"a task of one step, {_SIDE_BY_SIDE} side by side, CPU", "ms", tasks, yardstick=alone)
    beyond = [task - turn for task, turn in zip(tasks, turns, strict=True)]
    yield row("    of it beyond the turn itself", "ms", beyond, 0.015)
    forks, bare = asyncio.run(_forks(bench))
    copied = Yardstick("the rows alone, in SQLite", bare)
    yield row(f"a fork of {_LONG:,} entries, CPU", "ms", forks, 0.05, yardstick=copied)
    yield from asyncio.run(_exports(bench, url))


async def _tasks(bench: Benchmark, url: str) -> tuple[list[float], list[float]]:
    """Seconds of our processor for each of some tasks of a batch, and for each of as many turns of conversations that
    are of no batch, in turns; the first few are left out, which load what is needed.
    """
    folder = bench.place("batch")
    env = model_environment(url, folder)
    app = await App.open(load(folder / "angelia", env, ["context.notes=false"]), env)
    tasks: list[float] = []
    turns: list[float] = []
    for number in range(bench.times + 1):
        for took, work in ((tasks, _batch), (turns, _conversations)):
            began = time.process_time()
            await work(app, folder / f"{work.__name__}{number}")
            took.append((time.process_time() - began) / _TASKS)
    await app.close()
    return tasks[1:], turns[1:]


async def _batch(app: App, folder: Path) -> None:
    tasks = tuple(Task(id=f"t{number}", prompt=_PROMPT) for number in range(_TASKS))
    plan = BatchPlan(folder.name, tasks, (_MODEL,), folder, parallel=_SIDE_BY_SIDE)
    await BatchRunner(batch_deps(app), plan, lambda result, found: None).run()


async def _conversations(app: App, folder: Path) -> None:
    numbers = iter(range(_TASKS))

    async def work() -> None:
        for number in numbers:
            (own := folder / f"{number}").mkdir(parents=True)
            session = app.conversations.begin(door=e.BATCH, workspace=own)
            await session.say([Text(_PROMPT)], address=e.Address(e.BATCH, folder.name), key=f"{folder.name}:{number}")
            await app.conversations.employ(session, _MODEL, approvers=nobody)
            await session.settled()
            await app.conversations.leave(session)

    async with asyncio.TaskGroup() as group:
        for _ in range(_SIDE_BY_SIDE):
            group.create_task(work())


async def _forks(bench: Benchmark) -> tuple[list[float], float]:
    """Seconds of our processor for each of some forks, and for each bare copy of the same rows between them."""
    folder = bench.place("forks")
    db = Database.open(folder / "angelia")
    transcript, source = Transcript(db), new_conversation()
    await transcript.append(source, _facts(_LONG))
    with closing(_rows_alone(folder / "angelia" / FILE, folder / "rows.db")) as rows_alone:
        took, bare = [], []
        for number in range(bench.times):
            began = time.process_time()
            await fork_conversation(transcript, source, 0, wall_clock)
            took.append(time.process_time() - began)
            began = time.process_time()
            rows_alone.execute("INSERT INTO copies SELECT ?, * FROM entries", (number,))
            bare.append(time.process_time() - began)
    db.close()
    return took, statistics.median(bare)


def _rows_alone(log: Path, path: Path) -> sqlite3.Connection:
    """A database with the entries of `log`, and a table for copies of them that has their keys and nothing more."""
    rows = sqlite3.connect(path, isolation_level=None)
    rows.execute("PRAGMA journal_mode = WAL")
    rows.execute("PRAGMA synchronous = FULL")
    rows.execute("ATTACH ? AS log", (str(log),))
    rows.execute("CREATE TABLE entries AS SELECT seq, at, epoch, version, kind, body, sum FROM log.entries")
    rows.execute("DETACH log")
    rows.execute("CREATE TABLE copies (copy, seq, at, epoch, version, kind, body, sum, UNIQUE (copy, seq))")
    return rows


async def _exports(bench: Benchmark, url: str) -> list[Row]:
    folder = bench.place("exports")
    db = Database.open(folder / "angelia")
    source = new_conversation()
    await Transcript(db).append(source, _facts(_EXPORTED))
    db.close()
    found, env = [], model_environment(url, folder)
    for form in ("jsonl", *FORMATS):
        took = run(angelia("export", source, "--format", form, "-o", str(folder / form)), env=env)
        found.append(row(f"{_EXPORTED:,} entries as {form}", "s", took.wall, 5.0))
    return found


def _facts(count: int) -> list[e.AnyFact]:
    facts: list[e.AnyFact] = [e.ConversationOpened("terminal", "/garden")]
    answer = (Text("an answer " * 30),)
    while len(facts) < count:
        sent = delivery_id(ConversationId("c"), f"t{len(facts) + 1}")
        facts += [
            e.UserSaid((Text("words " * 20),)),
            e.ModelAsked("m", 1, (len(facts) + 1,)),
            e.ModelSaid("m", answer, e.StopReason.END, e.Usage(100, 10), cost=3),
            e.TurnClosed(end.Answered()),
            e.DeliveryQueued(sent, e.Address("terminal"), answer, "answer"),
            e.DeliverySettled(sent, e.DeliveryStatus.SENT),
        ]
    return facts
