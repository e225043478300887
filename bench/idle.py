"""What an idle conversation costs in a process that holds many."""

import asyncio
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from angelia.core.content import Text
from angelia.policy.approvers import nobody
from angelia.service.app import App
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.service.settings.config import load
from bench.rows import Row, row
from bench.runs import ROOT, Benchmark, python, run
from bench.startup import model_environment

_WARM = 20
"""Conversations before the count begins, so that what is loaded and pooled once is not theirs."""


def rows(bench: Benchmark, url: str) -> Iterator[Row]:
    """A process that opens conversations, each of which has been answered once."""
    folder = bench.place("idle")
    argv = python("-m", "bench.idle", str(folder), url, str(bench.sessions))
    grown = int(run(argv, env=model_environment(url, folder), cwd=ROOT).stdout)
    yield row(f"memory of an idle conversation, of {bench.sessions}", "kB", grown / bench.sessions, 100_000)


async def _growth(folder: Path, url: str, count: int) -> int:
    """Bytes by which the process grows with `count` conversations."""
    env = model_environment(url, folder)
    workspace = folder / "workspace"
    workspace.mkdir()
    app = await App.open(load(folder / "angelia", env), env)

    async def converse() -> None:
        session = app.conversations.begin(door="terminal", workspace=workspace)
        await app.conversations.employ(session, "openai-chat:scripted", approvers=nobody)
        await session.say([Text("Good morning. What is the plan for today?")], address=TERMINAL)
        await session.settled()

    for _ in range(_WARM):
        await converse()
    before = resident()
    for _ in range(count):
        await converse()
    return resident() - before


def resident() -> int:
    """Bytes that this process holds in memory, after collecting what nobody needs."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    sys.stdout.write(str(asyncio.run(_growth(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))))
    sys.stdout.flush()
    os._exit(0)
