"""What clients ask: each is a message of a conversation, said once under its key, and followed to its turn's ending.

Who hangs up stops nothing: the turn goes on here, or, if this process dies, in the log, and whoever asks again with
the same key hears what became of it. A question to the person is never answered here; it is handed to whoever asked.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from msgspec import Struct

from angelia.cancellation import end_if_cancelled
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.errors import AngeliaError, BadInput
from angelia.core.ids import ConversationId, sortable_id
from angelia.core.principal import OWNER
from angelia.core.text import clean, one_line
from angelia.faces.mcp.questions import name_of
from angelia.faces.words.program_delivery import ProgramDelivery, SentFile
from angelia.faces.words.questions import No, Yes
from angelia.faces.words.transcript_lines import Tone, TranscriptLines
from angelia.faces.words.turn_end import Following, totals, words_of
from angelia.policy.approvers import owner_at
from angelia.service.app import App
from angelia.service.conversation.first_answer import NotOpen
from angelia.service.conversation.session import Session
from angelia.service.models.choice import choose

MCP = e.Address("mcp")

BEAT_S = 10.0
"""Seconds after which a client hears at the latest that the work goes on."""

_TOLD = (Tone.STARTED, Tone.DONE, Tone.FAILED, Tone.NOTE, Tone.WARNING)

Tell = Callable[[str], Awaitable[None]]
"""Tells who waits one line of what happens."""


class NewAsk(Struct, frozen=True):
    """A message and where it goes: into this conversation (its id, or the last characters), or a new one if empty.

    `key` is the client's own name for this ask, empty for a new one.
    """

    question: str
    conversation: str = ""
    key: str = ""


class SaidAsk(Struct, frozen=True):
    """An ask that stands in the log under this key."""

    conversation: ConversationId
    key: str


class TurnCame(Struct, frozen=True):
    """The turn has ended. `text` is the answer, empty where `ending` is none; `cost` in dollars, None if unknown."""

    conversation: ConversationId
    key: str
    ending: end.Ending
    text: str
    files: tuple[SentFile, ...]
    notes: tuple[str, ...]
    cost: float | None


class TurnAsks(Struct, frozen=True):
    """The turn waits for a person's answer to this question."""

    conversation: ConversationId
    key: str
    asked: e.ApprovalAsked


class TurnGoesOn(Struct, frozen=True):
    """The turn has not ended within the seconds that were to be waited."""

    conversation: ConversationId
    key: str


AskOutcome = TurnCame | TurnAsks | TurnGoesOn


class _OpenConversation:
    """One that this door has open, and how many wait in it; `late` are notes for asks, by key."""

    def __init__(self, session: Session, delivery: ProgramDelivery) -> None:
        self.session, self.delivery = session, delivery
        self.driven, self.waiting = False, 0
        self.late = dict[str, list[str]]()
        self.unused = asyncio.Event()
        self.unused.set()
        self.resting: asyncio.Task[None] | None = None


class Asks:
    """The conversations of this door: open as long as somebody waits in one, or its turn goes on.

    `workspace` is where new ones work. Each conversation may be asked in by several at once.
    """

    def __init__(self, app: App, workspace: Path) -> None:
        self._app = app
        self.workspace = workspace
        self._open: dict[ConversationId, _OpenConversation] = {}
        self._order = asyncio.Lock()

    async def say(self, ask: NewAsk) -> SaidAsk:
        """Say it, unless its key says that it was said.

        Raises:
            BadInput: there is no question, or its key was used for another one; nothing was said.
            NotFound: there is no such conversation.
            AngeliaError: the model, the workspace or the store cannot be had; says whether it was stored.
        """
        async with self._order:
            return await self._said(ask)

    async def follow(self, said: SaidAsk, seconds: float, tell: Tell) -> AskOutcome:
        """Wait at most so long for what comes of it. Cancelling stops the waiting, and nothing else.

        Raises:
            AngeliaError: the conversation cannot be driven on (another process took it over, the disk is full).
        """
        async with self._order:
            opened = await self._opened(said.conversation)
            if not Following(opened.session.log.entries, said.key).over():
                await self._drive(opened)
            opened.waiting += 1
            opened.unused.clear()
        try:
            return await self._followed(opened, said.key, seconds, tell)
        finally:
            opened.waiting -= 1
            if not opened.waiting:
                opened.unused.set()

    async def answer(self, outcome: TurnAsks, decision: Yes | No) -> None:
        """Answer the question, on behalf of the person who did. If somebody else was faster, the ask's outcome notes
        what they answered; if nobody needs to any more, nothing comes of it.
        """
        opened = self._open.get(outcome.conversation)
        if opened is None:
            return
        try:
            match decision:
                case Yes(answer=answer):
                    await opened.session.approve(outcome.asked, by=OWNER, answer=answer)
                case No(why=why):
                    await opened.session.refuse(outcome.asked, by=OWNER, why=why)
        except NotOpen as late:
            if late.answer:
                opened.late.setdefault(outcome.key, []).append(str(late))

    async def question(self, key: str, name: str) -> TurnAsks | None:
        """The question of this name, in the conversation of this key, answered or not; None if there is none, or the
        conversation is not open here any more.
        """
        found = await self._app.transcript.of_key(OWNER, MCP.door, key)
        opened = self._open.get(found) if found else None
        if opened is None:
            return None
        put = (entry.fact for entry in reversed(opened.session.log.entries))
        asked = next((fact for fact in put if isinstance(fact, e.ApprovalAsked) and name_of(fact) == name), None)
        return TurnAsks(opened.session.conversation, key, asked) if asked else None

    async def span(self, conversation: ConversationId, key: str) -> tuple[int, int]:
        """When the ask of this key was said, and when something was last stored in its conversation; Unix
        milliseconds.
        """
        opened = self._open.get(conversation)
        log = opened.session.log.entries if opened else await self._app.transcript.entries(conversation)
        said = next((one.at for one in log if isinstance(one.fact, e.UserSaid) and one.fact.key == key), log[0].at)
        return said, log[-1].at

    async def stop(self, key: str) -> bool:
        """Stop the turn under this key; False where nothing runs, or by now the turn of another ask.

        Raises:
            BadInput: nothing was asked under it.
        """
        found = await self._app.transcript.of_key(OWNER, MCP.door, key)
        if found is None:
            raise BadInput(f"Nothing was asked under the key {key!r}.")
        opened = self._open.get(found)
        if opened and opened.session.turn.opened and Following(opened.session.log.entries, key).over():
            return False
        return await (opened.session.stop(OWNER) if opened else self._app.conversations.stop_turn(found))

    async def close(self) -> None:
        """Follow nothing any longer. What runs stays open in the log."""
        async with self._order:  # whoever leaves a conversation now has left it then
            tasks = [one.resting for one in self._open.values() if one.resting]
            for task in tasks:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- said and followed --------------------------------------------------------------------------------------

    async def _said(self, ask: NewAsk) -> SaidAsk:
        transcript = self._app.transcript
        known = await transcript.of_key(OWNER, MCP.door, ask.key) if ask.key else None
        if known:
            opened = await self._opened(known)
            _demand_same(opened.session, ask)
            return SaidAsk(known, ask.key)
        if not ask.question.strip():
            raise BadInput("There is no question.", then="Give `question`, or the `key` of an ask that went before.")
        key = ask.key or sortable_id(self._app.clock)
        found = await transcript.find(OWNER, ask.conversation) if ask.conversation else None
        opened = await self._opened(found)
        await self._drive(opened)
        if await opened.session.say([Text(ask.question)], address=MCP, key=key):
            return SaidAsk(opened.session.conversation, key)
        raise BadInput(f"{key!r} is being asked by another process just now.", then="Ask again with the same key.")

    async def _opened(self, conversation: ConversationId | None) -> _OpenConversation:
        """A new conversation, or the one of this id."""
        if conversation and conversation in self._open:
            return self._open[conversation]
        app = self._app
        session = (
            await app.conversations.resume(conversation, door=MCP.door)
            if conversation
            else app.conversations.begin(door=MCP.door, workspace=self.workspace)
        )
        opened = _OpenConversation(session, ProgramDelivery(session, MCP.door, app.blobs, app.outbox_folder))
        self._open[session.conversation] = opened
        opened.resting = asyncio.create_task(self._leave_at_rest(opened))
        return opened

    async def _drive(self, opened: _OpenConversation) -> None:
        """Have it go on; an answer that is there already is read without."""
        if opened.driven:
            return
        app, opened.driven = self._app, True
        try:
            choice = await choose(app.loaded.config.model, app.model_catalog, app.key_value, None)
            await app.conversations.employ(opened.session, choice.spec, approvers=owner_at(MCP))
        except BaseException:
            self._open.pop(opened.session.conversation, None)
            if opened.resting:
                opened.resting.cancel()
            await app.conversations.leave(opened.session)
            raise

    async def _leave_at_rest(self, opened: _OpenConversation) -> None:
        """Let the conversation go once nobody waits in it and its turn has ended, or it cannot be driven on."""
        session = opened.session
        while True:
            await opened.unused.wait()
            try:
                await session.wait(lambda: session.at_rest)
                failed = False
            except AngeliaError:  # who asks next hears of it
                end_if_cancelled()
                failed = True
            async with self._order:
                if opened.waiting or not (failed or session.at_rest):  # it was asked in since
                    continue
                self._open.pop(session.conversation, None)
                await self._app.conversations.leave(session)
                return

    async def _followed(self, opened: _OpenConversation, key: str, seconds: float, tell: Tell) -> AskOutcome:
        session, following = opened.session, Following(opened.session.log.entries, key)
        lines = _News(session.log.entries)
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds

        def due() -> bool:
            return following.over() or bool(_waiting_for(session))

        while not due():
            if (rest := until - loop.time()) <= 0:
                return TurnGoesOn(session.conversation, key)
            try:
                async with asyncio.timeout(min(rest, BEAT_S)):
                    await session.wait(lambda: due() or lines.any())
            except TimeoutError:
                await tell("working")
            for line in lines.read():
                await tell(line)
        if following.closed:
            return await self._came(opened, following, key)
        return TurnAsks(session.conversation, key, _waiting_for(session)[0])

    async def _came(self, opened: _OpenConversation, following: Following, key: str) -> TurnCame:
        _, notes = await opened.delivery.hand_over()
        log, closed = opened.session.log.entries, following.closed
        fact = log[closed - 1].fact
        assert isinstance(fact, e.TurnClosed)
        files = await opened.delivery.files_of(following.opened, closed)
        spent = totals(log[following.opened - 1 : closed])
        text = words_of(log, closed, fact.ending)
        told = (*notes, *opened.late.pop(key, ()))
        return TurnCame(opened.session.conversation, key, fact.ending, text, tuple(files), told, spent.dollars)


class _News:
    """Lines about what was committed since the last look."""

    def __init__(self, log: Sequence[e.Entry]) -> None:
        self._log, self._seen = log, len(log)
        self._transcript = TranscriptLines()
        for entry in log:
            self._transcript.tell(entry)

    def any(self) -> bool:
        """Whether something was committed."""
        return len(self._log) > self._seen

    def read(self) -> list[str]:
        """What there is to tell of it."""
        fresh, self._seen = self._log[self._seen :], len(self._log)
        told = [line for entry in fresh for line in self._transcript.tell(entry)]
        return [one_line(line.text, 200) for line in told if line.tone in _TOLD]


def _waiting_for(session: Session) -> list[e.ApprovalAsked]:
    """What waits for a person now; a turn that was told to stop waits for nobody."""
    return [] if session.turn.cancelled_at else session.questions()


def _demand_same(session: Session, ask: NewAsk) -> None:
    """A key stands for one message.

    Raises:
        BadInput: it was used for another one.
    """
    facts = (entry.fact for entry in session.log.entries)
    said = next(fact for fact in facts if isinstance(fact, e.UserSaid) and fact.key == ask.key)
    words = "\n".join(part.text for part in said.parts if isinstance(part, Text))
    if ask.question.strip() and clean(ask.question) != words:
        raise BadInput(
            f"The key {ask.key!r} was used for another question; nothing was asked.",
            then="Take a new key, or leave `question` away to hear what became of that one.",
        )
