"""A batch in this process: the real app, sandboxes and checks, with a scripted model."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from angelia.faces.cli.batch.command import batch_deps
from angelia.service.app import App
from angelia.service.batches.results import TrialResult
from angelia.service.batches.runner import BatchPlan, BatchRunner
from angelia.service.batches.tasks import Task, read_tasks
from angelia.service.settings.config import load
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests.promise.lives import environment

MODEL = "openai-chat:m"


def two_steps(request: ReceivedRequest) -> Step:
    """Writes the person's words into `answer.txt`, and says that it did."""
    if request.heard.replies:
        return say("It is in answer.txt.")
    return call("write", {"path": "answer.txt", "content": request.heard.last_words.strip()})


def task_file(folder: Path, *rows: Mapping[str, object]) -> Path:
    """Tasks as lines; each says its own id unless it has a prompt."""
    file = folder / "tasks.jsonl"
    file.write_text("".join(json.dumps({"prompt": str(row["id"]), **row}) + "\n" for row in rows))
    return file


async def ran(
    folder: Path,
    tasks: Sequence[Task],
    script: Callable[[ReceivedRequest], Step] = two_steps,
    *,
    sets: Sequence[str] = (),
    tell: Callable[[TrialResult, bool], None] = lambda result, found: None,
    **plan: object,
) -> tuple[BatchRunner, ModelServer]:
    """Do these tasks in the home of this folder; the same `id` goes on with the same batch."""
    async with ModelServer(script) as server:
        env = environment(folder, server)
        app = await App.open(load(folder / "home", env, sets), env)
        try:
            wanted = replace(BatchPlan("b", tuple(tasks), (MODEL,), folder / "batch"), **plan)
            runner = BatchRunner(batch_deps(app), wanted, tell)
            await runner.run()
            return runner, server
        finally:
            await app.close()


def by_task(runner: BatchRunner) -> dict[str, TrialResult]:
    """The results by their tasks."""
    return {result.task: result for result in runner.results}


def tasks_of(folder: Path, *rows: Mapping[str, object], check: str = "") -> tuple[Task, ...]:
    """Tasks, read from a file as a person writes them."""
    folder.mkdir(exist_ok=True)
    return read_tasks(task_file(folder, *rows), check)
