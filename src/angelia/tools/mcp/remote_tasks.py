"""Tasks that servers have taken on for calls: followed in the call for a while, and behind its result from then on.

The task's id is written down before it is waited for, so that a life that comes after a crash follows it further
instead of calling once more. What is followed behind a result ends with the conversation here: its end is told then as
unknown, since the server may go on. So is the end of one that was to be taken back, and whose server did not hear of it
for too long.
"""

import asyncio
import logging

from msgspec import Struct

from angelia.cancellation import cancel_and_wait
from angelia.core.content import CallStatus, Text
from angelia.core.errors import AngeliaError, StoreError
from angelia.core.ids import CallId
from angelia.policy.verdict import OfServer
from angelia.tools.asking import PersonReply
from angelia.tools.mcp.call_person import NOBODY, CallPerson
from angelia.tools.mcp.remote_task import STOP_S, RemoteTask, TaskContext
from angelia.tools.port import CallStopped, ToolOutcome

PATIENCE_S = 20.0
"""Seconds for which a call waits for its task; then the task goes on behind its result."""

INSIST_S = 600.0
"""Seconds for which a server is told again and again that a task is not wanted."""

logger = logging.getLogger("angelia.tools")


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
        self._watching: dict[CallId, asyncio.Task[None]] = {}
        self._insisting: dict[CallId, asyncio.Task[None]] = {}

    async def follow(self, task: RemoteTask, context: TaskContext, person: CallPerson) -> ToolOutcome:
        """Wait for the end of a task; after a while it goes on behind the result, where nobody can be asked.

        Whoever is cancelled while waiting has it taken back at the server.

        Raises:
            CallStopped: it was to be taken back, and perhaps still goes on.
        """
        try:
            await task.keep()
            async with asyncio.timeout(PATIENCE_S) as patience:
                return await task.end(_waiting(person, patience))
        except TimeoutError:
            pass
        except asyncio.CancelledError:
            if known := await task.stop():
                raise self._stopped(task, context, known) from None
            raise
        except StoreError as error:  # nobody would know of it after a crash
            known = await task.stop()
            return ToolOutcome((Text(f"{error} {known}".strip()),), CallStatus.UNKNOWN if known else CallStatus.ERROR)
        self._go_on(task, context)
        said = f"The MCP server goes on with this as a task ({task.work.what}); you are told when it has ended."
        return ToolOutcome((Text(said),), goes_on=task.work)

    def _stopped(self, task: RemoteTask, context: TaskContext, known: str) -> CallStopped:
        if task.refused:
            return CallStopped(ToolOutcome((Text(known),), CallStatus.CANCELLED, notices=(known,)))
        followed = self._go_on(task, context)
        if task.unheard:
            self._insist(followed)
            known = f"{known} It is told again for a while."
        told = (Text(f"{known} You are told when it has ended."),)
        return CallStopped(ToolOutcome(told, CallStatus.CANCELLED, goes_on=task.work, notices=(known,)))

    def _go_on(self, task: RemoteTask, context: TaskContext) -> _Followed:
        followed = self._behind[context.call] = _Followed(task, context)
        self._watching[context.call] = asyncio.create_task(self._watch(followed))
        return followed

    async def _watch(self, followed: _Followed) -> None:
        try:
            outcome = await followed.task.end(NOBODY)
        except AngeliaError as error:  # what it came to could not be stored
            outcome = ToolOutcome((Text(str(error)),), CallStatus.ERROR)
        await self._hand_in(followed, outcome)
        self._watching.pop(followed.context.call, None)

    async def _hand_in(self, followed: _Followed, outcome: ToolOutcome) -> None:
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
        await found.task.tell_unwanted(STOP_S)
        if found.task.unheard:
            self._insist(found)
        return True

    def _insist(self, followed: _Followed) -> None:
        call = followed.context.call
        if call not in self._insisting:
            self._insisting[call] = asyncio.create_task(self._until_heard(followed))

    async def _until_heard(self, followed: _Followed) -> None:
        """Tell the server until it hears that a task is not wanted; if it never does, nobody watches it any more."""
        call = followed.context.call
        try:
            await followed.task.tell_unwanted(INSIST_S)
            if followed.task.unheard:
                await self._hand_in(followed, followed.task.not_taken_back())
                await cancel_and_wait(self._watching.get(call))
        finally:
            self._insisting.pop(call, None)

    async def close(self) -> None:
        """Look at none of them any more, and wait until that is told."""
        await cancel_and_wait(*self._watching.values(), *self._insisting.values())
        for followed in tuple(self._behind.values()):
            await self._hand_in(followed, followed.task.left())
