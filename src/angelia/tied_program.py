"""A program of this machine that runs outside of every sandbox, and ends with us, whatever we end of.

Its group is watched over by a shell within it, which waits at a pipe of ours. Killed, we leave nothing behind that goes
on listening, painting or judging for nobody, beside the next life that has it done again; and no race is to be had, as
a pipe whose writer was gone before anybody read from it has ended, too. Considered instead: PR_SET_PDEATHSIG, which
is Linux's alone and is told to the first process and none of those that it began; and a record that the next start goes
through, as sandboxes have it, which nobody goes through before there is one.
"""

import asyncio
import errno
import os
import shutil
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress

_TIED = '(read -r over || kill -s KILL 0) </dev/fd/"$0" >/dev/null 2>&1 & exec "$@"'
"""The watcher ends quietly where it reads a line, and at the pipe's end it ends its group. The program keeps the number
of the shell, and so its status."""

SHELL = ("/bin/sh", "-c")
"""What a command line of the person's is run by."""


class TiedProgram:
    """One program in a session of its own; `kill` or `let_go` is to be called in the end."""

    def __init__(self, process: Process, life: int) -> None:
        self.process, self._life = process, life

    @classmethod
    async def begin(
        cls, argv: Sequence[str], cwd: str | os.PathLike[str], env: Mapping[str, str] | None = None, errors: int = PIPE
    ) -> "TiedProgram":
        """Begin one, whole or not at all: cancelled between its start and its pipes, asyncio waits for ever. It has
        pipes for what it is given and says; `errors` as `asyncio.create_subprocess_exec` has it.

        Raises:
            OSError: there is no such program or folder, or it may not be run.
        """
        if shutil.which(argv[0], path=env.get("PATH") if env else None) is None:
            raise FileNotFoundError(errno.ENOENT, "there is no such program", argv[0])
        waits, life = os.pipe()
        with ExitStack() as undone:
            undone.callback(os.close, life)
            with os.fdopen(waits):
                beginning = asyncio.ensure_future(
                    asyncio.create_subprocess_exec(
                        *(*SHELL, _TIED, str(waits), *argv),
                        stdin=PIPE,
                        stdout=PIPE,
                        stderr=errors,
                        cwd=cwd,
                        env=env,
                        pass_fds=(waits,),
                        start_new_session=True,
                    )
                )
                try:
                    begun = await asyncio.shield(beginning)
                except asyncio.CancelledError:
                    _kill(await beginning)
                    await beginning.result().communicate()
                    raise
            undone.pop_all()
        return cls(begun, life)

    def kill(self) -> None:
        """End it at once, with all that is of its group. Idempotent."""
        if self._life >= 0:
            _kill(self.process)
            self._close()

    async def end(self) -> None:
        """End it, unless it has ended by itself: what it then left running in its group goes on."""
        if self.process.returncode is None:
            self.kill()
            await self.process.communicate()
        self.let_go()

    def let_go(self) -> None:
        """It has ended, and what it left in its group is its own. Idempotent."""
        if self._life >= 0:
            with suppress(BrokenPipeError):
                os.write(self._life, b"\n")
            self._close()

    def _close(self) -> None:
        os.close(self._life)
        self._life = -1


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):  # macOS refuses where only dead ones are left
        os.killpg(process.pid, signal.SIGKILL)
