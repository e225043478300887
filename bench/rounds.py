"""Rows about a long task: what one round of model and tool costs, early and late."""

import asyncio
import resource
import statistics
import time
from collections.abc import Generator, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ending import Answered
from angelia.engine.live import Committed, LiveEvent
from angelia.policy.approvers import nobody
from angelia.service.app import App
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.service.settings.config import load
from angelia.testing.model.server_process import model_server_process
from bench.rows import Row, Yardstick, row
from bench.runs import Benchmark, angelia, run
from bench.startup import model_environment
from bench.tap import Tap
from bench.yardsticks import Yardsticks, requests

COMMAND = "date +%N"
"""As quick as `true`, and never the same result twice: the loop guard ends a task that goes in circles."""

_OURS = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN

_AROUND = 5
"""Rounds before and after the one that is meant, of which the median is taken."""


def rows(bench: Benchmark, bare: Yardsticks) -> Iterator[Row]:
    """Unconfined and confined in this process, then one whole `ask`."""
    with model_server_process("--rounds", str(bench.rounds), "--command", COMMAND) as url:
        bodies = yield from whole(bench, url)
        late = bench.rounds - _AROUND
        bare_early, bare_late = (
            statistics.median(asyncio.run(requests(url, [bodies[number]] * 10))) for number in (10, late)
        )
        for confine, most in (("off", 0.010), ("auto", 0.020)):
            if confine == "auto" and not bare.bubblewrap:
                yield Row("tool-call round, confined", "ms", note="no confinement on this machine")
                continue
            before = _processor()
            took = asyncio.run(task(bench.place(f"rounds {confine}"), url, confine, bench.rounds))
            spent = (_processor() - before) / bench.rounds
            yield from _task_rows(took, "confined" if confine == "auto" else "unconfined", most, bare, bare_early)
            yield row("    CPU of it, the command's included", "ms", spent)
            early, last = _near(took, 10), _near(took, late)
            name = f"    round {late} to round 10"
            yield row(name, "x", last / early, 1.2, note="with the server's part")
            yield row(f"{name}, our part", "x", (last - bare_late) / (early - bare_early), 1.2)


def _processor() -> float:
    """Seconds that this process and those that it started have used."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, _OURS))


def _task_rows(took: Sequence[float], how: str, most: float, bare: Yardsticks, request: float) -> Iterator[Row]:
    tool = bare.spawn if how == "unconfined" else bare.bubblewrap
    parts = Yardstick("4 commits, request, command", 4 * bare.commit + request + tool)
    near = took[10 - _AROUND : 10 + _AROUND]
    yield row(f"tool-call round, {how}", "ms", near, most, yardstick=parts)


def _near(took: Sequence[float], number: int) -> float:
    return statistics.median(took[number - _AROUND : number + _AROUND])


async def task(folder: Path, url: str, confine: str, rounds: int) -> list[float]:
    """Seconds of each round, from one `ModelAsked` to the next, in a conversation of this process."""
    workspace = folder / "workspace"
    workspace.mkdir()
    env = model_environment(url, folder)
    settings = [f"sandbox.confine={confine}", f"limits.max_steps={rounds + 10}"]
    app = await App.open(load(folder / "angelia", env, settings), env)
    session = app.conversations.begin(door="terminal", workspace=workspace)
    asked: list[float] = []

    def see(event: LiveEvent) -> None:
        if isinstance(event, Committed) and any(isinstance(entry.fact, e.ModelAsked) for entry in event.entries):
            asked.append(time.perf_counter())

    session.live.watch(see)
    await app.conversations.employ(session, "openai-chat:scripted", approvers=nobody)
    await session.say([Text("go")], address=TERMINAL)
    closed = await session.settled()
    await app.close()
    assert closed is not None
    assert isinstance(closed.ending, Answered), closed
    return [later - earlier for earlier, later in pairwise(asked)]


def whole(bench: Benchmark, url: str) -> Generator[Row, None, list[bytes]]:
    """A whole `ask` of as many rounds; returns the bodies of its requests."""
    home = bench.place("ask rounds")
    (workspace := home / "workspace").mkdir()
    steps = str(bench.rounds + 10)
    argv = angelia("ask", "--model", "openai-chat:scripted", "--max-steps", steps, "--set", "sandbox.confine=off", "go")
    with Tap(url) as tap:
        took = run(argv, env=model_environment(tap.url, home), cwd=workspace)
    sent = sum(len(body) for body in tap.bodies)
    yield row(f"ask of {bench.rounds} rounds: wall, each round", "ms", took.wall / bench.rounds)
    yield row("    CPU, each round, the commands' included", "ms", took.cpu / bench.rounds)
    yield row("    peak memory", "MB", took.memory)
    yield row("    connections", "", tap.connections, 1)
    yield row("    sent altogether", "kB", sent)
    yield row("    of it a prefix of the request before", "%", cached_share(tap.bodies))
    return tap.bodies


def cached_share(bodies: Sequence[bytes]) -> float:
    """How much of all messages, tools and prompts a provider's prefix cache could have known."""
    known = total = 0
    before: list[bytes] = []
    for body in bodies:
        pieces = _pieces(msgspec.json.decode(body))
        total += sum(map(len, pieces))
        for piece, earlier in zip(pieces, before, strict=False):
            if piece != earlier:
                break
            known += len(piece)
        before = pieces
    return known / total


def _pieces(body: dict[str, Any]) -> list[bytes]:
    return [msgspec.json.encode(piece) for piece in (body.get("tools"), *body["messages"])]
