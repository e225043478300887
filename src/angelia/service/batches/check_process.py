"""Checks in Python, in processes of their own: one that hangs, dies or floods is ended, and its verdict says so.

A process serves one check at a time and is used again for the same file; one that misbehaved is not. What it starts is
of its process group, and ends with it; so does all of it when we die (`check_worker`).
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from angelia.cancellation import cancel_and_wait
from angelia.core.entry import Checked, CheckOutcome
from angelia.core.errors import BadInput
from angelia.deadline import within
from angelia.service.batches.check_frames import GIVEN_UP, NobodyThere, receive, send
from angelia.service.batches.verdict import MOST_WORDS, verdict

MOST_OUTPUT = 10_000_000
"""Bytes that a check may write; who writes more is ended."""
_KEPT = 2_000
"""Bytes of its output that are told when it dies."""

Serve = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Does what a check asks for; its answer is what `CheckContext` reads."""


class CheckProcesses:
    """Those of a batch. `cwd` is where they begin."""

    def __init__(self) -> None:
        self._idle: dict[str, list[_CheckProcess]] = {}
        self._all: set[_CheckProcess] = set()

    async def check(self, file: str, told: Mapping[str, Any], serve: Serve, seconds: float) -> Checked:
        """What the check in `file` says of what it is told; it has so many seconds.

        Raises:
            BadInput: no process can be started for it.
        """
        idle = self._idle.setdefault(file, [])
        process = idle.pop() if idle else await self._started(file)
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            async with asyncio.timeout(seconds):
                came = await process.ask(told, serve)
        except TimeoutError:
            await self._end(process)
            why = f"The check did not end within {seconds:g} s, and was ended.{process.last_words()}"
            return Checked(CheckOutcome.HUNG, why=why, seconds=seconds)
        except BaseException:
            await self._end(process)
            raise
        took = loop.time() - began
        if came.outcome in (CheckOutcome.CRASHED, CheckOutcome.FLOODED):
            await self._end(process)
        else:
            idle.append(process)
        return Checked(came.outcome, came.score, came.why[:MOST_WORDS], took)

    async def _started(self, file: str) -> "_CheckProcess":
        process = await _CheckProcess.started(file)
        self._all.add(process)
        return process

    async def _end(self, process: "_CheckProcess") -> None:
        self._all.discard(process)
        await process.end()

    async def close(self) -> None:
        """End all of them."""
        for process in tuple(self._all):
            await self._end(process)
        self._idle.clear()


class _CheckProcess:
    """One process, what it writes, and the way to it.

    Its output comes by a pipe of ours: the end of a process whose pipes asyncio holds is told once they are read to
    their ends, and whoever floods is not read any more.
    """

    def __init__(self, process: asyncio.subprocess.Process, ours: socket.socket, output: int, life: int) -> None:
        self._process = process
        self._socket = ours
        self._output = output
        self._life = life
        self._written, self._kept = 0, b""
        self._flooded = asyncio.Event()

    @classmethod
    async def started(cls, file: str) -> "_CheckProcess":
        """Start one for the check in `file`, where that lies.

        Raises:
            BadInput: it cannot be started; says why.
        """
        at = Path(file).absolute()
        with ExitStack() as kept:
            try:
                with ExitStack() as given:
                    ours, theirs = socket.socketpair()
                    kept.callback(ours.close)
                    given.callback(theirs.close)
                    alive, life = _pipe(given, kept)
                    output, written = _pipe(kept, given)
                    process = await asyncio.create_subprocess_exec(
                        sys.executable,
                        *("-P", "-m", "angelia.service.batches.check_worker"),
                        *(str(theirs.fileno()), str(alive), str(at)),
                        stdin=asyncio.subprocess.DEVNULL,
                        stdout=written,
                        stderr=written,
                        cwd=at.parent,
                        pass_fds=(theirs.fileno(), alive),
                        start_new_session=True,
                    )
            except OSError as error:
                raise BadInput(f"The check {at} cannot be started: {error.strerror or error}.") from error
            kept.pop_all()
        made = cls(process, ours, output, life)
        await made._open()
        return made

    async def _open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(sock=self._socket)
        lines = asyncio.StreamReader()
        self._pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(self._output, "rb", buffering=0)
        )
        self._reading = asyncio.create_task(self._read(lines))

    async def ask(self, told: Mapping[str, Any], serve: Serve) -> Checked:
        """Let it check, and do what it asks for meanwhile."""
        self._written, self._kept = 0, b""
        talk = asyncio.create_task(self._talk(told, serve))
        flood = asyncio.create_task(self._flooded.wait())
        try:
            await asyncio.wait((talk, flood), return_when=asyncio.FIRST_COMPLETED)
            if flood.done():
                why = f"The check wrote more than {MOST_OUTPUT // 1_000_000} MB, and was ended.{self.last_words()}"
                return Checked(CheckOutcome.FLOODED, why=why)
            return await talk
        finally:
            await cancel_and_wait(talk, flood)

    async def _talk(self, told: Mapping[str, Any], serve: Serve) -> Checked:
        try:
            await send(self._writer, told)
            came = await receive(self._reader)
            while "ask" in came:
                came = await self._served(came, serve)
            return _read_verdict(came)
        except NobodyThere:
            await self._gone()
            return Checked(CheckOutcome.CRASHED, why=f"{self._end_told()}{self.last_words()}")

    async def _served(self, asked: Mapping[str, Any], serve: Serve) -> Any:
        """Do what it asks for, unless it gives that up or dies before; what it says next."""
        hearing = asyncio.ensure_future(receive(self._reader))
        if asked["ask"] == GIVEN_UP:  # too late: the reply is on its way
            return await hearing
        doing = asyncio.ensure_future(serve(asked))
        try:
            await asyncio.wait((doing, hearing), return_when=asyncio.FIRST_COMPLETED)
            if hearing.done() and not doing.done():
                hearing.result()
                await cancel_and_wait(doing)
                await send(self._writer, {"wrong": "it was given up"})
            else:
                await send(self._writer, doing.result())
            return await hearing
        finally:
            await cancel_and_wait(doing, hearing)

    def _end_told(self) -> str:
        code = self._process.returncode
        if code is None:
            return "The process of the check has closed its connection to us, and was ended."
        return f"The process of the check died ({f'signal {-code}' if code < 0 else f'exit code {code}'})."

    async def _gone(self) -> None:
        """Wait for its end and its last words, and no longer than that takes."""
        with suppress(TimeoutError):
            await within(2, self._process.wait())
            await within(2, self._reading)

    async def _read(self, output: asyncio.StreamReader) -> None:
        while data := await output.read(1 << 16):
            self._written += len(data)
            self._kept = (self._kept + data)[-_KEPT:]
            if self._written > MOST_OUTPUT:
                self._flooded.set()
                return

    def last_words(self) -> str:
        """What it wrote last, as the end of a sentence."""
        words = self._kept.decode(errors="replace").strip()[-500:]
        return f" It wrote last: {words}" if words else ""

    async def end(self) -> None:
        """Kill it, and all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await cancel_and_wait(self._reading)
        self._pipe.close()
        self._writer.close()
        os.close(self._life)
        await self._process.wait()


def _pipe(reader: ExitStack, writer: ExitStack) -> tuple[int, int]:
    """The two ends of a pipe, each closed with its stack."""
    read, written = os.pipe()
    reader.callback(os.close, read)
    writer.callback(os.close, written)
    return read, written


def _read_verdict(came: Mapping[str, Any]) -> Checked:
    if "lost" in came:
        return Checked(CheckOutcome.SANDBOX_GONE, why=f"The check lost its sandbox: {came['lost']}")
    if "crashed" in came:
        return Checked(CheckOutcome.CRASHED, why=str(came["crashed"]))
    return verdict(came.get("said"))
