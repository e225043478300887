"""Drives the children of one conversation, side by side, for as long as it is open here.

The parent's log decides. A child that stands there without an end is opened (once, by the key of its task), driven
until its turn is closed, and told of; a process that dies leaves nothing that the next one does not find. A child's
questions are put in the parent's log, under its name, and the answers given there are handed on.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.core import entry as e
from angelia.core.asked import asked_by
from angelia.core.crash import crash_point
from angelia.core.errors import AngeliaError, fault_words, passes
from angelia.core.ids import CallId, ConversationId, PlaceId
from angelia.core.principal import ANGELIA
from angelia.engine.attachments import Place
from angelia.engine.background import Background, ChildEnding
from angelia.engine.live import Working
from angelia.policy.approvers import ApproversOf, nobody
from angelia.service.conversation.session import Session
from angelia.service.keep_running import keep_running
from angelia.service.people.budgets import Budgets
from angelia.service.settings.config import Config
from angelia.store.log.transcript import Transcript
from angelia.tools.port import ToolOutcome, Work
from angelia.tools.registry import Registry

if TYPE_CHECKING:
    from angelia.service.conversation.first_answer import Answer
    from angelia.service.delegation.changes import CopyChanges
    from angelia.service.delegation.copies import WorkspaceCopies

logger = logging.getLogger("angelia.service")

_LAST_S = 30.0
"""Seconds that a child has to end, once nothing was heard of it and it was told to."""


class ChildHost(Protocol):
    """What opens, drives and leaves conversations of this process."""

    async def resume(self, conversation: ConversationId, *, door: str) -> Session:
        """Open a stored conversation."""
        ...

    async def employ(self, session: Session, model: str, *, approvers: ApproversOf) -> object:
        """Drive it from now on."""
        ...

    async def leave(self, session: Session) -> None:
        """Stop driving it, and end what runs in it."""
        ...


class ChildSources(Struct, frozen=True):
    """What children are opened and told of with: `background`, `registry` and `place` are the parent's as of now."""

    transcript: Transcript
    config: Config
    budgets: Budgets
    background: Callable[[], Background]
    registry: Callable[[], Registry]
    place: Callable[[], Place]
    copies: "Callable[[], WorkspaceCopies]"


class Children:
    """Those of one open conversation."""

    def __init__(self, parent: Session, host: ChildHost, sources: ChildSources) -> None:
        self.parent, self.sources = parent, sources
        self.model = ""
        self.waited: Counter[str] = Counter()
        self._host = host
        self._approvers: ApproversOf = nobody
        self._free = asyncio.Semaphore(max(sources.config.delegation.at_once, 1))
        self._tasks: dict[CallId, asyncio.Task[None]] = {}
        self._sessions: dict[CallId, Session] = {}
        self._copied: dict[CallId, ConversationId] = {}
        self._behind = set[asyncio.Task[None]]()
        self._forget: Callable[[], None] = lambda: None

    def work_with(self, model: str, approvers: ApproversOf) -> None:
        """The parent's model, and who answers its questions and theirs, from now on."""
        self.model, self._approvers = model, approvers

    def go_on(self) -> None:
        """Take up what has not ended, and whatever is delegated from now on."""
        self._forget()
        self._forget = self.parent.log.listen(self._heed)
        for started in self.parent.children:
            self._take_up(started)

    async def close(self) -> None:
        """Stop driving them. Open turns stay open in their logs, and are gone on with when the parent is."""
        self._forget()
        self._forget = lambda: None
        await cancel_and_wait(*self._tasks.values(), *self._behind)
        working = {started.call for started in self.parent.children}
        for name, child in self._copied.items():
            if name not in working:
                await self.sources.copies().remove(child)
        self._copied.clear()

    def session(self, name: CallId) -> Session | None:
        """One that is driven now."""
        return self._sessions.get(name)

    # -- what the parent's log says -----------------------------------------------------------------------------------

    def _heed(self, entries: Sequence[e.Entry]) -> None:
        for entry in entries:
            match entry.fact:
                case e.WorkStarted(child=e.Child()):
                    self._take_up(entry.fact)
                case e.CancelAsked():
                    for started in self.parent.children:
                        self._do(partial(self._cancel, started, entry.fact))
                case e.ApprovalGiven() | e.ApprovalRefused():
                    self._do(partial(self._hand_on, entry.fact))
                case _:
                    pass

    def _take_up(self, started: e.WorkStarted) -> None:
        if started.child and started.child.copy:
            self._copied[started.call] = started.child.id
        if started.call not in self._tasks:
            name = f"the child {started.call} of {self.parent.conversation}"
            task = asyncio.create_task(keep_running(name, partial(self._to_its_end, started)))
            self._tasks[started.call] = task
            task.add_done_callback(lambda _: self._tasks.pop(started.call, None))

    def _do(self, work: Callable[[], Awaitable[None]]) -> None:
        async def done() -> None:
            try:
                await work()
            except AngeliaError as error:
                if passes(error):
                    raise
                logger.exception("a child of %s could not be told", self.parent.conversation)

        task = asyncio.create_task(keep_running(f"what is told to a child of {self.parent.conversation}", done))
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    async def _cancel(self, started: e.WorkStarted, wanted: e.CancelAsked) -> None:
        assert started.child is not None
        await self.sources.transcript.append(started.child.id, [replace(wanted, silent_s=0)])

    def _stopped_since(self, started: e.WorkStarted) -> e.CancelAsked | None:
        """The wish to stop that was said since a child was begun."""
        for entry in reversed(self.parent.log.entries):
            if isinstance(entry.fact, e.CancelAsked):
                return entry.fact
            if entry.fact == started:
                return None
        return None

    # -- one child ----------------------------------------------------------------------------------------------------

    async def _to_its_end(self, started: e.WorkStarted) -> None:
        """While the store fails, such as on a full disk, neither can it go on nor can its end be told: it waits."""
        if any(one.call == started.call for one in self.parent.children):
            await self._tell(started, await self._driven(started))

    async def _driven(self, started: e.WorkStarted) -> str:
        """Drive it until its turn is closed; returns why it cannot go on, empty if it was."""
        child = started.child
        assert child is not None
        try:
            await self.open(child)
            async with self._free:
                session = await self._host.resume(child.id, door=e.PARENT)
                self._sessions[started.call] = session
                try:
                    await self._drive(started, session)
                finally:
                    self._sessions.pop(started.call, None)
                    await self._host.leave(session)
        except AngeliaError as error:
            end_if_cancelled()  # what failed as it was left is no end of it: it is gone on with
            if passes(error):
                raise
            logger.warning("the child %s of %s cannot go on: %s", started.call, self.parent.conversation, error)
            return str(error)
        except Exception:
            end_if_cancelled()
            logger.exception("the child %s of %s faulted", started.call, self.parent.conversation)
            return "Something went wrong inside Angelia; the log file says more."
        return ""

    async def open(self, child: e.Child) -> None:
        """Begin its conversation with its task, unless that is done."""
        parent, terms = self.parent, child.terms
        opened = e.ConversationOpened(
            e.PARENT,
            str(self.sources.copies().folder(child.id)) if child.copy else parent.workspace,
            parent.sandbox,
            parent.owner,
            parent.preset,
            PlaceId("") if child.copy else parent.place,
            notes=False,
            child=terms,
        )
        from angelia.service.delegation.words import opening_words

        said = e.Delegated(
            opening_words(child),
            child.sender,
            e.Address(e.PARENT, parent.conversation),
            f"{parent.conversation}:{terms.name}",
            forwarded=child.forwarded,
        )
        crash_point("child.before_open")
        await self.sources.transcript.append(child.id, [opened, said])
        crash_point("child.opened")

    async def _drive(self, started: e.WorkStarted, session: Session) -> None:
        if not (session.turn.opened or session.children):
            return  # it was closed in a life that could not tell
        if (wanted := self._stopped_since(started)) and not session.turn.cancelled_at:
            await self._cancel(started, wanted)
            await session.log.refresh()
        if started.child and started.child.copy:
            await self._copy(started.child, session)
        else:
            session.around = self.parent.around
        forget = session.log.listen(lambda entries: self._step(started.call, entries))
        try:
            await self._host.employ(session, session.terms.model if session.terms else "", approvers=self._approvers)
            await self._put_questions(started.call, session)
            await self._until_closed(session)
        finally:
            forget()

    async def _copy(self, child: e.Child, session: Session) -> None:
        """See that it has its copy, and tell it what is missing there."""
        missing = await self.sources.copies().made(child.id, Path(self.parent.workspace))
        told = {entry.fact.text for entry in session.log.entries if isinstance(entry.fact, e.SystemSaid)}
        if news := [e.SystemSaid(words) for words in missing if words not in told]:
            await session.log.append(*news)

    async def _until_closed(self, session: Session) -> None:
        """Wait for the end of its turn, and of its own children; one of which nothing is heard, and that waits for
        nobody, is told to end.
        """
        loop = asyncio.get_running_loop()
        patience = self.sources.config.delegation.silent_minutes * 60
        heard, ending = loop.time(), False

        def hear(_: object) -> None:
            nonlocal heard
            heard = loop.time()

        forget = session.live.watch(hear)
        try:
            while session.turn.opened or session.children:
                left = heard + (_LAST_S if ending else patience) - loop.time()
                try:
                    async with asyncio.timeout(max(left, 0.001)):
                        await session.wait(lambda: not (session.turn.opened or session.children))
                except TimeoutError:
                    if session.questions():
                        heard = loop.time()
                    elif loop.time() - heard < (_LAST_S if ending else patience):
                        continue
                    elif ending:
                        return
                    else:
                        await session.log.append(e.CancelAsked(ANGELIA, max(round(patience), 1)))
                        heard, ending = loop.time(), True
        finally:
            forget()

    async def _tell(self, started: e.WorkStarted, trouble: str) -> None:
        """Hand over what has come of it, once; what it sent out has arrived with that."""
        from angelia.service.delegation.outcome import outcome_of
        from angelia.service.delegation.words import with_changes

        assert started.child is not None
        log, damage = await self._log_of(started.child.id)
        outcome = outcome_of(log, trouble or damage)
        if damage:  # what it was paid cannot be read either
            outcome = replace(outcome, end=replace(outcome.end, unpriced=1))
        if started.child.copy:
            outcome = with_changes(outcome, *await self._changed(started.child))
        crash_point("child.closed")
        for queued in _unsettled(log):
            settled = e.DeliverySettled(queued.id, e.DeliveryStatus.SENT)
            await self.sources.transcript.append(started.child.id, [settled])
        address = self.parent.turn.opener.address if self.parent.turn.opener else e.Address("terminal")
        await self.sources.background().ended(
            started.call,
            Work(e.WorkKind.CHILD, started.what),
            ToolOutcome(outcome.parts, outcome.status),
            address,
            ChildEnding(outcome.end, awaited=bool(self.waited[started.call])),
        )
        if started.child.copy:
            await self.sources.copies().remove(started.child.id)
            crash_point("copy.removed")
        later, _ = await self._log_of(started.child.id, after=len(log))
        if any(isinstance(entry.fact, e.Delegated) for entry in later):
            await self.parent.log.append(e.SystemSaid(f"What you told {started.call} last came after its end."))

    async def _log_of(self, child: ConversationId, after: int = 0) -> tuple[Sequence[e.Entry], str]:
        """What stands in a child's log, or nothing and why: of one that is damaged it is told that it is."""
        try:
            return await self.sources.transcript.entries(child, after), ""
        except AngeliaError as error:
            if passes(error):
                raise
            return (), str(error)

    async def _changed(self, child: e.Child) -> "tuple[CopyChanges, str]":
        """What it changed in its copy, and where its patch lies in the parent's workspace."""
        from angelia.service.delegation.changes import CopyChanges

        try:
            changes = await self.sources.copies().changes(child.id, child.terms.name, Path(self.parent.workspace))
        except (AngeliaError, OSError) as error:
            left = self.sources.copies().leave(child.id)
            why = f"what it changed could not be compared ({fault_words(error)}); its copy stays for a week, in {left}"
            return CopyChanges(notes=(why,)), ""
        crash_point("copy.compared")
        if changes.patch is None:
            return changes, ""
        try:
            return changes, await self.sources.place()(changes.patch)
        except AngeliaError as error:
            why = f"the patch could not be put into the folder ({error}); `read` shows it by its blob"
            return replace(changes, notes=(*changes.notes, why)), ""

    # -- its questions ------------------------------------------------------------------------------------------------

    def _step(self, name: CallId, entries: Sequence[e.Entry]) -> None:
        session = self._sessions.get(name)
        if session and any(isinstance(entry.fact, e.ApprovalAsked) for entry in entries):
            self._do(partial(self._put_questions, name, session))
        if session and any(isinstance(entry.fact, e.ApprovalGiven | e.ApprovalRefused) for entry in entries):
            self._do(partial(self._bring_answers, name, session))
        if session:
            from angelia.service.delegation.words import progress_line

            self.parent.live.emit(Working(name, progress_line(session.log.entries)))

    async def _put_questions(self, name: CallId, session: Session) -> None:
        """Put its open questions in the parent's log, each once; hand on what was answered there before. What is asked
        once more, since the call would do something else by now, is another question.
        """
        if self._sessions.get(name) is not session:
            return  # it was left meanwhile; who drives it next puts them
        facts = [entry.fact for entry in self.parent.log.entries]
        put = {(fact.call, fact.digest) for fact in facts if isinstance(fact, e.ApprovalAsked)}
        for asked in session.questions():
            call = CallId(f"{name}.{asked.call}")
            if (call, asked.digest) not in put:
                await self.parent.log.append(replace(asked_by(name, asked), call=call))
        for fact in facts:
            if isinstance(fact, e.ApprovalGiven | e.ApprovalRefused):
                await self._hand_on(fact)
        await self._bring_answers(name, session)

    async def _hand_on(self, answer: "Answer") -> None:
        """Give a child the answer to its question, if it has none: a no of ours, where nobody could be asked."""
        from angelia.service.conversation.first_answer import NotOpen, handed_on

        name, dot, call = answer.call.partition(".")
        session = self._sessions.get(CallId(name)) if dot else None
        if session is None:
            return
        await session.log.refresh()
        if any(one.call == call for one in session.questions()):
            with suppress(NotOpen):
                await session.record(handed_on(answer, CallId(call)))

    async def _bring_answers(self, name: CallId, session: Session) -> None:
        """Answer the parent's copy of what was answered in the child's own conversation."""
        from angelia.service.conversation.first_answer import first_answer, handed_on

        await self.parent.log.refresh()
        for asked in self.parent.questions():
            of, _, call = asked.call.partition(".")
            if of == name and (answer := first_answer(session.log.entries, CallId(call))):
                await self.parent.log.append(handed_on(answer, asked.call))


def _unsettled(log: Sequence[e.Entry]) -> list[e.DeliveryQueued]:
    facts = [entry.fact for entry in log]
    settled = {fact.id for fact in facts if isinstance(fact, e.DeliverySettled)}
    queued = [fact for fact in facts if isinstance(fact, e.DeliveryQueued) and fact.address.door == e.PARENT]
    return [fact for fact in queued if fact.id not in settled]
