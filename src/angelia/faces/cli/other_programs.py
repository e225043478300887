"""Programs of the machine that the command line runs for a person: the service manager, pip, another version of us."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from msgspec import Struct

from angelia.core.errors import AngeliaError


class Ran(Struct, frozen=True):
    """How a program ended: its exit code, and what it said on both streams."""

    code: int
    said: str

    @property
    def last(self) -> str:
        """The last line that it said, which is the one that tells most."""
        return self.said.strip().rpartition("\n")[2]


def run(words: Sequence[str], environment: Mapping[str, str] | None = None) -> Ran:
    """Run a program to its end.

    Raises:
        AngeliaError: there is no such program.
    """
    _require(words[0])
    ended = subprocess.run(  # noqa: S603 - named by us, and no shell between
        words,
        env={**os.environ, **(environment or {})},
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return Ran(ended.returncode, ended.stdout.decode(errors="replace"))


def succeed(words: Sequence[str]) -> None:
    """Run a program that has to succeed.

    Raises:
        AngeliaError: it did not, or there is no such program; says what it said.
    """
    ran = run(words)
    if ran.code:
        raise AngeliaError(f"`{' '.join(words)}` failed ({ran.code}).", ran.said.strip())


def become(words: Sequence[str]) -> None:
    """Be that program from now on, with this terminal.

    Raises:
        AngeliaError: there is no such program.
    """
    _require(words[0])
    os.execvp(words[0], list(words))  # noqa: S606 - a program of the machine, named by us


def _require(program: str) -> None:
    if shutil.which(program) is None:
        raise AngeliaError(f"{program} is not on this machine.", then="Start the gateway your own way: angelia gateway")
