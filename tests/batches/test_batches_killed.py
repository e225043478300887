"""A batch is killed at random, with and without the processes that work for it; each task has one result all the same.

An instant's kill takes with it what was asked and not yet stored, which no one who dies can help: that alone is asked
again. Everything that was answered is stored, and paid, once.
"""

import asyncio
import json
import os
import random
import signal
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ids import ConversationId
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import Database
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say, with_usage
from tests.batches.runs import task_file
from tests.examples import TIMES
from tests.nursery import LivingChild, Nursery
from tests.promise.lives import environment
from tests.sandboxes.conftest import docker
from tests.sandboxes.daemon import IMAGE, Daemon

__all__ = ("docker",)

pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap"), pytest.mark.real("docker")]

TASKS, KILLS = (200, 20) if TIMES else (12, 4)
"""Two hundred, killed twenty times, in `make soak`."""
PARALLEL = 6
IN_CONTAINERS = 6
"""Each so many-th task is done in a container."""
PRICED = "openai:gpt-4o"
USAGE, PRICE = e.Usage(input=1_000), 2_500
"""Of each reply, and millionths of a dollar for it."""
DONE = "all-written"
PATIENCE_S = 120.0
POINTS = (
    *("batch.before_said", "batch.said", "batch.files_put", "batch.before_check", "batch.checked", "batch.result"),
    *("model.asked", "model.replied", "tool.started", "tool.ran", "append.before_commit", "append.after_commit"),
)
ASKING = (e.ModelSaid, e.ModelAsked)
HARMED = "t5"
"""The task whose check is killed."""
CHECK = f"""
import os

async def check(context):
    if context.task == "{HARMED}":
        os.kill(os.getpid(), 9)
    if "untouched" in await context.read("given.txt"):
        return False, "the files were put again, over what the model wrote"
    return context.task in await context.read("answer.txt")
"""


def priced(request: ReceivedRequest) -> Step:
    """Writes over the file that was given, and an answer; again where it is told that nobody knows whether it did."""
    results = [result for message in request.heard.messages for result in message.results]
    if results and DONE in results[-1].text:
        return with_usage(say("It is in answer.txt."), USAGE)
    line = f"echo touched > given.txt && echo {request.heard.last_words.strip()} > answer.txt && echo {DONE}"
    return with_usage(call("shell", {"command": line}), USAGE)


class KilledBatch:
    """One batch in many lives, over one model server."""

    def __init__(self, folder: Path, server: ModelServer, nursery: Nursery, socket: str) -> None:
        self.folder, self.server, self.nursery = folder, server, nursery
        self.env = environment(folder, server)
        self.tasks = [f"t{number}" for number in range(TASKS)]
        contained: dict[str, object] = {"sandbox": f"docker:{IMAGE}"}
        (folder / "given.txt").write_text("untouched")
        (folder / "check.py").write_text(CHECK)
        rows: list[dict[str, object]] = [{"id": name, "files": ["given.txt"]} for name in self.tasks]
        file = task_file(folder, *(row if n % IN_CONTAINERS else {**row, **contained} for n, row in enumerate(rows)))
        where = ("--model", PRICED, "--check", str(folder / "check.py"), "-o", str(folder / "batch"))
        settings = (f"--set=sandbox.docker.socket={socket}", "--set=sandbox.docker.idle_minutes=0")
        self.words = ("batch", str(file), *where, *settings, "--parallel", str(PARALLEL))

    async def begun(self, at: str = "") -> LivingChild:
        """One more life; it kills itself at the crash point, if one is named."""
        return await self.nursery.bear(self.words, self.env, Path(tempfile.mkdtemp(dir=self.folder)), at=at)

    async def asked(self, child: LivingChild, more: int) -> None:
        """Until the model was asked so many times more, or the life is over."""
        upto = len(self.server.requests) + more
        asked = asyncio.create_task(self.server.when(lambda server: len(server.requests) >= upto))
        either: list[asyncio.Future[Any]] = [child.status, asked]
        try:
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()

    @property
    def results(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "batch/results.jsonl").read_text().splitlines()]

    async def logs(self) -> Mapping[str, Sequence[e.AnyFact]]:
        """The facts of each task's conversation."""
        db = Database.open(self.folder / "home")
        try:
            query = "SELECT DISTINCT conversation FROM inbox WHERE door = 'batch'"
            found = await db.read(lambda connection: connection.execute(query).fetchall())
            logs = [await Transcript(db).entries(ConversationId(one)) for (one,) in found]
            return {said_in(log): [entry.fact for entry in log] for log in logs}
        finally:
            db.close()

    async def ledger(self) -> int:
        """What the home says was spent, millionths of a dollar."""
        db = Database.open(self.folder / "home")
        try:
            query = "SELECT sum(cost) FROM spending"
            (spent,) = await db.read(lambda connection: connection.execute(query).fetchone())
            return int(spent)
        finally:
            db.close()


def said_in(log: Sequence[e.Entry]) -> str:
    """The task of a conversation: its prompt is its name."""
    (said,) = (entry.fact for entry in log if isinstance(entry.fact, e.UserSaid))
    (text,) = (part.text for part in said.parts if isinstance(part, Text))
    return text


def workers(pid: int) -> Iterator[int]:
    """What a process has started, and what those have."""
    with suppress(OSError):  # it has ended
        for child in map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
            yield from (child, *workers(child))


def killed(pids: Iterable[int]) -> None:
    """Kill these, where they are not gone."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def killed_often(batch: KilledBatch, chance: random.Random) -> None:
    """Lives that end at a random occurrence of a crash point, or at a random request; the last one ends by itself."""
    for life in range(KILLS):
        child = await batch.begun(f"{chance.choice(POINTS)}:{chance.randint(1, 3 * PARALLEL)}" if life % 2 else "")
        await batch.asked(child, chance.randint(1, 3 * TASKS // KILLS))
        killed((child.pid, *(workers(child.pid) if life % 4 > 1 else ())))  # nobody is left to see workers die
        assert (ended := await child.ended()).status in (0, -signal.SIGKILL), ended.stderr
    last = await batch.begun()
    assert (ended := await last.ended()).status == 0, ended.stderr


@pytest.mark.soak
async def test_killed_at_random_each_task_has_one_result_and_what_was_answered_is_paid_once(
    tmp_path: Path, docker: Daemon
) -> None:
    async with ModelServer(priced) as server, Nursery() as nursery:
        batch = KilledBatch(tmp_path, server, nursery, docker.socket)
        await killed_often(batch, random.Random(KILLS))
    outcomes = {row["task"]: row["outcome"] for row in batch.results}
    assert outcomes == {name: "crashed" if name == HARMED else "passed" for name in batch.tasks}
    assert [row["task"] for row in batch.results] == batch.tasks
    await docker.removed()
    assert docker.containers() == []
    logs = await batch.logs()
    assert sorted(logs) == sorted(batch.tasks)
    for name, facts in logs.items():
        count = Counter(type(fact) for fact in facts)
        assert (count[e.UserSaid], count[e.TurnClosed], count[e.Checked]) == (1, 1, 1), name
        assert count[e.ModelSaid] == count[e.ToolStarted] + 1, name
        steps = [one.heard.replies for one in server.requests if one.heard.last_words.strip() == name]
        assert steps == sorted(steps), f"{name}: what had been answered was asked again: {steps}"
        assert set(steps) == set(range(count[e.ModelSaid])), name
        assert len(steps) <= count[e.ModelAsked], name
    said, asked = (sum(isinstance(fact, kind) for facts in logs.values() for fact in facts) for kind in ASKING)
    assert await batch.ledger() == said * PRICE == sum(row["cost"] for row in batch.results)
    assert asked - said <= KILLS * PARALLEL
