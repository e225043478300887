"""The crash harness: which crash points a run passes, and what is left when it is killed at one of them.

    python -P -m angelia.testing.crash --log FILE [--at append.committed:2] -- ask "…"

runs Angelia's command line in that process, appends each point it passes to FILE as `name:occurrence`, counted
from 1, and kills itself with SIGKILL at the one that `--at` names; without a number it is the first of that name. A
name that no crash point of ours has is refused.
`--entry module:function` runs something else.
"""

import argparse
import asyncio
import difflib
import os
import re
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from threading import Lock

from msgspec import Struct

from angelia.core.crash import on_crash_point

ANGELIA = "angelia.__main__:main"


class Run(Struct, frozen=True):
    """How a run ended: `status` is the exit code, negative for a signal; `passed` are the occurrences in order."""

    status: int
    stdout: str
    stderr: str
    passed: tuple[str, ...]


class NotReached(AssertionError):
    """The run ended without passing the point where it was to be killed."""


def command(log: Path, argv: Sequence[str], *, at: str = "", entry: str = ANGELIA) -> list[str]:
    """The command that runs `argv` under the recorder, for tests that drive a terminal themselves."""
    options = ["--log", str(log), "--entry", entry, *(["--at", at] if at else [])]
    return [sys.executable, "-P", "-m", "angelia.testing.crash", *options, "--", *argv]


Live = Callable[[str, Sequence[str], Mapping[str, str], str, bytes], Awaitable[Run]]
"""Lives to the point that is named first, or to its end: with these arguments, environment, entry point and input."""


async def fresh_process(at: str, argv: Sequence[str], env: Mapping[str, str], entry: str, stdin: bytes) -> Run:
    """A life in an interpreter of its own; see `Live`."""
    with tempfile.TemporaryDirectory(prefix="angelia-crash-") as folder:
        log = Path(folder, "passed")
        log.touch()
        words = command(log, argv, at=at, entry=entry)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*words, env=dict(env), stdin=pipe, stdout=pipe, stderr=pipe)
        try:
            out, err = await process.communicate(stdin)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode is not None
        passed = tuple(log.read_text().splitlines())
        return Run(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"), passed)


async def run(
    argv: Sequence[str], env: Mapping[str, str], *, entry: str = ANGELIA, stdin: bytes = b"", live: Live = fresh_process
) -> Run:
    """Run the command line with these arguments and exactly this environment, to its own end."""
    return await live("", argv, env, entry, stdin)


async def occurrences(
    argv: Sequence[str], env: Mapping[str, str], *, entry: str = ANGELIA, live: Live = fresh_process
) -> list[str]:
    """Every occurrence of every crash point that a whole run passes, in order: `name:occurrence`."""
    return list((await run(argv, env, entry=entry, live=live)).passed)


async def run_killed_at(
    point: str,
    argv: Sequence[str],
    env: Mapping[str, str],
    *,
    entry: str = ANGELIA,
    stdin: bytes = b"",
    live: Live = fresh_process,
) -> Run:
    """Run until `point` (`name:occurrence`), and be killed there.

    Raises:
        NotReached: the run ended before; its output is in the message.
    """
    ended = await live(point, argv, env, entry, stdin)
    if ended.status != -signal.SIGKILL or point not in ended.passed:
        raise NotReached(f"{point} was not reached; status {ended.status}, passed {ended.passed}\n{ended.stderr}")
    return ended


def points_of(package: str) -> set[str]:
    """The names of all crash points in the code of a package or module."""
    found = import_module(package)
    folders = [Path(one) for one in getattr(found, "__path__", ())]
    files = [path for one in folders for path in one.rglob("*.py")] or [Path(found.__file__ or os.devnull)]
    return {name for path in files for name in re.findall(r'\bcrash_point\("([\w.]+)"\)', path.read_text("utf-8"))}


def wrong_point(at: str, entry: str = ANGELIA) -> str:
    """Why nothing that `entry` runs is ever killed at `at`: a sentence or two; empty where it may be, and for no point.

    >>> wrong_point("tool.startd:2")
    'There is no crash point tool.startd. Did you mean tool.started or tool.before_start or tool.ran?'
    >>> wrong_point("tool.started:0")
    'The occurrence in tool.started:0 is no number from 1 on.'
    """
    name, colon, occurrence = at.partition(":")
    if colon and not re.fullmatch("[1-9][0-9]*", occurrence, re.ASCII):
        return f"The occurrence in {at} is no number from 1 on."
    module, known = entry.partition(":")[0], set[str]()
    for code in (module, "angelia", module.partition(".")[0]) if at else ():
        known |= points_of(code)
        if name in known:
            break
    if not at or name in known:
        return ""
    near = difflib.get_close_matches(name, sorted(known), 3)
    meant = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(sorted(known))}."
    return f"There is no crash point {name}. {meant}"


class Recorder:
    """The hook: writes down each occurrence, and ends the process at one of them. Points pass on any thread."""

    def __init__(self, log: Path, at: str) -> None:
        self._file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._at = f"{at}:1" if at and ":" not in at else at
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    def __call__(self, name: str) -> None:
        """A crash point was passed."""
        with self._lock:
            self._counts[name] += 1
            occurrence = f"{name}:{self._counts[name]}"
            os.write(self._file, f"{occurrence}\n".encode())
            if occurrence == self._at:
                os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Run the entry point under the recorder."""
    parser = argparse.ArgumentParser(prog="python -P -m angelia.testing.crash", description=__doc__)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--at", default="", metavar="NAME:OCCURRENCE")
    parser.add_argument("--entry", default=ANGELIA, metavar="MODULE:FUNCTION")
    parser.add_argument("argv", nargs="*")
    options = parser.parse_args()
    if wrong := wrong_point(options.at, options.entry):
        parser.error(wrong)
    try:
        on_crash_point(Recorder(options.log, options.at))
    except OSError as error:
        parser.error(f"{options.log} cannot be written: {error.strerror}")
    sys.argv = ["angelia", *options.argv]
    module, _, function = options.entry.partition(":")
    getattr(import_module(module), function)()


if __name__ == "__main__":
    main()
