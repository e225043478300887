"""An input that stays open where a place is reached by streams: what carries it goes when the command does.

The streams are processes of this machine; the claims of the kit hold everywhere (`testing/sandboxes/input.py`).
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from angelia.sandboxes.apptainer.exec_stream import ProcessExecStream, process_wire
from angelia.sandboxes.by_commands import streamed_input
from angelia.sandboxes.by_commands.commands import RunningCommands
from angelia.sandboxes.by_commands.exec_stream import StreamedCommand
from angelia.sandboxes.local.processes import MARK
from angelia.sandboxes.port import Command, InputClosed, OutOfSpace, StderrMode, StdinMode, Unreachable

pytestmark = pytest.mark.anyio


class Machine:
    """A place that is reached by streams, on this machine; `folder` is where it keeps what is passing."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.commands = folder, RunningCommands()
        self.streams: list[ProcessExecStream] = []
        self.refuses: int | None = None

    async def wire(self, line: str, errors: StderrMode) -> ProcessExecStream:
        if len(self.streams) == self.refuses:
            raise Unreachable("No more streams can be had.")
        env = {"PATH": os.environ["PATH"], "TMPDIR": str(self.folder)}
        self.streams.append(await process_wire(("/bin/sh", "-c", line), env, errors))
        return self.streams[-1]

    async def open(self, line: str) -> StreamedCommand:
        command = Command(shell=line, input=StdinMode.OPEN)
        return await self.commands.start(command, cwd="/", env={}, open_wire=self.wire)

    def living(self) -> list[str]:
        """What bears a mark of ours."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes()
                words = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if words and f"{MARK}={self.commands.life}.".encode() in environment:
                found.append(words.decode(errors="replace"))
        return found

    def nothing_is_left(self) -> bool:
        return not self.living() and not list(self.folder.iterdir())


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "passing")


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something is so in other processes, which tell nobody."""
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - there is no event to wait for
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("line", ["cat >/dev/null", "exit 0", "kill -9 $$"])
async def test_when_it_is_over_nothing_is_left(line: str, machine: Machine) -> None:
    running = await machine.open(line)
    await running.close_input()
    await running.wait()
    assert machine.nothing_is_left()


async def test_its_way_in_stands_nowhere_once_it_runs(machine: Machine) -> None:
    running = await machine.open("echo on; cat")
    await anext(running.output())
    assert not list(machine.folder.iterdir())
    await running.kill()
    assert machine.nothing_is_left()


async def test_whoever_dies_with_its_streams_takes_it_along_though_it_reads_nothing(machine: Machine) -> None:
    running = await machine.open("echo on; sleep 1000")
    await anext(running.output())
    writing = asyncio.create_task(running.write(bytes(4_000_000)))
    await asyncio.sleep(0)
    for stream in machine.streams:
        stream._process.kill()  # as when this process had been killed: nobody says a word
    with pytest.raises(Exception, match=r"takes no input|has ended"):
        await writing
    for stream in machine.streams:
        await stream.close()
    await until(machine.nothing_is_left)


async def test_where_no_second_stream_can_be_had_nothing_has_run(machine: Machine) -> None:
    machine.refuses = 1
    with pytest.raises(Unreachable, match="No more streams"):
        await machine.open("touch $TMPDIR/ran")
    await until(machine.nothing_is_left)


async def test_where_no_input_can_be_made_it_is_said(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "passing")
    machine.folder.rmdir()
    with pytest.raises(OutOfSpace, match="stays open"):
        await machine.open("cat")


async def test_an_input_whose_stream_is_cut_ends_and_takes_nothing_more(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamed_input, "_PATIENCE", 0.1)
    running = await machine.open("cat >/dev/null; echo over; sleep 1000")
    await machine.streams[1].close()
    assert await anext(running.output()) == b"over\n"
    with pytest.raises(InputClosed, match="cut"):
        await running.write(b"more")
    await running.kill()
