"""A program beside the sandbox: it is spoken to line by line, it ends with us, and says why it ended."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from angelia.sandboxes.by_commands.sidecar import Sidecar
from angelia.sandboxes.local.process_ledger import Life, reap_leftovers
from angelia.sandboxes.port import SandboxError

from .test_deaths import HOLD, witness

pytestmark = pytest.mark.anyio

ENV = {"PATH": os.environ["PATH"]}
ECHO = "import sys\nfor line in sys.stdin: sys.stdout.write(line.upper()); sys.stdout.flush()"


@asynccontextmanager
async def started(folder: Path, *argv: str) -> AsyncIterator[Sidecar]:
    """A program of these words, closed at the end."""
    life = Life(folder / "run")
    sidecar = await Sidecar.start(argv, ENV, str(folder), life)
    try:
        yield sidecar
    finally:
        await sidecar.close()
        life.close()


async def test_what_is_written_is_answered_line_by_line(tmp_path: Path) -> None:
    async with asyncio.timeout(60), started(tmp_path, sys.executable, "-c", ECHO) as sidecar:
        lines = sidecar.lines()
        for word in (b"one\n", b"two\n", b"x" * 1_000_000 + b"\n"):
            await sidecar.write(word)
            assert await anext(lines) == word.upper()


async def test_its_environment_is_what_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "canary")
    async with asyncio.timeout(60), started(tmp_path, "env") as sidecar:
        names = {line.partition(b"=")[0].decode() async for line in sidecar.lines()}
    assert names == {"PATH", "ANGELIA_COMMAND"}


async def test_why_it_ended_is_the_last_thing_it_said(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(60),
        started(tmp_path, "sh", "-c", "echo first >&2; echo no key >&2; exit 3") as sidecar,
    ):
        assert [line async for line in sidecar.lines()] == []
        await sidecar.close()
        assert sidecar.complaint == "no key"


async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="no-such-program could not be started"):
        async with started(tmp_path, "no-such-program"):
            pass


async def test_all_that_it_started_ends_with_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "beat")
    async with asyncio.timeout(60), witness(tmp_path / "beat") as everyone_gone:
        async with started(tmp_path, "bash", "-c", f"{HOLD} echo up; sleep 1000") as sidecar:
            assert await anext(sidecar.lines()) == b"up\n"
        await everyone_gone
    assert everyone_gone.done()


LIFE = """
import asyncio, os, pathlib, sys
from angelia.sandboxes.by_commands.sidecar import Sidecar
from angelia.sandboxes.local.process_ledger import Life

async def main(folder, line):
    life = Life(folder / "own" / "run")
    companion = await Sidecar.start(("bash", "-c", line), dict(os.environ), str(folder), life)
    async for said in companion.lines():
        print(said.decode(), end="", flush=True)

asyncio.run(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
"""


async def test_what_a_killed_life_left_behind_is_ended_by_the_next(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "beat")
    (tmp_path / "own").mkdir()
    async with asyncio.timeout(60), witness(tmp_path / "beat") as everyone_gone:
        words = [sys.executable, "-c", LIFE, str(tmp_path), f"trap '' PIPE; {HOLD} echo up; sleep 1000"]
        life = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
        assert life.stdout
        assert await life.stdout.readline() == b"up\n"
        life.send_signal(signal.SIGKILL)
        await life.wait()
        assert not everyone_gone.done()
        told = await reap_leftovers(tmp_path / "own" / "run")
        await everyone_gone
    assert any("was left running" in one for one in told)
