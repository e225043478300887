"""A program of this machine beside every sandbox, spoken to over its stdin and stdout for as long as it is needed."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress

from angelia.cancellation import cancel_and_wait
from angelia.core.text import clean, one_line
from angelia.deadline import within
from angelia.sandboxes.local.process_ledger import Life
from angelia.sandboxes.local.processes import MARK, end, living_tree
from angelia.sandboxes.port import SandboxError

MOST_LINE = 64_000_000
"""Bytes of one line; a program that writes more without an end is not listened to any longer."""


def overlong() -> str:
    """What is told of such a program."""
    return f"a line of more than {MOST_LINE:,} bytes, which was not read on"


TAIL = 4_000
"""Bytes of what it last wrote to stderr that are kept, to say why it ended."""

FAREWELL_S = 0.5
"""How long a program may take to end by itself once its stdin is closed; then it is told to, and then made to."""


class Sidecar:
    """One running program, in a session of its own; it is confined by nothing.

    It bears the life's mark and stands in its record, so that the next start ends it if this process is killed.
    """

    def __init__(self, process: asyncio.subprocess.Process, mark: str) -> None:
        self._process, self._mark = process, mark
        self._tail = bytearray()
        self._overlong = ""
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, argv: Sequence[str], env: Mapping[str, str], cwd: str, life: Life) -> "Sidecar":
        """Start it with nothing in its environment but `env` and its mark.

        Raises:
            SandboxError: there is no such program or folder, or it may not be run.
        """
        mark, pipe = life.next_mark(), asyncio.subprocess.PIPE
        with life.recording() as note:
            try:
                process = await asyncio.create_subprocess_exec(
                    *argv,
                    stdin=pipe,
                    stdout=pipe,
                    stderr=pipe,
                    env={**env, MARK: mark},
                    cwd=cwd,
                    limit=MOST_LINE,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                raise SandboxError(
                    f"{one_line(clean(argv[0]))} could not be started: {why}.", then="Is it installed, and on the PATH?"
                ) from error
            note(process.pid)
        return cls(process, mark)

    @property
    def pid(self) -> int:
        """The number of its first process."""
        return self._process.pid

    @property
    def complaint(self) -> str:
        """That it wrote too long a line, or the last one that it wrote to stderr, for people; empty if neither."""
        if self._overlong:
            return self._overlong
        lines = [line for line in clean(self._tail.decode("utf-8", "replace")).splitlines() if line.strip()]
        return one_line(lines[-1], 300) if lines else ""

    async def lines(self) -> AsyncIterator[bytes]:
        """What it writes to stdout, line by line, until it ends or writes a line that is too long."""
        assert self._process.stdout
        while True:
            try:
                line = await self._process.stdout.readline()
            except ValueError:  # over the limit
                self._overlong = overlong()
                return
            if not line:
                return
            yield line

    async def write(self, data: bytes) -> None:
        """Hand it some bytes; waits while it does not read.

        Raises:
            OSError: it has ended, or closed its stdin.
        """
        assert self._process.stdin
        self._process.stdin.write(data)
        await self._process.stdin.drain()

    async def close(self) -> None:
        """Close its stdin, and end it with everything that it started. Idempotent."""
        assert self._process.stdin
        self._process.stdin.close()
        with suppress(TimeoutError):
            await within(FAREWELL_S, self._process.wait())
        await end(self._living)
        await asyncio.wait([self._listening], timeout=FAREWELL_S)  # its last words may still be on their way
        await cancel_and_wait(self._listening)
        # A process that shed its session and its mark may still hold the pipes; nothing public lets go of them.
        self._process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001

    def _living(self) -> set[int]:
        """What of it lives; once its first process is dead and gone, that number may be somebody else's."""
        gone = set() if self._process.returncode is None else {self.pid}
        return living_tree(self.pid, self._mark) - gone

    async def _listen(self) -> None:
        assert self._process.stderr
        while chunk := await self._process.stderr.read(TAIL):
            self._tail += chunk
            del self._tail[:-TAIL]
