"""A command on this machine, from its start to the end of the last process it started."""

import asyncio
import os
import signal
import subprocess
import time
import weakref
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from msgspec import Struct

from angelia.core.crash import crash_point
from angelia.core.text import clean, one_line
from angelia.sandboxes.local.command_groups import GROUPS, LimitedCommand, may_be_had
from angelia.sandboxes.local.command_pipes import CommandPipes
from angelia.sandboxes.local.limits_met import LimitsMet
from angelia.sandboxes.local.processes import MARK, end, living_tree
from angelia.sandboxes.local.resource_limits import LocalSettings, put_limits
from angelia.sandboxes.port import AccessRefused, Exit, NoSuchFile, SandboxError, StderrMode, StdinMode

CHUNK = 64 * 1024
"""Bytes taken from the output at once: what a Linux pipe holds (pipe(7))."""
_LOOK = 1.0
"""Seconds between two looks at what no limit of the kernel holds."""
LINGER = 0.2
"""Seconds that processes may outlive the command they belong to, so that `>(tee log)` can finish."""


Launch = Callable[[Callable[[], "subprocess.Popen[bytes]"]], "subprocess.Popen[bytes]"]


def at_once(popen: Callable[[], "subprocess.Popen[bytes]"]) -> "subprocess.Popen[bytes]":
    """Begin it here and now."""
    return popen()


class Start(Struct, frozen=True):
    """What to start. `confined`: `argv` leads to another process tree that dies with its first process.

    `options` are handed to `argv` over a file descriptor whose number is put in place of `OPTIONS`, unseen by `ps`.
    So is `seccomp`, a filter of the calls of what bubblewrap starts; empty for none.
    With `limits` it waits at its first option, which is read from a pipe, until they are set: at once, or where each
    command has a control group when that is there.
    `descriptors` are handed on, under their own numbers. `writes_to` are folders whose disks it may not fill.
    `launch` is called to begin the process, with what does it.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    mark: str
    cwd: Path
    confined: bool
    stdin: bytes = b""
    options: Sequence[str] = ()
    seccomp: bytes = b""
    limits: LocalSettings | None = None
    writes_to: Sequence[Path] = ()
    descriptors: Sequence[int] = ()
    input: StdinMode = StdinMode.GIVEN
    errors: StderrMode = StderrMode.MERGED
    launch: Launch = at_once


OPTIONS = "{options}"


class LocalRunning:
    """See `sandboxes.port.Running`. Starts on the thread that calls it, which is the event loop's.

    Nobody buffers: output that is not read stays in the pipe, and when that is full the command waits. Its end is
    its first process's end; what it leaves in the background is ended unless it finishes within 0.2 s (at once where it
    is confined), so that nothing is left behind, and everything written until then is read.
    """

    def __init__(self, name: str, start: Start, *, seconds: float, begun: Callable[[int], None]) -> None:
        """Start it, and at once tell `begun` its number; `seconds` is the time-out, 0 for none.

        Raises:
            NoSuchFile: there is no such working folder.
            AccessRefused: it may not be entered.
            SandboxError: the machine cannot start another process, or the command line is too long for it.
        """
        self._name = name
        self._mark = start.mark
        self._confined = start.confined
        self._loop = asyncio.get_running_loop()
        self._began = time.monotonic()
        crash_point("command.before_start")
        self._process, self._output, pipes, gate = _spawn(start)
        begun(self._process.pid)
        self._pipes = pipes
        self._limits = LimitsMet(start.limits, start.writes_to) if start.limits else None
        crash_point("command.after_start")
        self._let_go = weakref.finalize(self, os.close, self._output)
        self._reading = asyncio.Lock()
        self._ended: asyncio.Future[Exit] = self._loop.create_future()
        self._timed_out = False
        self._killing: asyncio.Task[None] | None = None
        self._group = self._loop.run_in_executor(None, grouped, gate, self._process.pid, start) if gate >= 0 else None
        self._timer = self._loop.call_later(seconds, self._time_out) if seconds else None
        self._watching = self._loop.create_task(self._watch())
        self._looking = self._loop.create_task(self._look_after(self._limits)) if self._limits else None

    @property
    def id(self) -> str:
        """Names the process for as long as the sandbox lives."""
        return self._name

    @property
    def pid(self) -> int:
        """The number of its first process."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self._ended.done()

    async def output(self) -> AsyncIterator[bytes]:
        """Stdout and stderr, in the order they were written; see the port."""
        while chunk := await self._next_chunk():
            yield chunk

    @property
    def last_errors(self) -> bytes:
        """See the port."""
        return self._pipes.last_errors

    async def write(self, data: bytes) -> None:
        """See the port. A confined command's input is also held by what confines it, so its closing is not seen."""
        await self._pipes.write(data)

    async def close_input(self) -> None:
        """See the port."""
        await self._pipes.close_input()

    async def wait(self) -> Exit:
        """Wait for the end; a command whose output nobody reads may be waiting for its reader."""
        return await asyncio.shield(self._ended)

    async def kill(self) -> None:
        """TERM, then KILL after a grace, to everything that belongs to it."""
        if not self._ended.done() and self._killing is None:
            self._killing = self._loop.create_task(self._kill())
        if self._killing is not None:
            await asyncio.shield(self._killing)

    async def _next_chunk(self) -> bytes:
        async with self._reading:
            while self._let_go.alive:
                over = self._ended.done()  # looked at before reading: what was written by then is in the pipe
                try:
                    chunk = os.read(self._output, CHUNK)
                except BlockingIOError:
                    if over:
                        break
                    await self._readable()
                    continue
                if not chunk:
                    break
                await asyncio.sleep(0)  # a flood of output must not starve everybody else
                return chunk
            self._let_go()
            return b""

    async def _readable(self) -> None:
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(self._output, _wake, waiter)
        try:
            either: list[asyncio.Future[Any]] = [waiter, self._ended]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._loop.remove_reader(self._output)

    async def _look_after(self, limits: LimitsMet) -> None:
        while not self._ended.done():
            await asyncio.wait([self._ended], timeout=_LOOK)
            if not self._ended.done() and await asyncio.to_thread(limits.disk_is_short):
                await self.kill()

    def _time_out(self) -> None:
        self._timed_out = True
        self._killing = self._killing or self._loop.create_task(self._kill())

    async def _kill(self) -> None:
        # Asked to end, bubblewrap would take everything inside with it at once, without a grace: TERM goes past it.
        spare = frozenset({self.pid}) if self._confined else frozenset()
        if await end(self._living, spare=spare):
            return  # in the kernel's hands; `wait` ends when it lets go
        await asyncio.shield(self._ended)

    def _living(self) -> set[int]:
        return living_tree(self.pid, self._mark)

    async def _let_finish(self) -> None:
        deadline, pause = self._loop.time() + LINGER, 0.002
        while self._living() and self._loop.time() < deadline:
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.05)

    async def _watch(self) -> None:
        await until_dead(self._process)
        if not self._confined:
            await self._let_finish()
            await end(self._living, grace=0)
        group = await self._group if self._group else None
        by_group = await asyncio.to_thread(group.end) if group else None
        status = self._process.wait()  # only now may its number, which names its group and session, be used again
        if self._timer is not None:
            self._timer.cancel()
        self._pipes.end()
        self._ended.set_result(self._exit(status, by_group))

    def _exit(self, status: int, by_group: tuple[str, ...] | None) -> Exit:
        number = -status if status < 0 else 0
        if self._confined and 128 < status <= 128 + signal.NSIG:
            number = status - 128  # bubblewrap says it the way shells do
        return Exit(
            status=-1 if number else status,
            signal=number,
            timed_out=self._timed_out,
            seconds=time.monotonic() - self._began,
            notes=self._limits.told(number, by_group) if self._limits else (),
        )


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def grouped(gate: int, pid: int, start: Start) -> LimitedCommand | None:
    """Let it begin, by closing `gate` where there is one, once it is in a group of its own, or there is none to be had.
    It waits: for a thread.
    """
    try:
        return GROUPS.limited(pid, start.mark, start.limits) if start.limits and may_be_had() else None
    finally:
        if gate >= 0:
            os.close(gate)


def _spawn(start: Start) -> tuple[subprocess.Popen[bytes], int, CommandPipes, int]:
    """The process in a session of its own, the end of its output pipe that we read, and its other pipes.

    And what is to be closed when it may begin; -1 where it does by itself.
    """
    try:
        pipes = CommandPipes(start.input, start.errors)
    except OSError as error:
        raise _not_started(start, error) from error
    try:
        ours, theirs = os.pipe()
    except OSError as error:
        pipes.give_up()
        raise _not_started(start, error) from error
    passed: list[int] = []
    gate = -1
    held = -1
    stdin: IO[bytes] | None = None
    nothing = -1
    try:
        os.set_blocking(ours, False)
        argv = handed_on(start, passed)
        if start.limits:
            gate = gated(argv, passed)
        stdin = _readable_file(start.stdin) if start.stdin else None
        nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)  # here: see `Watch.launch`
        process = start.launch(
            lambda: subprocess.Popen(  # noqa: S603 - the command was decided upon by the policy, here it runs
                argv,
                stdin=stdin or (nothing if pipes.stdin is None else pipes.stdin),
                stdout=theirs,
                stderr=theirs if pipes.stderr is None else pipes.stderr,
                env={**start.env, MARK: start.mark},
                cwd=start.cwd,
                pass_fds=[*passed, *start.descriptors],
                start_new_session=True,
            )
        )
        if start.limits:
            put_limits(process.pid, start.limits)
            if may_be_had():
                held, gate = gate, -1
    except (OSError, ValueError) as error:
        os.close(ours)
        pipes.give_up()
        raise _not_started(start, error) from error
    finally:
        os.close(theirs)
        for handle in (*passed, *(one for one in (gate, nothing) if one >= 0)):
            os.close(handle)
        if stdin is not None:
            stdin.close()
    pipes.begin()
    return process, ours, pipes, held


def _not_started(start: Start, error: Exception) -> SandboxError:
    match error:
        case FileNotFoundError() | NotADirectoryError():
            return NoSuchFile(f"There is no folder {one_line(clean(str(start.cwd)))} to work in.")
        case PermissionError():
            return AccessRefused(f"The folder {one_line(clean(str(start.cwd)))} may not be entered.")
        case _:
            length = sum(len(word) for word in start.argv)
            return SandboxError(
                f"The command could not be started: {error}.",
                f"It is {length} characters long; one argument may have 131,071 bytes and no NUL."
                if length > 100_000 or isinstance(error, ValueError)
                else "",
            )


def handed_on(start: Start, passed: list[int]) -> list[str]:
    """The words to start it by; what it reads from descriptors is added to `passed`, for the caller to close."""
    argv = list(start.argv)
    if start.options:
        if any("\0" in word for word in start.options):
            raise ValueError("embedded null byte")  # it would end one option and begin another of the writer's choice
        passed.append(_in_memory(os.fsencode("\0".join(start.options))))
        argv[argv.index(OPTIONS)] = str(passed[-1])
    if start.seccomp:
        passed.append(_in_memory(start.seccomp))
        argv[1:1] = ["--seccomp", str(passed[-1])]
    return argv


def gated(argv: list[str], passed: list[int]) -> int:
    """Have bubblewrap wait for words that never come: what is to be closed when it may begin (bwrap(1), `--args`)."""
    waits, gate = os.pipe()
    passed.append(waits)
    argv[1:1] = ["--args", str(waits)]
    return gate


def _in_memory(content: bytes) -> int:
    handle = os.memfd_create("options")
    os.write(handle, content)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _readable_file(content: bytes) -> IO[bytes]:
    """Input as a file: a command that does not read it, or closes it early, stops nobody."""
    import tempfile

    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the caller once the command has it
    file.write(content)
    file.seek(0)
    return file


async def until_dead(process: subprocess.Popen[bytes]) -> None:
    """Until the process is dead, without taking its status, so that its number stays its own.

    A pidfd (pidfd_open(2), Linux 5.3) costs the event loop one descriptor; where there is none, a thread waits.
    """
    try:
        handle = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        await asyncio.to_thread(process.wait)
        return
    loop = asyncio.get_running_loop()
    dead: asyncio.Future[None] = loop.create_future()
    loop.add_reader(handle, _wake, dead)
    try:
        await dead
    finally:
        loop.remove_reader(handle)
        os.close(handle)
