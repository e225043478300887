"""A command of this machine as a stream; what it says about itself comes with what it carries."""

import asyncio
import os
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress

from angelia.cancellation import cancel_and_wait
from angelia.deadline import within
from angelia.sandboxes.port import SandboxGone, StderrMode
from angelia.sandboxes.shared.error_tail import ErrorTail

CHUNK = 64 * 1024
_PATIENCE = 5.0
"""Seconds until a command that has lost its input must have ended."""
_LAST_WORDS = 10.0
"""Seconds that errors may still take to come once it has ended: they end by themselves, unless something that escaped
the launcher holds them open.
"""


class ProcessExecStream:
    """See `sandboxes.by_commands.stream_port.ExecStream`. The output is a pipe of our own: it can be let go while
    somebody still holds it.
    """

    def __init__(self, process: Process, output: asyncio.StreamReader, pipe: asyncio.ReadTransport) -> None:
        self._process = process
        self._output = output
        self._pipe = pipe
        self._errors = ErrorTail()
        self._hearing = asyncio.create_task(self._hear(process.stderr)) if process.stderr else None

    async def read(self) -> bytes:
        """Some output, nothing at its end."""
        return await self._output.read(CHUNK)

    @property
    def last_errors(self) -> bytes:
        """The end of what came by the second output, where that is apart."""
        return self._errors.last

    async def write(self, data: bytes) -> None:
        """Send input."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            await self._process.stdin.drain()
        except OSError as error:
            raise _gone() from error

    async def end_input(self) -> None:
        """Let the input end after what was sent."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    async def status(self) -> int:
        """Its status.

        Raises:
            SandboxGone: it did not end by itself: the instance was taken away from under it.
        """
        status = await self._process.wait()
        if self._hearing is not None:
            await asyncio.wait([self._hearing], timeout=_LAST_WORDS)
        if status < 0:
            raise _gone()
        return status

    async def close(self) -> None:
        """Let go; the launcher inside takes that for the word to end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._pipe.close()
        try:
            await within(_PATIENCE, self._process.wait())
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        await cancel_and_wait(self._hearing)

    async def _hear(self, errors: asyncio.StreamReader) -> None:
        while chunk := await errors.read(CHUNK):
            self._errors.add(chunk)


async def process_wire(
    argv: Sequence[str], env: Mapping[str, str], errors: StderrMode = StderrMode.MERGED
) -> ProcessExecStream:
    """Start it, out of reach of the terminal's signals."""
    ours, theirs = os.pipe()
    output = asyncio.StreamReader()
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=PIPE,
            stdout=theirs,
            stderr=PIPE if errors is StderrMode.APART else theirs,
            env=env,
            cwd="/",
            start_new_session=True,
        )
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(output), os.fdopen(ours, "rb", buffering=0)
    )
    return ProcessExecStream(process, output, pipe)


def _gone() -> SandboxGone:
    return SandboxGone(
        "The instance has ended; what the command had not done by then, it did not do.",
        then="See what it has done before you run it again; the next command starts another instance.",
    )
