"""One open conversation: people speak into it, it is driven while its lease is held, and whoever watches is told."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from angelia.cancellation import ended
from angelia.core import entry as e
from angelia.core.content import Content, Media, Text
from angelia.core.crash import crash_point
from angelia.core.errors import BadInput, StoreClosed
from angelia.core.ids import Clock, ConversationId, PlaceId
from angelia.core.principal import OWNER, Principal
from angelia.core.text import clean
from angelia.engine.background import BackgroundWork
from angelia.engine.live import Live
from angelia.engine.log import Log
from angelia.engine.slices import in_slices
from angelia.engine.state import Turn, advance, can_be_taken_back, folding, waits_for_program
from angelia.sandboxes.port import Sandbox
from angelia.service.conversation.open_questions import answer_among, open_questions
from angelia.service.conversation.runner import TurnDriver, TurnRunner
from angelia.service.conversation.worked_folder import WorkedFolder
from angelia.store.log.transcript import Transcript
from angelia.store.port import LogStore

Around = Callable[[Sandbox], Sandbox]
"""Wraps a conversation's sandbox where a door has it used in another way; else returns it as it is."""


class Session:
    """A conversation that this process has open. `opened` is set for one that is not in the store yet.

    Everything a person does is a fact appended to the log; the driver reads it there.
    """

    def __init__(
        self,
        conversation: ConversationId,
        db: LogStore,
        transcript: Transcript,
        holder: str,
        opened: e.ConversationOpened | None = None,
    ) -> None:
        self.conversation = conversation
        self.live = Live()
        self.log = Log(conversation, transcript, self.live)
        self._db = db
        self._transcript = transcript
        self._holder = holder
        self._opened = opened
        self._clock: Clock = db.clock
        self.around: Around = lambda sandbox: sandbox
        self._turn, self._behind = Turn(), BackgroundWork()
        self._folder = WorkedFolder()
        self._changed = asyncio.Event()
        self._fell = asyncio.Event()
        self._putting = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []
        self._runner: TurnRunner | None = None
        self._forget = self.log.listen(lambda _: self._changed.set())

    # -- what people do -----------------------------------------------------------------------------------------

    async def say(
        self,
        parts: Sequence[Content],
        *,
        address: e.Address,
        sender: Principal = OWNER,
        key: str = "",
        arrival: e.Arrival = e.Arrival.STEER,
        forwarded: bool = False,
    ) -> bool:
        """Store a message, durably; False if its key is known already, in which case nothing changed.

        Raises:
            BadInput: there is nothing in it.
            StoreError: it could not be stored, and is not acknowledged.
        """
        if not any(isinstance(part, Media) or part.text.strip() for part in parts):
            raise BadInput("The message is empty.", then="Write something, or attach a file.")
        said = e.UserSaid(tuple(parts), sender, address, key, arrival, forwarded=forwarded)
        return await self.take_in(said)

    async def take_in(self, said: e.UserSaid, *before: e.AnyFact) -> bool:
        """Store a message that is not empty, in one commit with what goes before it; else as `say`.

        Raises:
            StoreError: it could not be stored, and is not acknowledged.
        """
        safe = tuple(Text(clean(part.text)) if isinstance(part, Text) else part for part in said.parts)
        crash_point("say.before_commit")
        if self._runner and self._opened is None:
            self._runner.expect()
        added = await self._put(*before, replace(said, parts=safe))
        crash_point("say.committed")
        return bool(added)

    async def take_back(self, which: e.Address | int, by: Principal = OWNER) -> e.UserSaid | None:
        """Take back a message of theirs that waits behind an open turn, and return it: the one of this entry number,
        through whichever door it came, or the newest from an address. None where no such one waits, or a request
        carried it in this very moment.
        """
        turn, entries = self.turn, self.log.entries
        waiting = [(one.seq, entries[one.seq - 1].fact) for one in turn.unread if can_be_taken_back(turn, one.seq)]
        theirs = [(seq, said) for seq, said in reversed(waiting) if isinstance(said, e.UserSaid) and said.sender == by]
        seq, said = next(((seq, said) for seq, said in theirs if which in (seq, said.address)), (0, None))
        if said is None:
            return None
        await self.log.append(e.MessageTakenBack(seq, by))
        asked = (one.fact for one in self.log.entries[seq:] if isinstance(one.fact, e.ModelAsked))
        return None if any(seq in one.heard for one in asked) else said

    @contextmanager
    def held(self) -> Iterator[None]:
        """Whatever is said meanwhile is stored, but no model reads it before this ends."""
        runner = self._runner
        if runner:
            runner.hold()
        try:
            yield
        finally:
            if runner:
                runner.let_go()

    async def record(self, *facts: e.AnyFact) -> bool:
        """Append what came in by a door, in one commit; False if it is known already, in which case nothing changed.

        Raises:
            NotOpen: what a person answered among it was answered before, or is not asked any more; nothing changed.
        """
        answer = answer_among(facts)
        if answer is None:
            return bool(await self._put(*facts))
        from angelia.service.conversation.first_answer import store_first

        return await store_first(self.log, self._transcript.entries, answer, *facts)

    async def _put(self, *facts: e.AnyFact) -> list[e.Entry]:
        """Append what a person does; the first thing they do begins the conversation in the store, unless another
        process to which it was handed out has begun it by then.
        """
        async with self._putting:  # two that come at once must not both begin it
            if self._opened is None:
                return await self.log.append(*facts)
            try:
                added = await self.log.append(self._opened, *facts)
            except BadInput:
                await self.log.refresh()
                if not self.log.entries:
                    raise
                added = await self.log.append(*facts)
            self._opened = None
        return added

    async def stop(self, by: Principal) -> bool:
        """Ask the running turn to stop, and what it has delegated with it; False when nothing runs."""
        if not self.turn.opened and not self.children:
            return False
        await self.log.append(e.CancelAsked(by))
        return True

    async def approve(
        self, asked: e.ApprovalAsked, *, by: Principal, scope: e.Scope = e.Scope.ONCE, until: int = 0, answer: str = ""
    ) -> None:
        """Say yes to the question that was shown, or answer it.

        Raises:
            NotOpen: this very question was answered before, or is not asked any more.
        """
        await self.record(e.ApprovalGiven(asked.call, asked.digest, by, scope, until, clean(answer)))

    async def refuse(self, asked: e.ApprovalAsked, *, by: Principal, why: str = "") -> None:
        """Say no to the question that was shown.

        Raises:
            NotOpen: this very question was answered before, or is not asked any more.
        """
        if (asked.call, asked.digest) not in [(one.call, one.digest) for one in self.questions()]:
            from angelia.service.conversation.first_answer import not_open

            raise not_open(self.log.entries, asked.call)
        await self.record(e.ApprovalRefused(asked.call, by, clean(why)))

    def questions(self) -> list[e.ApprovalAsked]:
        """What waits for a person now, oldest first: of this conversation, and of its children under their names."""
        return open_questions(self.turn, self.log.entries, self.children)

    # -- how it goes on -----------------------------------------------------------------------------------------

    @property
    def workspace(self) -> str:
        """The folder in which it works by now."""
        return self._opened.workspace if self._opened else self._folder.now(self.log.entries)

    @property
    def original_workspace(self) -> str:
        """The folder that counts where something was granted or trusted: its own, or the one that this is a copy of."""
        return (self.terms.copy_of if self.terms else "") or self.workspace

    @property
    def door(self) -> str:
        """The door at which it began."""
        return self._beginning.door

    @property
    def sandbox(self) -> str:
        """The spec of the sandbox that it works in."""
        return self._beginning.sandbox

    @property
    def preset(self) -> str:
        """The preset by which that sandbox was chosen; empty where none was."""
        return self._beginning.preset

    @property
    def place(self) -> PlaceId:
        """The place that it works in: its own, or another conversation's."""
        return self._beginning.place or PlaceId(self.conversation)

    @property
    def owner(self) -> Principal:
        """Whose conversation it is."""
        return self._beginning.owner

    @property
    def notes(self) -> bool:
        """Whether it reads and writes notes."""
        return self._beginning.notes

    @property
    def terms(self) -> e.ChildTerms | None:
        """On which terms it works for another conversation; None where a person speaks."""
        return self._beginning.child

    @property
    def root(self) -> ConversationId:
        """The conversation in which a person speaks: itself, or the one that it works for."""
        return self.terms.root if self.terms else self.conversation

    @property
    def unspoken(self) -> e.ConversationOpened | None:
        """How it begins, while nothing was said in it; None from its first message on."""
        return self._opened

    def begin_in(self, workspace: str, sandbox: str, preset: str) -> e.ConversationOpened:
        """Work in another sandbox from the first message on; returns how it begins now.

        Raises:
            BadInput: there is one already, and the sandbox is part of it.
        """
        if self._opened is None:
            raise BadInput(
                f"This conversation works in {self.preset or self.sandbox}, as it has from its first message on.",
                then="Begin a new conversation for another sandbox.",
            )
        self._opened = replace(self._opened, workspace=workspace, sandbox=sandbox, preset=preset, place=PlaceId(""))
        return self._opened

    @property
    def opened_at(self) -> int:
        """When it began, Unix milliseconds."""
        return self.log.entries[0].at if self.log.entries else self._clock()

    @property
    def _beginning(self) -> e.ConversationOpened:
        first = self._opened or self.log.entries[0].fact
        assert isinstance(first, e.ConversationOpened)
        return first

    @property
    def turn(self) -> Turn:
        """Where the conversation stands."""
        self._turn = advance(self._turn, self.log.entries)
        return self._turn

    async def catch_up(self) -> None:
        """Take in what the store holds by now; a long log is folded in slices, so that nobody else is held up."""
        await self.log.refresh()
        self._turn = await in_slices(folding(self._turn, self.log.entries))

    @property
    def behind(self) -> list[e.WorkStarted]:
        """What calls left running, as far as the log tells."""
        return self._behind.now(self.log.entries)

    @property
    def children(self) -> list[e.WorkStarted]:
        """The child conversations that have not ended."""
        return [started for started in self.behind if started.child]

    @property
    def at_rest(self) -> bool:
        """Whether nothing is under way or waits: closing it now cuts nothing off."""
        turn = self.turn
        return not ((turn.opened and not waits_for_program(turn)) or turn.unread or self.behind)

    async def attach(self, driver: TurnDriver) -> None:
        """Drive the conversation from now on, whenever there is something to do; an earlier driver stops."""
        await self._stop_driving()
        self._runner = TurnRunner(self.log, self, self._db, self._transcript, self._holder)
        self._fell.clear()
        self._tasks = [asyncio.create_task(self._runner.go_on(driver)), asyncio.create_task(self._hear_others())]
        for task in self._tasks:
            task.add_done_callback(self._ended)

    async def wait(self, until: Callable[[], bool]) -> None:
        """Wait until something is true of the log; it is looked at after every commit.

        Raises:
            AngeliaError: the driving of this conversation failed.
        """
        while not until():
            self._see_driving()
            self._changed.clear()
            await self._changed.wait()

    async def driven(self) -> None:
        """Wait as long as it is driven, by one driver or the next.

        Raises:
            AngeliaError: the driving of this conversation failed.
        """
        await self._fell.wait()
        self._see_driving()

    async def settled(self) -> e.TurnClosed | None:
        """Wait until no turn is open; the last ending, or None if there was no turn at all."""
        await self.wait(lambda: not self.turn.opened)
        facts = (entry.fact for entry in reversed(self.log.entries))
        return next((fact for fact in facts if isinstance(fact, e.TurnClosed)), None)

    def stop_driving(self) -> None:
        """Tell what drives it to end now; `close` waits until it has."""
        for task in self._tasks:
            if not task.cancelling():  # a second time would cut off what it cleans up
                task.cancel()

    async def close(self) -> None:
        """Stop driving. An open turn stays open in the log and is gone on with when somebody opens it again.

        Idempotent: a door may leave it while the home is closed.
        """
        await self._stop_driving()
        forget, self._forget = self._forget, lambda: None
        forget()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self._fell.set()
            self._changed.set()

    def _see_driving(self) -> None:
        """Raise what ended the driving, if something did."""
        for task in self._tasks:
            if task.done():
                task.result()

    async def _stop_driving(self) -> None:
        """If driving failed, `wait` and `driven` have said why; here it only has to be over."""
        self.stop_driving()
        tasks, self._tasks = self._tasks, []
        await ended(*tasks)

    def life(self) -> str:
        """Names this process of ours: others can ask whether it is still there."""
        return self._db.presence.name(self._holder)

    async def _hear_others(self) -> None:
        """Take in what other processes append to this conversation."""
        while True:
            if self._opened:
                self._changed.clear()
                await self._changed.wait()
                continue
            try:
                await self._transcript.news(self.conversation, lambda: len(self.log.entries))
                await self.log.refresh()
            except StoreClosed:  # the home is left, and whoever left it did not leave this conversation first
                return
