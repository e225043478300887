"""Commands that are running for a conversation: their output as it comes, their end, and how both are told."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from signal import Signals
from typing import BinaryIO, Protocol

from angelia.core.content import CallStatus, Text
from angelia.core.counts import counted
from angelia.core.entry import WorkKind
from angelia.core.errors import AngeliaError
from angelia.core.ids import CallId
from angelia.sandboxes.port import Command, Exit, Running
from angelia.tools.blob_names import pointer
from angelia.tools.port import BlobAccess, CallAccess, ToolOutcome, Work, WorkAccess
from angelia.tools.shell.output import LiveOutput, Unseen, head_and_tail
from angelia.tools.shell.spool import Spool

logger = logging.getLogger("angelia.tools")


_LEFT_BEHIND = "[whatever & left running was ended with its command; background=true keeps a command running]"


class Process:
    """One running command. Its output is read from the moment it starts, so that it never blocks on a full pipe."""

    def __init__(
        self,
        running: Running,
        command: Command,
        scratch: Callable[[], BinaryIO],
        show: Callable[[str], None] | None = None,
    ) -> None:
        """`show` is handed its output as plain text while it comes; `scratch` opens files for what is long."""
        self.command = command
        self.whole = Spool(scratch)
        self.fresh = Unseen()
        self.looked_at = asyncio.Lock()
        self._running = running
        self._show = show
        self._end = asyncio.create_task(self._follow())
        self._end.add_done_callback(_seen)

    @property
    def work(self) -> Work:
        """It as work that goes on behind a result."""
        return Work(WorkKind.PROCESS, self.command.shell)

    async def _follow(self) -> Exit:
        live = LiveOutput()
        async for chunk in self._running.output():
            self.whole.feed(chunk)
            self.fresh.feed(chunk)
            if self._show is not None and (text := live.feed(chunk)):
                self._show(text)
        return await self._running.wait()

    def ended(self) -> Exit | AngeliaError | None:
        """How it ended: an exit, the sandbox's failure, or None while it runs."""
        if not self._end.done():
            return None
        failure = self._end.exception()
        if failure is None:
            return self._end.result()
        if isinstance(failure, AngeliaError):
            return failure
        raise failure

    async def wait(self, seconds: float | None = None) -> None:
        """Wait for the end, at most `seconds`; being cancelled here does not end the process."""
        await asyncio.wait({self._end}, timeout=seconds)

    async def kill(self) -> None:
        """End the whole process tree, and wait until it has ended."""
        await self._running.kill()
        await self.wait()

    def take_fresh(self) -> str:
        """What was written since the last look, both ends of it when it is long."""
        fresh, self.fresh = self.fresh, Unseen()
        return fresh.text()


class BackgroundContext(BlobAccess, CallAccess, WorkAccess, Protocol):
    """What a command in the background uses of its call."""


class BackgroundCommands:
    """The background processes of one conversation in this life of ours; `known` has them by id.

    The call's own id names the process: it is unique in the conversation, also after a restart.
    """

    def __init__(self) -> None:
        self.known: dict[str, Process] = {}
        self._handing_in = set[asyncio.Task[None]]()

    def keep(self, process: Process, context: BackgroundContext) -> None:
        """Keep a process that goes on behind its call, and hand in its end unless a look at it has told it."""
        self.known[context.call] = process
        task = asyncio.create_task(self._hand_in(process, context))
        self._handing_in.add(task)
        task.add_done_callback(self._handing_in.discard)

    async def _hand_in(self, process: Process, context: BackgroundContext) -> None:
        await process.wait()
        async with process.looked_at:
            if self.known.pop(context.call, None) is None:
                return
            try:
                await context.later(process.work, await outcome_of(process, context, fresh=process.take_fresh()))
            except AngeliaError:  # the next life finds that it was begun and has not ended
                logger.exception("the end of %s could not be told", context.call)

    async def end_one(self, call: CallId) -> bool:
        """End the one that this call began; False where there is none."""
        process = self.known.get(call)
        if process is None:
            return False
        await process.kill()
        return True

    async def end(self) -> None:
        """End all of them, and wait until every end is handed in."""
        running = [process.kill() for process in self.known.values() if process.ended() is None]
        await asyncio.gather(*running, return_exceptions=True)
        await self.all_told()

    async def all_told(self) -> None:
        """Wait until the end of everything that has been kept is handed in."""
        await asyncio.gather(*self._handing_in, return_exceptions=True)


def told(ended: Exit | AngeliaError, limit: float) -> str:
    """How a command ended, in one line. Without its duration: equal runs must read equal, for the loop guard."""
    if isinstance(ended, AngeliaError):
        return f"[{ended}]"
    if ended.timed_out:
        return f"[timed out after {limit:g} s: the whole process tree was ended; use background=true for long work]"
    if ended.signal:
        perhaps = _PERHAPS.get(ended.signal, "")
        return f"[ended by signal {ended.signal} ({_signal_name(ended.signal)}){perhaps}]"
    return f"[exit status {ended.status}]"


async def outcome_of(process: Process, context: BlobAccess, *, fresh: str | None = None) -> ToolOutcome:
    """An ended command as a result: both ends of its output, or of the `fresh` part where the rest was seen already;
    the whole is kept where that is longer.
    """
    from angelia.policy.shell.parser import leaves_behind  # a conversation without commands reads none

    ended = process.ended()
    if ended is None:
        return ToolOutcome((Text(f"{head_and_tail(fresh or '').rstrip() or '(no new output)'}\n[still running]"),))
    kept = await process.whole.keep(context.blobs)
    process.whole.close()
    where = pointer(kept.full) if kept.full else ""
    way = "shows what was kept" if kept.lost else "shows the whole"
    text = kept.ends.shown(where, way) if fresh is None else head_and_tail(fresh, pointer=where)
    said_by_sandbox = ended.notes if isinstance(ended, Exit) else ()
    notes = [*(f"[{note}]" for note in said_by_sandbox), told(ended, process.command.seconds)]
    if leaves_behind(process.command.shell):
        notes.insert(0, _LEFT_BEHIND)
    if kept.lost:
        notes.insert(0, f"[{kept.lost}]")
    if kept.full and fresh is not None and where not in text:
        notes.append(f"[the whole output, {counted(kept.ends.lines + 1, 'line')}: read {where}]")
    good = isinstance(ended, Exit) and ended.status == 0 and not ended.timed_out
    said = "\n".join([text.rstrip() or "(no output)", *notes])
    notices = (*(ended.notices if isinstance(ended, Exit) else ()), *((f"{kept.lost}.",) if kept.lost else ()))
    return ToolOutcome((Text(said),), CallStatus.OK if good else CallStatus.ERROR, kept.full, notices=notices)


def _seen(end: asyncio.Task[Exit]) -> None:
    """A failure is told at the next look; where nobody looks again, asyncio need not complain of it."""
    if not end.cancelled():
        end.exception()


_PERHAPS: Mapping[int, str] = {
    Signals.SIGKILL: ": by somebody, or for using more memory than it may",
    Signals.SIGXFSZ: ": for writing a larger file than it may (sandbox.local.file_mb)",
}


def _signal_name(number: int) -> str:
    try:
        return Signals(number).name
    except ValueError:  # a real-time signal, or another system's number
        return "unnamed"
