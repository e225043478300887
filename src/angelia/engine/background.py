"""What a call left running: its beginning and its end are facts, and the end is told once, whatever dies."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import assert_never

from msgspec import Struct, structs

from angelia.cancellation import end_if_cancelled
from angelia.core import entry as e
from angelia.core.content import CallStatus, Content, Text, ToolCall
from angelia.core.crash import crash_point
from angelia.core.ending import Answered
from angelia.core.errors import StoreError, passes
from angelia.core.ids import CallId, ConversationId, delivery_id
from angelia.core.text import clean, one_line
from angelia.engine.log import Log
from angelia.store.log.lease import Lease
from angelia.tools.port import ToolOutcome, Work

logger = logging.getLogger("angelia.engine")

_AGAIN_S = 5.0
"""Seconds until an end that could not be stored is told again."""


class ChildEnding(Struct, frozen=True):
    """How a child conversation ended, and whether a call of the running turn waits for that."""

    end: e.ChildEnd
    awaited: bool


class Background:
    """The work behind one conversation's results. `life` names this process of ours to those that come after it;
    `changed` tells once which files a call has changed.
    """

    def __init__(
        self,
        log: Log,
        redact: Callable[[str], str],
        life: Callable[[], str],
        changed: Callable[[CallId], Sequence[e.FilesChanged]],
    ) -> None:
        self._log = log
        self._redact = redact
        self._life = life
        self._work = BackgroundWork()
        self._told = set[CallId]()
        self._changed = changed
        self._unsaid = dict[CallId, Sequence[e.FilesChanged]]()
        self._leaving = asyncio.Event()
        self._telling = set[asyncio.Task[None]]()

    def leave(self) -> None:
        """The conversation is about to be left: what cannot be told now is found by the next life."""
        self._leaving.set()

    def facts(self, call: ToolCall, outcome: ToolOutcome) -> list[e.AnyFact]:
        """What a result says of work, for the commit that holds it. An end that was told is not told again."""
        if work := outcome.goes_on:
            return [e.WorkStarted(call.id, work.kind, self._redact(clean(work.what)), self._life())]
        if outcome.opens:
            return [self._opened(child) for child in outcome.opens]
        going_on = {fact.call: fact for fact in self._work.now(self._log.entries)}
        if (begun := going_on.get(outcome.ended)) and begun.call not in self._told:
            self._told.add(begun.call)
            return [e.WorkEnded(begun.call, begun.work, outcome.status, told_by=call.id)]
        return []

    def told_in_vain(self, outcome: ToolOutcome, address: e.Address) -> None:
        """A result that may tell an end was not stored, or nobody knows whether it was: what has ended is told by
        itself, for whoever looked at it has it no more.
        """
        begun = next((one for one in self._work.now(self._log.entries) if one.call == outcome.ended), None)
        if begun:
            self._told.discard(begun.call)
            telling = asyncio.create_task(self._tell(begun, outcome, address))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)

    async def _tell(self, begun: e.WorkStarted, outcome: ToolOutcome, address: e.Address) -> None:
        try:
            with suppress(StoreError):
                await self._log.refresh()
            await self.ended_in_the_end(begun.call, Work(begun.work, begun.what), outcome, address)
        except StoreError:  # the next life finds that it was begun and has not ended
            logger.exception("the end of %s could not be told", begun.call)

    def _opened(self, child: e.Child) -> e.WorkStarted:
        safe = structs.replace(child, task=self._redact(clean(child.task)))
        what = one_line(safe.task, 200)
        return e.WorkStarted(CallId(child.terms.name), e.WorkKind.CHILD, what, self._life(), safe)

    def notices(self, call: CallId, outcome: ToolOutcome, address: e.Address) -> list[e.AnyFact]:
        """What the person is told besides, as one message for the commit that holds the result."""
        if not outcome.notices:
            return []
        text = self._redact(clean("\n".join(outcome.notices)))
        name = delivery_id(self._log.conversation, f"{call}.notices")
        return [e.DeliveryQueued(name, address, (Text(text),), "notice")]

    def own(self, call: CallId, command: str) -> e.WorkStarted:
        """A command of the person's own is about to run: whatever dies once this is in the log, its end is told."""
        return e.WorkStarted(call, e.WorkKind.OWN_COMMAND, self._redact(clean(command)), self._life())

    async def ended_in_the_end(self, call: CallId, work: Work, outcome: ToolOutcome, address: e.Address) -> None:
        """As `ended`, where nobody waits for it: while the store fails, such as on a full disk, it is tried again.

        Raises:
            StoreError: it was not told, and the conversation is left.
        """
        while True:
            try:
                return await self.ended(call, work, outcome, address)
            except StoreError as error:
                end_if_cancelled()
                if self._leaving.is_set() or not passes(error):
                    raise
                logger.warning("the end of %s in %s is told later: %s", call, self._log.conversation, error)
            with suppress(TimeoutError):
                async with asyncio.timeout(_AGAIN_S):
                    await self._leaving.wait()
            with suppress(StoreError):  # of some failures nobody knows whether it was stored
                await self._log.refresh()

    async def ended(
        self, call: CallId, work: Work, outcome: ToolOutcome, address: e.Address, child: ChildEnding | None = None
    ) -> None:
        """The work that `call` left going on has ended: the model reads it with its next request, and the person is
        told at `address`, unless the running turn waits for this `child`, or it is a command of their own, whose end
        they see where they typed it. Nothing happens where that was told, here or by a result.

        Raises:
            StoreError: it was not told, and can be told again.
        """
        if call in self._told or self._work.is_over(call, self._log.entries):
            return
        self._told.add(call)
        parts = tuple(cleaned(part, self._redact) for part in outcome.parts)
        fact = e.WorkEnded(call, work.kind, outcome.status, parts, outcome.full, child=child.end if child else None)
        told = [notice(self._log.conversation, fact, self._redact(clean(work.what)), address)]
        crash_point("work.ended")
        awaited = child is not None and child.awaited
        seen = work.kind is e.WorkKind.OWN_COMMAND
        notices = [] if awaited else [*([] if seen else told), *self.notices(call, outcome, address)]
        changed = self._unsaid.pop(call, None) or self._changed(call)
        try:
            await self._log.append(fact, *changed, *notices)
        except StoreError:
            self._told.discard(call)
            self._unsaid[call] = changed
            raise
        crash_point("work.told")


class BackgroundWork:
    """What goes on behind the results of one conversation, as far as its log tells; only what is new is looked at."""

    def __init__(self) -> None:
        self._begun: dict[CallId, e.WorkStarted] = {}
        self._over: set[CallId] = set()
        self._seen = 0

    def now(self, log: Sequence[e.Entry]) -> list[e.WorkStarted]:
        """What was begun and has not ended; a quick end may stand before its beginning."""
        self._look(log)
        return [fact for call, fact in self._begun.items() if call not in self._over]

    def is_over(self, call: CallId, log: Sequence[e.Entry]) -> bool:
        """Whether the end of what this call left going on is in the log."""
        self._look(log)
        return call in self._over

    def _look(self, log: Sequence[e.Entry]) -> None:
        for entry in log[self._seen :]:
            if isinstance(entry.fact, e.WorkStarted):
                self._begun[entry.fact.call] = entry.fact
            elif isinstance(entry.fact, e.WorkEnded):
                self._over.add(entry.fact.call)
        self._seen = len(log)


async def lose(log: Log, lost: Sequence[e.WorkStarted], lease: Lease) -> None:
    """Note what nobody holds or watches any more since a life has ended, and tell whoever spoke last."""
    spoken = (entry.fact for entry in reversed(log.entries) if isinstance(entry.fact, e.Opening))
    said = next(spoken, e.UserSaid(()))
    facts: list[e.AnyFact] = []
    for started in lost:
        fact = e.WorkEnded(started.call, started.work, CallStatus.UNKNOWN, (Text(_lost(started.work)),))
        facts += [fact, notice(log.conversation, fact, started.what, said.address)]
    await log.append(*facts, lease=lease)


def _lost(kind: e.WorkKind) -> str:
    match kind:
        case e.WorkKind.PROCESS | e.WorkKind.OWN_COMMAND:
            return (
                "It ended together with the process of Angelia that held it. It may or may not have done its work: "
                "look before you start it again."
            )
        case e.WorkKind.REMOTE_TASK | e.WorkKind.CHILD:
            return (
                "The process of Angelia that watched it has ended. It may still go on where it runs, or be done: look "
                "there before you start it again."
            )
        case _:
            assert_never(kind)


def notice(conversation: ConversationId, ended: e.WorkEnded, what: str, address: e.Address) -> e.DeliveryQueued:
    """What the person reads of an end: of what, and how."""
    said = "".join(part.text for part in ended.parts if isinstance(part, Text)).rstrip()
    last = said if ended.child else said.rpartition("\n")[2].strip("[]")
    text = f"{_named(ended, what)}: {one_line(last, 300)}"
    return e.DeliveryQueued(delivery_id(conversation, f"{ended.call}.end"), address, (Text(text),), "notice")


def _named(ended: e.WorkEnded, what: str) -> str:
    match ended.work:
        case e.WorkKind.PROCESS:
            return f"The background command `{one_line(what, 100)}` has ended"
        case e.WorkKind.OWN_COMMAND:
            return f"Your command `{one_line(what, 100)}` was cut off"
        case e.WorkKind.REMOTE_TASK if ended.status is CallStatus.UNKNOWN:
            return f"The remote task `{one_line(what, 100)}` is not watched any more"
        case e.WorkKind.REMOTE_TASK:
            return f"The remote task `{one_line(what, 100)}` has ended"
        case e.WorkKind.CHILD:
            answered = ended.child is not None and isinstance(ended.child.ending, Answered)
            how = "has answered" if answered else "has ended without an answer"
            return f"The helper {ended.call} ({one_line(what, 100)}) {how}"
        case _:
            assert_never(ended.work)


def cleaned(part: Content, redact: Callable[[str], str]) -> Content:
    """A part as it may be stored: text that can be encoded, without known secrets."""
    return structs.replace(part, text=redact(clean(part.text))) if isinstance(part, Text) else part
