"""A task that a server has taken on for a call: followed to its end, or taken back."""

import asyncio
from contextlib import suppress
from itertools import chain, repeat
from typing import TYPE_CHECKING, Protocol

from angelia.core.content import CallStatus, Text
from angelia.core.crash import crash_point
from angelia.core.entry import WorkKind
from angelia.deadline import within
from angelia.tools.mcp.call_person import NOBODY, CallPerson
from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.failures import ServerLost, ServerRefused, Unavailable
from angelia.tools.mcp.results import ResultContext, outcome_of
from angelia.tools.mcp.task_look import TaskLook
from angelia.tools.port import CallAccess, ProgressAccess, ToolOutcome, Work, WorkAccess
from angelia.tools.submitted_jobs import JobAccess, SubmittedJob

if TYPE_CHECKING:
    import mcp_types as types

AWAY_S = 600.0
"""Seconds for which a server may be out of reach until its task is given up."""

REFUSED_S = 60.0
"""Seconds for which it may say that it cannot answer now, such as for a rate limit."""

RETRY_S = 2.0
"""Seconds between two looks at a server that is away."""

STOP_S = 5.0
"""Seconds for which whoever stops a task waits until it has ended."""

_PAUSES = (0.1, 0.3, 0.6, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds before a server is told once more that a task is not wanted, or asked whether it has ended; the last one
again and again.
"""

_SILENT = "it does not answer"


class TaskContext(ResultContext, CallAccess, ProgressAccess, WorkAccess, JobAccess, Protocol):
    """What following a task uses of its call."""


class RemoteTask:
    """One task, followed to its end by whoever waits for `end`.

    `unheard` is why its server has not taken it that nobody wants it any more, the end of a sentence; empty where it
    has, or where it is wanted. `refused`: asking again would change nothing of that.
    """

    def __init__(self, server: McpConnection, task: str, tool: str, context: TaskContext) -> None:
        self.work = Work(WorkKind.REMOTE_TASK, f"{server.server.name}: {tool}")
        self.unheard, self.refused = "", False
        self._server, self._task = server, task
        self._context = context
        self._answers: dict[str, types.ElicitResult] = {}
        self._handed_in: set[str] = set()
        self._said = ""
        self._away_since = 0.0
        self._moved = asyncio.Event()

    @property
    def _who(self) -> str:
        return f"The MCP server {self._server.server.name}"

    # -- followed -----------------------------------------------------------------------------------------------

    async def keep(self) -> None:
        """Write it down, unless an earlier life has."""
        if not self._context.submitted.job:
            crash_point("mcp.task_taken")
            await self._context.submit(SubmittedJob(f"the MCP server {self._server.server.name}", self._task))
        crash_point("mcp.task_kept")

    async def end(self, person: CallPerson) -> ToolOutcome:
        """What it came to; what it asks meanwhile is put to `person`."""
        while True:
            try:
                look = await self._server.look_at_task(self._task, person)
                self._away_since = 0.0
            except ServerRefused as refused:
                if not (refused.passes and self._patient(REFUSED_S)):
                    return self._unknown(f"cannot say what became of it: {refused.said}")
                await asyncio.sleep(RETRY_S)
                continue
            except (ServerLost, Unavailable) as away:
                if not self._patient(AWAY_S):
                    return self._unknown(f"cannot be reached any more: {away}")
                await asyncio.sleep(RETRY_S)
                continue
            if look.result is not None:
                return await outcome_of(look.result, self._context)
            if look.fault:
                said = f"{self._who} had taken this on as a task, and {look.fault}."
                return ToolOutcome((Text(said),), CallStatus.ERROR)
            await self._meanwhile(look, person)
            await self._pause(look.pause_s)

    async def _pause(self, seconds: float) -> None:
        """Until it is to be looked at again."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._moved.wait()
        self._moved.clear()

    async def _meanwhile(self, look: TaskLook, person: CallPerson) -> None:
        if look.said and look.said != self._said:
            self._said = look.said
            self._context.progress(f"{look.said}\n")
        for key, params in look.asked.items():
            if key not in self._answers:
                self._answers[key] = await self._server.asked_of(person, params)
        if open_ := {key: self._answers[key] for key in look.asked if key not in self._handed_in}:
            await self._hand_in(open_, person)

    async def _hand_in(self, answers: "dict[str, types.ElicitResult]", person: CallPerson) -> None:
        """Give the server what was answered; where it does not take that, it gets the same at the next look."""
        try:
            await self._server.answer_task(self._task, answers)
        except (ServerLost, Unavailable):
            return
        except ServerRefused as refused:
            if refused.passes:
                return
            person.note(f"{self._who} did not take the answer to what it had asked: {refused.said}")
        self._handed_in.update(answers)

    def _patient(self, seconds: float) -> bool:
        now = asyncio.get_running_loop().time()
        self._away_since = self._away_since or now
        return now - self._away_since < seconds

    def _unknown(self, why: str) -> ToolOutcome:
        said = f"{self._who} has taken this on as a task, and {why}. It may or may not have taken effect; check before"
        return ToolOutcome((Text(f"{said} repeating it."),), CallStatus.UNKNOWN)

    # -- taken back ---------------------------------------------------------------------------------------------

    async def tell_unwanted(self, seconds: float) -> None:
        """Tell its server that nobody wants it any more, and again for up to so many seconds where it does not take
        that; `unheard` says what came of it.
        """
        self.unheard, self.refused = self.unheard or _SILENT, False
        with suppress(TimeoutError):
            await within(seconds, self._until_heard())

    async def _until_heard(self) -> None:
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            try:
                await self._server.cancel_task(self._task)
                self.unheard = ""
                self._moved.set()
                return
            except ServerRefused as refused:
                self.unheard, self.refused = f"it refuses that: {refused.said}", not refused.passes
            except (ServerLost, Unavailable) as away:
                self.unheard = f"it cannot be reached: {away}".rstrip(".")
            if await self._is_over():  # it need not take that of one that has ended
                self.unheard, self.refused = "", False
                self._moved.set()
            if self.refused or not self.unheard:
                return
            await asyncio.sleep(pause)

    async def stop(self) -> str:
        """Have it end at once; what is known of it if it has not after some seconds, in sentences, empty if it has."""
        self.unheard, self.refused = self.unheard or _SILENT, False
        with suppress(TimeoutError):
            if await within(STOP_S, self._until_over()):
                return ""
        if self.unheard:
            return self._still_there()
        return f"{self._who} was told to end the task that it made of this, and has not ended it yet."

    async def _until_over(self) -> bool:
        """Whether it has ended; False where its server refuses to end it."""
        await self._until_heard()
        for pause in chain(_PAUSES, repeat(_PAUSES[-1])):
            if self.unheard or await self._is_over():
                break
            await asyncio.sleep(pause)
        return not self.unheard

    async def _is_over(self) -> bool:
        try:
            look = await self._server.look_at_task(self._task, NOBODY)
        except (ServerRefused, ServerLost, Unavailable):
            return False
        return look.result is not None or bool(look.fault)

    def _still_there(self) -> str:
        told = f"could not be told to end the task that it made of this ({self.unheard})"
        return f"{self._who} {told}. It perhaps still goes on there."

    def not_taken_back(self) -> ToolOutcome:
        """Its server is not told any more."""
        return ToolOutcome((Text(f"{self._still_there()} Look there before you start it again."),), CallStatus.UNKNOWN)

    def left(self) -> ToolOutcome:
        """Nobody looks at it any more."""
        if self.unheard:
            return self.not_taken_back()
        return self._unknown("nobody looks at it any more, since the conversation was left")
