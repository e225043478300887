"""Tasks that servers have taken on for calls: followed in the call for a while, and behind its result from then on.

The task's id is written down before it is waited for, so that a life that comes after a crash follows it further
instead of calling once more. What is followed behind a result ends with the conversation here: its end is told then as
unknown, since the server may go on.
"""

import asyncio
import logging
from typing import Protocol

from msgspec import Struct

from angelia.cancellation import cancel_and_wait
from angelia.core.content import CallStatus, Text
from angelia.core.entry import WorkKind
from angelia.core.errors import AngeliaError
from angelia.core.ids import CallId
from angelia.deadline import within
from angelia.policy.verdict import OfServer
from angelia.tools.asking import PersonReply
from angelia.tools.mcp.call_person import NOBODY, CallPerson
from angelia.tools.mcp.connection import McpConnection
from angelia.tools.mcp.failures import ServerLost, ServerRefused, Unavailable
from angelia.tools.mcp.results import ResultContext, outcome_of
from angelia.tools.mcp.task_look import TaskLook
from angelia.tools.port import CallAccess, ProgressAccess, ToolOutcome, Work, WorkAccess

PATIENCE_S = 20.0
"""Seconds for which a call waits for its task; then the task goes on behind its result."""

AWAY_S = 600.0
"""Seconds for which a server may be out of reach until its task is given up."""

RETRY_S = 2.0
CANCEL_S = 5.0
"""Seconds between two looks at a server that is away, and in which it hears that a task is not wanted any more."""

logger = logging.getLogger("angelia.tools")


class TaskContext(ResultContext, CallAccess, ProgressAccess, WorkAccess, Protocol):
    """What following a task uses of its call."""


class RemoteTask:
    """One task, followed to its end by whoever waits for `end`."""

    def __init__(self, server: McpConnection, task: str, tool: str, context: TaskContext) -> None:
        self.work = Work(WorkKind.REMOTE_TASK, f"{server.server.name}: {tool}")
        self._server, self._task = server, task
        self._context = context
        self._answered: set[str] = set()
        self._said = ""
        self._away_since = 0.0

    async def end(self, person: CallPerson) -> ToolOutcome:
        """What it came to; what it asks meanwhile is put to `person`."""
        while True:
            try:
                look = await self._server.look_at_task(self._task, person)
                self._away_since = 0.0
            except ServerRefused as refused:
                return self._unknown(f"cannot say what became of it: {refused.said}")
            except (ServerLost, Unavailable) as away:
                if not self._patient():
                    return self._unknown(f"cannot be reached any more: {away}")
                await asyncio.sleep(RETRY_S)
                continue
            if look.result is not None:
                return await outcome_of(look.result, self._context)
            if look.fault:
                said = f"The MCP server {self._server.server.name} had taken this on as a task, and {look.fault}."
                return ToolOutcome((Text(said),), CallStatus.ERROR)
            await self._meanwhile(look, person)
            await asyncio.sleep(look.pause_s)

    async def _meanwhile(self, look: TaskLook, person: CallPerson) -> None:
        if look.said and look.said != self._said:
            self._said = look.said
            self._context.progress(f"{look.said}\n")
        if fresh := {key: one for key, one in look.asked.items() if key not in self._answered}:
            try:
                await self._server.answer_task(self._task, fresh, person)
                self._answered.update(fresh)
            except (ServerRefused, ServerLost, Unavailable):
                logger.warning("an answer for a task of %s was not taken", self._server.server.name)

    def _patient(self) -> bool:
        now = asyncio.get_running_loop().time()
        self._away_since = self._away_since or now
        return now - self._away_since < AWAY_S

    def _unknown(self, why: str) -> ToolOutcome:
        taken = f"The MCP server {self._server.server.name} has taken this on as a task, and {why}."
        said = f"{taken} It may or may not have taken effect; check before repeating it."
        return ToolOutcome((Text(said),), CallStatus.UNKNOWN)

    def left(self) -> ToolOutcome:
        """Nobody looks at it any more."""
        return self._unknown("nobody looks at it any more, since the conversation was left")

    async def cancel(self) -> None:
        """Say that it is not wanted any more, if the server can be reached soon."""
        try:
            await within(CANCEL_S, self._server.cancel_task(self._task))
        except (TimeoutError, ServerRefused, ServerLost, Unavailable) as fault:
            logger.info("a task of %s could not be cancelled: %s", self._server.server.name, fault)


def _waiting(person: CallPerson, patience: asyncio.Timeout) -> CallPerson:
    """The same person, whose time is none of a call's patience."""

    async def ask(effect: OfServer) -> PersonReply:
        patience.reschedule(None)
        try:
            return await person.ask(effect)
        finally:
            patience.reschedule(asyncio.get_running_loop().time() + PATIENCE_S)

    return CallPerson(ask, person.note)


class _Followed(Struct, frozen=True):
    """A task behind the result of its call."""

    task: RemoteTask
    context: TaskContext


class RemoteTasks:
    """The tasks of one conversation in this life of ours."""

    def __init__(self) -> None:
        self._behind: dict[CallId, _Followed] = {}
        self._watching: set[asyncio.Task[None]] = set()

    async def follow(self, task: RemoteTask, context: TaskContext, person: CallPerson) -> ToolOutcome:
        """Wait for the end of a task; after a while it goes on behind the result, where nobody can be asked.

        Whoever is cancelled while waiting has it taken back at the server.
        """
        try:
            async with asyncio.timeout(PATIENCE_S) as patience:
                return await task.end(_waiting(person, patience))
        except TimeoutError:
            pass
        except asyncio.CancelledError:
            await task.cancel()
            raise
        followed = self._behind[context.call] = _Followed(task, context)
        watch = asyncio.create_task(self._watch(followed))
        self._watching.add(watch)
        watch.add_done_callback(self._watching.discard)
        said = f"The MCP server goes on with this as a task ({task.work.what}); you are told when it has ended."
        return ToolOutcome((Text(said),), goes_on=task.work)

    async def _watch(self, followed: "_Followed") -> None:
        try:
            outcome = await followed.task.end(NOBODY)
        except AngeliaError as error:  # what it came to could not be stored
            outcome = ToolOutcome((Text(str(error)),), CallStatus.ERROR)
        await self._hand_in(followed, outcome)

    async def _hand_in(self, followed: "_Followed", outcome: ToolOutcome) -> None:
        """Tell the end, once."""
        if self._behind.pop(followed.context.call, None) is None:
            return
        try:
            await followed.context.later(followed.task.work, outcome)
        except AngeliaError:  # the next life finds that it was begun and has not ended
            logger.exception("the end of %s could not be told", followed.context.call)

    async def end(self, call: CallId) -> bool:
        """Have the one that this call began taken back; False where there is none. Its end is told as any other."""
        found = self._behind.get(call)
        if found is None:
            return False
        await found.task.cancel()
        return True

    async def close(self) -> None:
        """Look at none of them any more, and wait until that is told."""
        await cancel_and_wait(*self._watching)
        for followed in tuple(self._behind.values()):
            await self._hand_in(followed, followed.task.left())
