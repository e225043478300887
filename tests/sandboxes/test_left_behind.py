"""After many conversations in processes that were killed anywhere, a next start leaves no trace of what they ran."""

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest

from angelia.service.app import App
from angelia.service.settings.config import load
from angelia.testing.model.server import ModelServer
from tests.examples import TIMES
from tests.nursery import forked
from tests.promise.lives import environment

from .daemon import Daemon
from .left_behind import KINDS, MODEL, SLEEP, model, settings

ENTRY = "tests.sandboxes.left_behind:main"
LIVES = (50 if TIMES else 12) // len(KINDS)
"""Each of them holds a conversation of every kind; fifty conversations in `make soak`."""
SEED = 20_261_122
POINTS = 330
"""Crash points that a whole life passes, about."""


async def killed_somewhere(folder: Path, docker: Daemon, env: dict[str, str], life: int, at: int) -> None:
    """One life of `left_behind`."""
    ended = await forked("", [str(folder), docker.socket, str(life), str(at)], env, ENTRY, b"")
    assert ended.status == -signal.SIGKILL, ended.stderr[-2000:]


def running(folder: Path) -> list[str]:
    """The processes of this machine that are these conversations' doing, containers' included."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line, known = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
            except OSError:  # it has ended
                continue
            if SLEEP.encode() in line or os.fsencode(folder) in line + known:
                found.append(f"{entry.name}: {line.decode(errors='replace')}")
    return found


@pytest.mark.soak
@pytest.mark.anyio
@pytest.mark.real("docker")
@pytest.mark.real("bwrap")
async def test_conversations_that_were_killed_leave_nothing(tmp_path: Path, docker: Daemon) -> None:
    chance = random.Random(SEED)
    before = docker.containers()
    (tmp_path / "tmp").mkdir()
    (tmp_path / "person").mkdir()
    async with ModelServer(model()) as server:
        env = environment(tmp_path, server) | {"TMPDIR": str(tmp_path / "tmp")}
        left = 0
        for life in range(0, LIVES, 2):
            two = (killed_somewhere(tmp_path, docker, env, n, chance.randrange(1, POINTS)) for n in (life, life + 1))
            await asyncio.gather(*two)
            left += len(running(tmp_path))
        assert left, "nothing was left behind that could be missed"
        app = await App.open(load(tmp_path / "home", env, settings(docker.socket), {"model": MODEL}), env)
        await app.places.clear()
        await docker.removed()
        assert docker.containers() == before
        assert running(tmp_path) == []
        assert list((tmp_path / "tmp").iterdir()) == []
        assert {entry.name for entry in app.running.iterdir()} <= {"docker", "open", "owner"}
        assert await app.places.all() == []
        assert await app.places.forsaken_homes() == []
        files = {path.name for path in (tmp_path / "work").rglob("*") if path.is_file()}
        assert files <= {"made", "note.txt"}
        assert len(list((tmp_path / "work").iterdir())) > LIVES
        await app.close()
