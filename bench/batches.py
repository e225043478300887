"""What tasks and forks cost of our own: the processor's time for a task of one step, and for a fork of a long log."""

import asyncio
import time
from collections.abc import Iterator

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ids import new_conversation
from angelia.faces.cli.batch.command import batch_deps
from angelia.service.app import App
from angelia.service.batches.runner import BatchPlan, BatchRunner
from angelia.service.batches.tasks import Task
from angelia.service.settings.config import load
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import Database
from bench.rows import Row, row
from bench.runs import Benchmark
from bench.startup import model_environment

_MODEL = "openai-chat:scripted"
_SIDE_BY_SIDE = 16
_LONG = 10_000


def rows(bench: Benchmark, url: str) -> Iterator[Row]:
    """Tasks side by side, turn included, and forks of ten thousand entries."""
    yield row(f"a task of one step, {_SIDE_BY_SIDE} side by side, CPU", "ms", asyncio.run(_tasks(bench, url)))
    yield row(f"a fork of {_LONG:,} entries, CPU", "ms", asyncio.run(_forks(bench)), 0.05)


async def _tasks(bench: Benchmark, url: str) -> float:
    """Seconds of our processor for each of some tasks, the first few left out, which load what is needed."""
    folder = bench.place("batch")
    env = model_environment(url, folder)
    app = await App.open(load(folder / "angelia", env, ["context.notes=false"]), env)
    for name, count in (("first", _SIDE_BY_SIDE), ("measured", max(bench.rounds, _SIDE_BY_SIDE))):
        tasks = tuple(Task(id=f"t{number}", prompt="Say ok.") for number in range(count))
        plan = BatchPlan(name, tasks, (_MODEL,), folder / name, parallel=_SIDE_BY_SIDE)
        began = time.process_time()
        await BatchRunner(batch_deps(app), plan, lambda result, found: None).run()
        took = (time.process_time() - began) / count
    await app.close()
    return took


async def _forks(bench: Benchmark) -> list[float]:
    db = Database.open(bench.place("forks") / "angelia")
    transcript, source = Transcript(db), new_conversation()
    facts: list[e.AnyFact] = [e.ConversationOpened("terminal", "/garden")]
    while len(facts) < _LONG:
        facts += [
            e.UserSaid((Text("words " * 20),)),
            e.ModelAsked("m", 1, (len(facts) + 1,)),
            e.ModelSaid("m", (Text("an answer " * 30),), e.StopReason.END, e.Usage(100, 10), cost=3),
            e.TurnClosed(end.Answered()),
        ]
    await transcript.append(source, facts)
    took = []
    for _ in range(bench.times):
        opened = e.ConversationOpened("terminal", "/garden", fork=e.ForkedFrom(source, len(facts)))
        began = time.process_time()
        await transcript.fork(opened, new_conversation())
        took.append(time.process_time() - began)
    db.close()
    return took
