"""One session of an editor: prompts become messages, and what happens is told until each of them is answered."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from angelia.context.compaction import last_move
from angelia.context.view import refused_by
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Content, Text
from angelia.core.ids import CallId, sortable_id
from angelia.engine.live import Committed, LiveEvent
from angelia.engine.remedies import DEFAULT
from angelia.engine.state import step
from angelia.faces.acp import incoming as i
from angelia.faces.acp import outgoing as o
from angelia.faces.acp import results as r
from angelia.faces.acp.asking import Asking
from angelia.faces.acp.blocks import taken
from angelia.faces.acp.choosing import Choosing
from angelia.faces.acp.commands import COMMANDS, command_in
from angelia.faces.acp.editing import Editing
from angelia.faces.acp.endings import stop_reason
from angelia.faces.acp.questions import in_words
from angelia.faces.acp.sending import DOOR, Client, Sending, unsettled
from angelia.faces.acp.servers import Introductions
from angelia.faces.acp.telling import Telling, owed
from angelia.faces.acp.waiting import AskedBack, Waiting
from angelia.service.judging import OWNER

if TYPE_CHECKING:
    from angelia.service.assemble import House
    from angelia.service.sessions import Session

YOU = "you"
logger = logging.getLogger("angelia.acp")


class Conversation:
    """A session that is open in this process. `spec` is its model, `folder` the client's.

    Raises:
        ConfigError: `spec` names no vendor or no model.
    """

    def __init__(self, house: "House", session: "Session", client: Client, spec: str, folder: Path) -> None:
        self.house, self.session = house, session
        self.editing = Editing(client, session.conversation, self._in_terminal)
        self.choosing = Choosing(house, session, self.editing, spec, folder)
        self._telling = Telling(session.workspace, self.choosing.window)
        self._sending = Sending(house, session, client)
        self.servers = Introductions(house, session, client, self._sending.tell)
        self._asking = Asking(session, client, house.clock, self._ask_in_words)
        self._order = asyncio.Lock()
        self._waiting: dict[str, Waiting] = {}
        self._question: e.ApprovalAsked | None = None
        self._turn = session.turn
        self._guard: asyncio.Task[None] | None = None
        self._attached = False
        self._unwatch = session.live.watch(self._see)

    # -- opening and closing ------------------------------------------------------------------------------------

    async def drive(self) -> None:
        """Let the model drive it from now on.

        Raises:
            KeyMissing, ConfigError, MissingPart, SandboxError: it cannot be used as it is.
        """
        chosen = self.choosing
        seat = await self.house.employ(self.session, chosen.spec, approver_present=True, effort=chosen.effort)
        self._telling.window, self._telling.workspace = seat.profile.window, self.session.workspace
        if self._guard:
            self._guard.cancel()
        self._guard = asyncio.create_task(self.session.driven())
        self._guard.add_done_callback(self._fell)

    def replay(self) -> None:
        """Tell everything that was said and done, then give what had not been shown yet its receipt."""
        telling = Telling(self.session.workspace, self._telling.window)
        self._telling = telling
        self._sending.tell(telling.replay(self.session.log.entries))
        for queued in unsettled(self.session):
            self._sending.settle(queued)

    def catch_up(self) -> None:
        """Take in what the client knows already, and tell what was never shown to it."""
        self._telling.skip(self.session.log.entries)
        for queued in unsettled(self.session):
            self._sending.tell(owed(queued))
            self._sending.settle(queued)

    def attach(self) -> None:
        """The client knows the session: tell it about commands, put the open questions, begin its servers."""
        self._attached = True
        self._sending.tell([o.Commands(tuple(COMMANDS.values()))])
        for asked in self.session.questions():
            self._ask(asked)
        self.servers.begin()

    def say_aloud(self, notes: Iterable[str]) -> None:
        """Tell the person something that belongs to no reply."""
        self._sending.tell(o.AgentChunk(o.Words(f"{note}\n\n"), f"s{sortable_id()}") for note in notes)

    async def drained(self) -> None:
        """Wait until everything told so far was sent."""
        await self._sending.drained()

    async def close(self) -> None:
        """Leave it; an open turn stays open in the log."""
        self._unwatch()
        if self._guard:
            self._guard.cancel()
            self._guard = None
        await self._asking.close()
        await self.servers.close()
        await self.house.leave(self.session)
        await self._sending.close()
        for waiting in self._waiting.values():
            waiting.answer.cancel()

    # -- what the person does -----------------------------------------------------------------------------------

    async def prompt(self, blocks: Sequence[i.Block]) -> r.Stopped:
        """Say something, and wait for the end of the turn that answers it; while one runs it steers that one.

        Raises:
            Fault: the turn ended without an answer, and no stop reason says how.
            AngeliaError: it could not be stored, or not be driven.
        """
        async with self._order:
            if command := command_in(blocks):
                self.say_aloud([await command(self)])
                return r.Stopped("end_turn")
            key = sortable_id(self.house.clock)
            waiting = self._waiting[key] = Waiting(asyncio.get_running_loop().create_future())
            try:
                await self._say(blocks, key, waiting)
            except BaseException:
                del self._waiting[key]
                raise
        try:
            answer = await waiting.answer
        finally:
            self._waiting.pop(key, None)
        await self._sending.drained()
        return r.Stopped("end_turn" if isinstance(answer, AskedBack) else stop_reason(answer))

    async def _say(self, blocks: Sequence[i.Block], key: str, waiting: Waiting) -> None:
        if self._guard is None:
            await self.drive()
        profile = self.house.seating.profile(self.choosing.spec)
        media = any(not isinstance(block, i.TextBlock) for block in blocks)
        refused = refused_by(profile.name, last_move(self.session.log.entries)) if media else frozenset()
        transcriber = self.house.loaded.config.transcriber
        message = await taken(blocks, self.house.intake.to_media, profile, refused, transcriber)
        self.say_aloud(message.notes)
        if self._question and (words := _only_words(message.parts)):
            waiting.seq = self.session.turn.opened
            asked, self._question = self._question, None
            await self.session.approve(asked.call, by=OWNER, answer=words)
        else:
            await self.session.say(message.parts, address=e.Address(DOOR, self.session.conversation), key=key)

    async def choose(self, name: str, value: str) -> None:
        """Change a setting, and tell the client of it; raises as `Choosing.choose` does."""
        self._sending.tell(await self.choosing.choose(name, value, self.drive))

    async def cancel(self) -> None:
        """Stop the running turn, after what was asked before has been stored."""
        async with self._order:
            await self.session.stop(YOU)

    async def finish(self) -> None:
        """Stop what runs and wait until it has stopped."""
        await self.cancel()
        if self._guard:
            await self.session.settled()
            await self._sending.drained()

    # -- what happens -------------------------------------------------------------------------------------------

    def _see(self, event: LiveEvent) -> None:
        self._sending.tell(self._telling.tell(event, frozenset(self._waiting)))
        if isinstance(event, Committed):
            for entry in event.entries:
                self._turn = replace(step(self._turn, entry, DEFAULT), seen=entry.seq)
                self._heed(entry)

    def _in_terminal(self, call: str, terminal: str) -> None:
        self._sending.tell(self._telling.in_terminal(CallId(call), terminal))

    def _heed(self, entry: e.Entry) -> None:
        match entry.fact:
            case e.UserSaid(key=key):
                self._question = None
                if waiting := self._waiting.get(key):
                    waiting.seq = entry.seq
            case e.ApprovalAsked() if self._attached:
                self._ask(entry.fact)
            case e.ApprovalGiven(call=call) | e.ApprovalRefused(call=call) | e.ToolFinished(call=call):
                self._asking.withdraw(call)
            case e.DeliveryQueued():
                self._sending.settle(entry.fact)
            case e.TurnClosed(ending=ending):
                self._closed(entry.seq, ending)
            case _:
                return

    def _closed(self, seq: int, ending: end.Ending) -> None:
        """Every prompt that this turn dealt with is answered; one that came too late opens the next turn."""
        self._question = None
        late = {unread.seq for unread in self._turn.unread}
        for waiting in self._waiting.values():
            if 0 < waiting.seq < seq and waiting.seq not in late:
                waiting.resolve(ending)

    def _ask(self, asked: e.ApprovalAsked) -> None:
        if call := self._telling.calls.get(asked.call):
            self._asking.ask(asked, call)

    def _ask_in_words(self, asked: e.ApprovalAsked) -> None:
        self._question = asked
        self.say_aloud([in_words(asked)])
        for waiting in self._waiting.values():
            if waiting.seq:
                waiting.resolve(AskedBack())

    def _fell(self, guard: "asyncio.Task[None]") -> None:
        """The driving failed: whoever waits is told why, and the next prompt tries again."""
        error = None if guard.cancelled() else guard.exception()
        if error is None:
            return
        self._guard = None
        logger.error("%s is not driven any more: %s", self.session.conversation, error)
        for waiting in self._waiting.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(error)


def _only_words(parts: Sequence[Content]) -> str:
    """The text of a message that is nothing but text."""
    texts = [part.text for part in parts if isinstance(part, Text)]
    return "\n".join(texts) if len(texts) == len(parts) else ""
