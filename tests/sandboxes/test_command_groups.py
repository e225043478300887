"""What a command may use up with all that it starts; seen where systemd can be asked for a scope, else skipped."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from angelia.sandboxes.local.cgroup import CPU_WEIGHT
from angelia.sandboxes.local.command_groups import GROUPS, memory_of
from angelia.sandboxes.local.confined_program import confined_prefix, start_confined
from angelia.sandboxes.local.resource_limits import MB, LocalSettings
from angelia.sandboxes.port import Command, Reach
from angelia.store.media.processes import MediaProcesses, program_folders
from angelia.testing.sandboxes.acts import said, shell
from tests.store.drawn import picture

from .conftest import Build

HOARDS = """
import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
for _ in range(40):
    segment = libc.shmget(0, 10_000_000, 0o1600)
    at = libc.shmat(segment, None, 0)
    ctypes.memset(at, 1, 10_000_000)
    libc.shmdt(ctypes.c_void_p(at))
"""

pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap")]


@pytest.fixture
def groups() -> Path:
    """Where commands have groups of their own."""
    if folder := GROUPS.folder():
        return folder
    pytest.skip(f"no control groups for commands here: {GROUPS.why_not}")


def settings_for(memory_mb: int, processes: int = 4096) -> LocalSettings:
    """A share of this machine's memory that comes to about so much."""
    whole = memory_of(LocalSettings(memory_percent=100)) // MB
    return LocalSettings(processes=processes, memory_percent=max(1, memory_mb * 100 // whole))


async def test_memory_of_many_processes_together_is_limited_and_told(build: Build, groups: Path) -> None:
    settings = settings_for(200)
    one = "python3 -c 'import time; held = bytes([1]) * 60_000_000; print(\"held\", flush=True); time.sleep(2)'"
    output, end = await said(build(limits=settings), Command(shell=f"for n in 1 2 3 4 5 6; do {one} & done; wait"))
    assert 1 <= output.splitlines().count(b"held") < 6, output
    (note,) = end.notes
    assert note.startswith(f"It reached {memory_of(settings) // MB} MB of memory, the most that it may have with all")
    assert "of its processes" in note
    assert "`sandbox.local.memory_percent`" in note


async def test_processes_are_counted_for_each_command_root_ones_too(build: Build, groups: Path) -> None:
    line = "for n in $(seq 90); do sleep 20 & done; echo $(ls -d /proc/[0-9]* | wc -l)"
    output, end = await said(build(limits=LocalSettings(processes=50)), Command(shell=line, seconds=60))
    assert b"temporarily unavailable" in output
    (note,) = end.notes
    assert note.startswith("It had 50 processes and threads, and ")
    assert note.endswith("more were refused (`sandbox.local.processes`).")


async def test_each_command_has_a_group_from_its_first_instant_and_none_is_left(build: Build, groups: Path) -> None:
    sandbox = build()
    before = {path.name for path in groups.iterdir()}
    assert (await shell(sandbox, "cat /proc/self/cgroup")).strip() in ("0::/", "0::/../" + groups.name)
    running = await sandbox.start(Command(shell="echo begun; sleep 600"))
    assert b"begun" in await anext(running.output())
    (own,) = {path.name for path in groups.iterdir()} - before
    assert len((groups / own / "cgroup.procs").read_text().split()) >= 3
    assert (groups / own / "memory.max").read_text().strip() != "max"
    await running.kill()
    assert {path.name for path in groups.iterdir()} == before


async def test_commands_weigh_less_for_a_processor_than_what_serves_people(build: Build, groups: Path) -> None:
    if "cpu" not in (groups / "cgroup.controllers").read_text().split():
        pytest.skip("no weights are passed on to this user: before systemd 252, or without CPU accounting")
    before = {path.name for path in groups.iterdir()}
    running = await build().start(Command(shell="echo begun; sleep 600"))
    assert b"begun" in await anext(running.output())
    (own,) = {path.name for path in groups.iterdir()} - before
    held = groups if (groups / "scope").exists() else groups / own  # a scope beside us; or beside `main`, in a service
    weights = {(folder / "cpu.weight").read_text().strip() for folder in (groups / own, held)}
    await running.kill()
    assert weights == {str(CPU_WEIGHT)}
    assert CPU_WEIGHT < 100  # what everything has that says nothing


class Typed:
    """A person's terminal, in which these lines are typed."""

    kind, size = "dumb", (24, 80)

    def __init__(self, *lines: str) -> None:
        self._lines = [f"{line}\n".encode() for line in lines]
        self.shown = b""

    async def read(self) -> bytes:
        """See the port."""
        return self._lines.pop(0) if self._lines else b""

    def write(self, data: bytes) -> None:
        """See the port."""
        self.shown += data

    def on_resize(self, act: Callable[[], None]) -> None:
        """See the port."""


async def test_a_persons_shell_is_held_as_commands_are(build: Build) -> None:
    terminal = Typed("ulimit -f; exit 7")
    assert await build(limits=LocalSettings(file_mb=5)).shell(terminal) == 7
    assert b"\n4882\r" in terminal.shown


async def test_a_persons_shell_has_a_group_and_is_told_what_it_met(build: Build, groups: Path) -> None:
    before = {path.name for path in groups.iterdir()}
    terminal = Typed("for n in $(seq 90); do sleep 20 & done", "exit")  # a shell drops the rest of a line
    await build(limits=LocalSettings(processes=50)).shell(terminal)
    assert b"It had 50 processes and threads, and" in terminal.shown
    assert {path.name for path in groups.iterdir()} == before


async def test_what_opens_media_has_a_group_for_what_the_kernel_holds_for_it(groups: Path) -> None:
    """Segments of System V are in no process's own memory once it lets go of them, and stay with their namespace."""
    before = {path.name for path in groups.iterdir()}
    ours, theirs = socket.socketpair()
    words = [*confined_prefix(program_folders()), sys.executable, "-I", "-B", "-c", HOARDS]
    with ours, theirs:
        process = start_confined(words, theirs.fileno(), 50_000_000)
        status = await asyncio.to_thread(process.wait)
    assert status == 128 + signal.SIGKILL
    async with asyncio.timeout(30):
        while {path.name for path in groups.iterdir()} != before:  # noqa: ASYNC110 - a thread removes it
            await asyncio.sleep(0.01)


async def test_media_are_opened_in_groups(groups: Path) -> None:
    processes = MediaProcesses(lambda: confined_prefix(program_folders()), start=start_confined)
    assert (await processes.check(picture((30, 20), "WEBP"))).width == 30


async def test_what_runs_outside_of_the_confinement_has_no_group(build: Build, groups: Path) -> None:
    output, _ = await said(build(), Command(shell="cat /proc/self/cgroup", reach=Reach.OUTSIDE))
    assert output.decode().split(":")[-1] == Path("/proc/self/cgroup").read_text().split(":")[-1]


async def test_without_groups_a_command_runs_with_the_limits_of_its_processes(build: Build) -> None:
    if GROUPS.folder():
        pytest.skip("here are control groups")
    assert GROUPS.why_not
    assert await shell(build(), "ulimit -f") == "19531250"


@pytest.mark.skipif(os.geteuid() == 0, reason="root owns all groups, so none was handed to it")
async def test_nobody_divides_a_group_that_was_not_handed_over(groups: Path) -> None:
    assert groups.stat().st_uid == os.geteuid()
