"""A command in the editor's own terminal: it is shown there while it runs, and told like any other."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from signal import Signals

from angelia.acp.faults import Fault
from angelia.deadline import within
from angelia.faces.acp import incoming as i
from angelia.faces.acp import results as r
from angelia.faces.acp.session_sender import Client
from angelia.sandboxes.port import AccessRefused, Command, Exit, InputClosed, SandboxGone, StderrMode, StdinMode

MOST_OUTPUT = 4_000_000
"""Bytes of output that the editor is asked to keep."""

ANSWER_S = 30.0
"""How long the editor may take over anything but the end of a command."""

_LOOK_AGAIN_S = 0.5
_OVERLAP = 2_000
"""Characters by which the end of what was seen is found again in an output that lost its beginning."""

_GAP = "\n… (the editor did not keep some of the output) …\n"


class AcpTerminal:
    """See `sandboxes.port.Running`. It stays to be seen in the editor when it is let go of at its end."""

    def __init__(self, client: Client, session: str, number: str, seconds: float) -> None:
        self._client = client
        self._at = r.OneTerminal(session, number)
        self._seconds = seconds
        self._began = time.monotonic()
        self._ending = asyncio.create_task(self._end())
        self._ending.add_done_callback(lambda done: done.cancelled() or done.exception())

    @classmethod
    async def open(cls, client: Client, session: str, command: Command, workspace: str) -> "AcpTerminal":
        """Start a command.

        Raises:
            AccessRefused: the editor did not; says why.
        """
        if command.input is StdinMode.OPEN or command.errors is StderrMode.APART:
            raise AccessRefused(
                "The editor's terminal shows a command to the person; a program cannot talk to it there.",
                then="Set the editor's terminal aside for this session: then commands run in the sandbox.",
            )
        argv = command.argv or ("/bin/sh", "-c", command.shell)
        env = tuple(r.Variable(name, value) for name, value in command.env.items())
        asked = r.CreateTerminal(session, argv[0], argv[1:], env, command.cwd or workspace, MOST_OUTPUT)
        try:
            made = await client.peer.ask("terminal/create", asked, i.TerminalMade)
        except Fault as fault:
            raise AccessRefused("The editor did not start the command.", f"It said: {fault.message}") from None
        return cls(client, session, made.terminal_id, command.seconds)

    @property
    def id(self) -> str:
        """The editor's name of it."""
        return self._at.terminal_id

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self._ending.done()

    async def output(self) -> AsyncIterator[bytes]:
        """See the port. What is still missing when the command has ended comes in one piece."""
        seen = ""
        while True:
            over = self._ending.done()  # looked at before asking: what was written by then is told now
            now = await self._soon("terminal/output", i.TerminalOutput)
            if fresh := _fresh(seen, now):
                yield fresh.encode()
            seen = now.output
            if over:
                break
            await asyncio.wait({self._ending}, timeout=_LOOK_AGAIN_S)
        with suppress(SandboxGone):  # it is over, and all of it was read
            await self._soon("terminal/release", i.AcpWritten)

    @property
    def last_errors(self) -> bytes:
        """Nothing: they come with the output."""
        return b""

    async def write(self, data: bytes) -> None:
        """See the port: only the person types there."""
        raise InputClosed("A command in the editor's terminal takes input from the person alone.")

    async def close_input(self) -> None:
        """It is not ours."""

    async def wait(self) -> Exit:
        """See the port."""
        return await asyncio.shield(self._ending)

    async def kill(self) -> None:
        """See the port; how is the editor's business.

        Raises:
            SandboxGone: it does not say that it has ended.
        """
        if not self._ending.done():
            await self._soon("terminal/kill", i.AcpWritten)
            await self._answered_soon(asyncio.shield(self._ending))

    async def _end(self) -> Exit:
        timed_out = False
        try:
            async with asyncio.timeout(self._seconds or None):
                ended = await self._ask("terminal/wait_for_exit", i.TerminalExit)
        except TimeoutError:
            timed_out = True
            await self._soon("terminal/kill", i.AcpWritten)
            ended = await self._soon("terminal/wait_for_exit", i.TerminalExit)
        seconds = time.monotonic() - self._began
        status = ended.exit_code if ended.exit_code is not None and not ended.signal else -1
        return Exit(status, _number(ended.signal), timed_out, seconds)

    async def _soon(self, method: str, answer: type[i.T]) -> i.T:
        return await self._answered_soon(self._ask(method, answer))

    async def _answered_soon(self, asked: Awaitable[i.T]) -> i.T:
        """Raises SandboxGone: it was not answered."""
        try:
            return await within(ANSWER_S, asked)
        except TimeoutError:
            raise SandboxGone(
                f"The editor gave no answer about its terminal within {ANSWER_S:g} s.",
                "What runs there may run on.",
                "Look at the editor; or set its terminal aside for this session.",
            ) from None

    async def _ask(self, method: str, answer: type[i.T]) -> i.T:
        """Raises SandboxGone: the editor does not know the terminal any more."""
        try:
            return await self._client.peer.ask(method, self._at, answer)
        except Fault as fault:
            raise SandboxGone("The editor's terminal is gone.", f"It said: {fault.message}") from None


def _fresh(seen: str, now: i.TerminalOutput) -> str:
    """What was written since `seen`, in an output that may have lost its beginning meanwhile."""
    if now.truncated and not seen:
        return _GAP + now.output
    if now.output.startswith(seen):
        return now.output[len(seen) :]
    tail = seen[-_OVERLAP:]
    at = now.output.find(tail)
    return now.output[at + len(tail) :] if at >= 0 else _GAP + now.output


def _number(signal: str | None) -> int:
    """A signal's number by its name, `SIGTERM` or `TERM`, or by its number; 0 for none, or one that nobody knows."""
    if not signal:
        return 0
    if signal.isdecimal():
        return int(signal)
    name = signal.upper().removeprefix("SIG")
    return next((known.value for known in Signals if known.name == f"SIG{name}"), 0)
