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
from contextlib import suppress
from pathlib import Path
from typing import Any

from angelia.cancellation import cancel_and_wait
from angelia.core.entry import Checked, CheckOutcome
from angelia.deadline import within
from angelia.service.batches.check_frames import receive, send
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
        """What the check in `file` says of what it is told; it has so many seconds."""
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
        """Start one for the check in `file`, where that lies."""
        at = Path(file).absolute()
        ours, theirs = socket.socketpair()
        alive, life = os.pipe()
        output, written = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-P", "-m", "angelia.service.batches.check_worker", str(theirs.fileno()), str(alive), str(at)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=written,
                stderr=written,
                cwd=at.parent,
                pass_fds=(theirs.fileno(), alive),
                start_new_session=True,
            )
        finally:
            theirs.close()
            for descriptor in (alive, written):
                os.close(descriptor)
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
            while True:
                came = await receive(self._reader)
                if "ask" not in came:
                    return _read_verdict(came)
                await send(self._writer, await serve(came))
        except (EOFError, OSError, ValueError):
            await self._gone()
            code = self._process.returncode
            how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
            why = f"The process of the check died ({how}).{self.last_words()}"
            return Checked(CheckOutcome.CRASHED, why=why)

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


def _read_verdict(came: Mapping[str, Any]) -> Checked:
    if "lost" in came:
        return Checked(CheckOutcome.SANDBOX_GONE, why=f"The check lost its sandbox: {came['lost']}")
    if "crashed" in came:
        return Checked(CheckOutcome.CRASHED, why=str(came["crashed"]))
    return verdict(came.get("said"))
