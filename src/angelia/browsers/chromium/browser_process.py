"""The process of a browser that we start, and the pipe by which it is spoken to.

It is the first of a session of its own, and gives up being root: Chromium does not keep its sandbox as root.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from angelia.deadline import within
from angelia.sandboxes.local.command import until_dead

NOBODY = 65534
"""The uid that root gives up its own for."""
_UNTIL_GONE_S = 5.0


def its_user() -> int:
    """The uid that it has, 0 for ours."""
    return NOBODY if os.geteuid() == 0 else 0


def start_on_pipe(
    argv: Sequence[str], env: Mapping[str, str], pipe: tuple[int, int], others: Sequence[int] = (), errors: int = -1
) -> "subprocess.Popen[bytes]":
    """Start a program that finds the ends of this `pipe` where Chromium looks for its debugger (reading, writing), and
    `others` as they are. What it says of itself goes to `errors`, or nowhere.
    """
    helper = str(Path(__file__).with_name("exec_on_pipe.py"))
    return subprocess.Popen(  # noqa: S603 - a fixed command line
        [sys.executable, "-I", "-S", helper, *map(str, pipe), str(its_user()), *argv],
        pass_fds=(*pipe, *others),
        env=env,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors if errors >= 0 else subprocess.DEVNULL,
        start_new_session=True,
    )


def kill(process: "subprocess.Popen[bytes]") -> None:
    """End all of it: while bubblewrap sets things up, its inner process does not yet end with the outer one, and would
    be left for ever. They are one group, in a session of their own.
    """
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


async def until_ended(process: "subprocess.Popen[bytes]") -> None:
    """Wait until a browser that was hung up on is dead, which is helped on after some seconds, and all of its group."""
    try:
        await within(_UNTIL_GONE_S, until_dead(process))
    except TimeoutError:
        kill(process)
        await until_dead(process)
    finally:
        kill(process)
        process.wait()


async def end_now(process: "subprocess.Popen[bytes]") -> None:
    """End it, and wait until it is dead."""
    kill(process)
    try:
        await until_dead(process)
    finally:  # cancelled too, as all tasks are when a loop ends: it is dead in a moment
        process.wait()
