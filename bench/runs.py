"""Runs a command and says what it took, children included."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[1]


class Benchmark(Struct, frozen=True):
    """One run of the bench. `folder` is scratch space on the disk that is measured; `times` is how often a command is
    run for its median; `rounds` and `sessions` are how long the long rows are; `full` adds what takes minutes.
    """

    folder: Path
    times: int
    rounds: int
    sessions: int
    full: bool

    def place(self, name: str) -> Path:
        """A new folder of that name."""
        path = self.folder / name
        path.mkdir()
        return path


class Took(Struct, frozen=True):
    """What a command took: seconds of wall and CPU, bytes of its largest process. `began` is `time.perf_counter`'s."""

    began: float
    wall: float
    cpu: float
    memory: int
    stdout: bytes
    stderr: bytes


def environment(**more: str) -> dict[str, str]:
    """The environment without keys and addresses of models, and without what changes how Python starts."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "ANGELIA_")) and not name.endswith(("_KEY", "_BASE_URL"))
    }
    return {**kept, **more}


def python(*arguments: str) -> list[str]:
    """A command of this interpreter."""
    return [sys.executable, *arguments]


def angelia(*arguments: str) -> list[str]:
    """A command of ours, as it is installed."""
    return [str(Path(sys.executable).with_name("angelia")), *arguments]


_LAUNCHER = """
import os, sys, time
report, argv = int(sys.argv[1]), sys.argv[2:]
began = time.perf_counter()
_, status, used = os.wait4(os.posix_spawnp(argv[0], argv, os.environ), 0)
wall = time.perf_counter() - began
code = os.waitstatus_to_exitcode(status)
os.write(report, f"{began} {wall} {used.ru_utime + used.ru_stime} {used.ru_maxrss} {code}".encode())
"""
"""Starts a command and reports what it took. It is small, and a process begins with the peak of whoever started it: a
child of the bench itself would show the bench's memory (Linux keeps `ru_maxrss` over `execve`)."""


def run(argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Took:
    """Run a command to its end.

    Raises:
        AssertionError: it ended otherwise than with 0.
    """
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb") as reports:
        ended = subprocess.run(
            python("-I", "-S", "-c", _LAUNCHER, str(theirs), *argv),
            env=environment() if env is None else env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            pass_fds=(theirs,),
            check=False,
        )
        os.close(theirs)
        began, wall, cpu, memory, code = reports.read().split() or (0, 0, 0, 0, -1)
    if int(code):
        raise AssertionError(f"{argv} ended with {int(code)} and said:\n{ended.stderr.decode()[-2000:]}")
    per_unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes on macOS, kilobytes elsewhere (getrusage(2))
    return Took(float(began), float(wall), float(cpu), int(memory) * per_unit, ended.stdout, ended.stderr)
