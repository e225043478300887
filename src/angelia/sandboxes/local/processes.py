"""Which processes belong to a command, and how to end them all."""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

MARK = "ANGELIA_COMMAND"
"""The environment variable that every process of a command carries; its value names the command."""

PROC = Path("/proc")
_HAS_PROC = (PROC / "self/stat").exists()
GRACE = 0.75
"""Seconds between TERM and KILL: a time-out is kept within a second, whatever a command does with TERM."""
_STUCK = 2.0
"""Seconds after KILL until we stop waiting: what lives on sits in the kernel and no signal reaches it."""


class ProcessFacts(Struct, frozen=True):
    """One row of the process table; `started` is only good for telling two apart, `alive` is false for a zombie."""

    parent: int
    group: int
    session: int
    started: int
    alive: bool


def facts(pid: int) -> ProcessFacts | None:
    """What the kernel says about a process, None when there is none."""
    if not _HAS_PROC:
        return _ask_ps("-p", str(pid)).get(pid)
    try:
        text = (PROC / str(pid) / "stat").read_bytes()  # proc(5), `/proc/PID/stat`
    except OSError:
        return None
    fields = text[text.rindex(b")") + 2 :].split()
    parent, group, session, started = (int(fields[at]) for at in (1, 2, 3, 19))
    return ProcessFacts(parent, group, session, started, alive=fields[0] not in (b"Z", b"X"))


def bears(pid: int, mark: str) -> bool:
    """Whether the process was started with a mark that begins with `mark` (its own or inherited)."""
    try:
        environment = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False  # gone, or not ours to look at: then not ours to end either
    return b"\0" + f"{MARK}={mark}".encode() in b"\0" + environment


def everybody() -> dict[int, ProcessFacts]:
    """The whole process table, without ourselves."""
    return _table(_numbers()) if _HAS_PROC else _ask_ps("-ax")


def living_tree(pid: int, mark: str) -> set[int]:
    """Everything that belongs to the command whose first process is `pid` and lives; cheap when that is nothing."""
    return belonging(pid, mark, _table([pid, *_born_since(pid)]) if _HAS_PROC else _ask_ps("-ax"))


def belonging(pid: int, mark: str, table: Mapping[int, ProcessFacts]) -> set[int]:
    """Those of `table` that belong to the command whose first process is `pid`; the dead are left out.

    A process belongs by session, by group, by descent or by mark, so it has to shed all four to escape.
    """
    found = {
        other
        for other, known in table.items()
        if pid in (other, known.group, known.session) or bears(other, f"{mark}\0")
    }
    while more := {other for other, known in table.items() if known.parent in found} - found:
        found |= more
    return {other for other in found if table[other].alive}


def _table(pids: Iterable[int]) -> dict[int, ProcessFacts]:
    return {pid: known for pid in pids if pid != os.getpid() and (known := facts(pid))}


def _numbers() -> list[int]:
    return [int(name) for name in os.listdir(PROC) if name.isdigit()]  # noqa: PTH208 - on the path of each command


def _born_since(pid: int) -> list[int]:
    """The processes that are younger than `pid`, by the order in which Linux hands out numbers.

    The last field of `/proc/loadavg` (proc(5)) is the newest number, so a command that started nothing costs one read.
    """
    newest = int((PROC / "loadavg").read_bytes().split()[4])
    if newest == pid:
        return []
    if newest > pid:
        return [other for other in _numbers() if pid < other <= newest]
    return [other for other in _numbers() if other > pid or other <= newest]  # the numbers have wrapped around


def _ask_ps(*which: str) -> dict[int, ProcessFacts]:
    """The table where there is no `/proc`: ps(1) of macOS, which shows no session; a group stands in for it."""
    columns = "pid=,ppid=,pgid=,stat=,lstart="
    said = subprocess.run(  # noqa: S603 - a fixed command line
        ["/bin/ps", *which, "-o", columns], capture_output=True, check=False, text=True, env={"LC_ALL": "C"}, cwd="/"
    ).stdout
    table: dict[int, ProcessFacts] = {}
    for line in said.splitlines():
        pid, parent, group, state, *start = line.split()
        started = int(time.mktime(time.strptime(" ".join(start), "%a %b %d %H:%M:%S %Y")))
        table[int(pid)] = ProcessFacts(int(parent), int(group), int(group), started, alive=not state.startswith("Z"))
    table.pop(os.getpid(), None)
    return table


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Signal each, parents before children; one that is gone, or belongs to somebody else (`sudo`), is passed over."""
    for pid in sorted(pids):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def end_bearers(mark: str) -> None:
    """Kill whatever bears a mark, in full."""
    send((pid for pid in everybody() if bears(pid, f"{mark}\0")), signal.SIGKILL)


async def end(alive: Callable[[], set[int]], *, spare: frozenset[int] = frozenset(), grace: float = GRACE) -> set[int]:
    """TERM, then KILL after `grace` seconds, to whatever `alive` finds; returns what no signal could end.

    Whoever was found once is so until it is dead: what is dying has no environment any more, and what is told to end
    may have given itself another. `spare` is passed over by TERM, not by KILL. A `grace` of 0 kills at once.
    """
    found: dict[int, ProcessFacts] = {}

    def living() -> set[int]:
        left = alive() | {pid for pid, known in found.items() if _goes_on(pid, known)}
        found.update({pid: known for pid in left - found.keys() if (known := facts(pid))})
        return left

    loop = asyncio.get_running_loop()
    deadline = loop.time() + grace
    told = set(spare)
    pause = 0.002
    while grace and (left := living()) and loop.time() < deadline:
        send(left - told, signal.SIGTERM)  # those too that were born since the last round
        told |= left
        await asyncio.sleep(pause)
        pause = min(pause * 2, 0.05)
    deadline = loop.time() + _STUCK
    while (left := living()) and loop.time() < deadline:
        send(left, signal.SIGKILL)
        await asyncio.sleep(0.005)
    return left


def _goes_on(pid: int, known: ProcessFacts) -> bool:
    now = facts(pid)
    return now is not None and now.alive and now.started == known.started
