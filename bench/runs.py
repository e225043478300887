"""Runs a command and says what it took, children included."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[1]


class Bench(Struct, frozen=True):
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


def run(argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Took:
    """Run a command to its end.

    Raises:
        AssertionError: it ended otherwise than with 0.
    """
    began = time.perf_counter()
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        argv, env=environment() if env is None else env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout as out, process.stderr as err:
        stdout, stderr = out.read(), err.read()
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise AssertionError(f"{argv} ended with {process.returncode} and said:\n{stderr.decode()[-2000:]}")
    per_unit = 1 if sys.platform == "darwin" else 1024  # ru_maxrss: bytes on macOS, kilobytes elsewhere (getrusage(2))
    return Took(began, wall, used.ru_utime + used.ru_stime, used.ru_maxrss * per_unit, stdout, stderr)
