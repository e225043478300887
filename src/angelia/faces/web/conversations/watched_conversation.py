"""A conversation as the page follows it: its entries from the log, where it stands, and pieces that are not durable.

What is followed is the log, whoever appends to it: a turn that another process drives is seen as it is stored. Pieces
of what is not stored yet come from this process alone. Each stream keeps its own place, so that whoever comes back with
the number of the last entry they had gets the next one from the log.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress

from msgspec import Struct

from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.context.usage_meter import UsageMeter
from angelia.core import entry as e
from angelia.core.content import CallStatus, Media
from angelia.core.errors import AngeliaError, NotFound
from angelia.core.ids import CallId, ConversationId
from angelia.core.text import clean
from angelia.engine import live
from angelia.engine.background import BackgroundWork
from angelia.engine.calls import HandedOver
from angelia.engine.slices import in_slices
from angelia.engine.state import Turn, can_be_taken_back, folding, waits_for_program
from angelia.faces.web.conversations.beats import heard
from angelia.faces.web.conversations.entry_view import EntryViews, View, media_view, question_view, where_view
from angelia.service.conversation.open_questions import open_questions
from angelia.service.conversation.session import Session
from angelia.service.conversation.worked_folder import WorkedFolder
from angelia.store.log.transcript import Transcript
from angelia.tools.people.todo import NAME as TODO
from angelia.tools.people.todo import todos

_MOST_PIECES = 2_000
"""Pieces that one stream may be behind; the oldest go, and the reader has them with the entry that they become."""

_DIED = "The process that did has ended before it was done."
logger = logging.getLogger("angelia.web")


class PageEvent(Struct, frozen=True):
    """What a stream tells: `seq` is an entry's number, 0 for what is in no log."""

    name: str
    data: View
    seq: int = 0


class _Reader:
    """One stream: the number of the last entry that it was told, and the pieces that it was not told yet."""

    def __init__(self, after: int) -> None:
        self.at = after
        self.news = asyncio.Event()
        self.pieces: deque[tuple[int, View]] = deque(maxlen=_MOST_PIECES)
        self.state: View = {}


class WatchedConversation:
    """Follows one conversation, for any number of readers, until it is closed."""

    def __init__(
        self, conversation: ConversationId, transcript: Transcript, here: Callable[[], Session | None]
    ) -> None:
        self.conversation = conversation
        self.entries: list[e.Entry] = []
        self.turn = Turn()
        self.trouble = ""
        self.left_open = False
        self._transcript, self._here = transcript, here
        self._views = EntryViews()
        self._behind, self._meter = BackgroundWork(), UsageMeter()
        self._folder = WorkedFolder()
        self._plan: list[View] = []
        self._begun_at: dict[CallId, int] = {}
        self._files: list[View] = []
        self._unpriced_before = 0
        self._state: View | None = None
        self._readers: set[_Reader] = set()
        self._heeding: set[Callable[[], None]] = set()
        self._session: Session | None = None
        self._unwatch: Callable[[], None] = lambda: None
        self._begun = asyncio.Event()
        self._ended = False
        self._following: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Read what there is, and follow it from now on; one in which nothing was said yet from its first entry on.

        Raises:
            CodecError, StoreDamaged: it cannot be read; says why.
        """
        with suppress(NotFound):
            await self._take(await self._transcript.entries(self.conversation))
            self._begun.set()
        self._look_for_session()
        await self.look_who_drives()
        self._following = asyncio.create_task(self._follow())

    async def close(self) -> None:
        """Follow it no more; whoever still reads is at the end."""
        self._unwatch()
        await cancel_and_wait(self._following)
        self._wake()

    @property
    def followed(self) -> bool:
        """Whether what is new in it is still heard; where it is not, whoever wants to know opens it anew."""
        return self._following is not None and not self._following.done()

    @property
    def read(self) -> bool:
        """Whether anybody reads."""
        return bool(self._readers)

    def questions(self) -> list[e.ApprovalAsked]:
        """What waits for a person, oldest first."""
        return open_questions(self.turn, self.entries, [one for one in self._work if one.child])

    def views(self, before: int, limit: int) -> list[View]:
        """At most `limit` entries before the one of that number (0 for the end), in order."""
        upto = min(before - 1, len(self.entries)) if before else len(self.entries)
        return [self._views.view(entry) for entry in self.entries[max(upto - limit, 0) : upto]]

    def child(self, call: str) -> ConversationId | None:
        """The child conversation that runs under this name; None for none."""
        return next((one.child.id for one in self._work if one.call == call and one.child), None)

    def runs(self, call: CallId) -> bool:
        """Whether work of this name goes on behind its call."""
        return any(one.call == call for one in self._work)

    @property
    def files(self) -> Sequence[View]:
        """The media that stand in it, oldest first."""
        return self._files

    def state(self) -> View:
        """Where it stands: the turn, what it waits for, what runs, what it cost; made once for all who read."""
        if self._state is None:
            self._state = self._now()
        return self._state

    def _now(self) -> View:
        return {
            "turn": {
                "open": bool(self.turn.opened),
                "left_open": self.left_open,
                "since": self.turn.started_at,
                "steps": self.turn.steps,
                "spent": self._of_turn(),
                "program": self._wanted(),
                "waits": [one.seq for one in self.turn.unread if can_be_taken_back(self.turn, one.seq)],
            },
            "questions": self._asked(),
            "work": [{**_work_view(one), "since": self._begun_at.get(one.call, 0)} for one in self._work],
            "spent": spent_view(self._meter.cost, self._meter.tokens, self._meter.unpriced),
            "plan": self._plan,
            "trouble": self.trouble or (_DIED if self.left_open else ""),
        }

    def _of_turn(self) -> dict[str, int]:
        """What the turn cost so far: a cap on money is one of each turn."""
        unpriced = max(self._meter.unpriced - self._unpriced_before, 0)
        return spent_view(self.turn.cost, self.turn.tokens, unpriced)

    def _wanted(self) -> list[str]:
        """The tools of a program's own whose results are all that the turn waits for."""
        if not waits_for_program(self.turn):
            return []
        return [clean(one.name) for one in self.turn.calls if isinstance(one.state, HandedOver)]

    def _asked(self) -> list[View]:
        questions = self.questions()
        if not questions:
            return []
        places = {entry.fact.call: entry for entry in self.entries if isinstance(entry.fact, e.ApprovalAsked)}
        opened = self.entries[0].fact
        where = []
        if isinstance(opened, e.ConversationOpened):
            where = where_view(self._folder.now(self.entries), opened.sandbox)
        return [
            {**question_view(places[one.call].seq, one), "facts": where, "at": places[one.call].at} for one in questions
        ]

    async def events(self, after: int) -> AsyncIterator[PageEvent]:
        """Every entry after that number, as it is stored; pieces between them, and where it stands when that changes.

        A beat where nothing comes. It ends when the conversation is not followed any more.
        """
        reader = _Reader(min(after, len(self.entries)))
        self._readers.add(reader)
        self._show_growing(reader)
        try:
            while self.followed:
                reader.news.clear()
                for event in self._news_for(reader):
                    yield event
                if self._ended:
                    return
                while not await heard(reader.news):
                    end_if_cancelled()
                    yield PageEvent("beat", {})
                    with suppress(AngeliaError):  # the next beat looks again
                        await self.look_who_drives()
        finally:
            self._readers.discard(reader)

    def fail(self, why: str) -> None:
        """It is not driven any more, and this is why; empty where it is again."""
        self.trouble = why
        self._wake()
        for told in tuple(self._heeding):
            told()

    def end(self, why: str) -> None:
        """It is followed no more by whoever reads it now or comes yet; this is why."""
        self._ended = True
        self.fail(why)

    def heed(self, told: Callable[[], None]) -> Callable[[], None]:
        """Have somebody told at once when `trouble` changes; returns what ends that."""
        self._heeding.add(told)
        return lambda: self._heeding.discard(told)

    # -- following --------------------------------------------------------------------------------------------------

    def _news_for(self, reader: _Reader) -> Iterable[PageEvent]:
        while reader.at < len(self.entries) or reader.pieces:
            if reader.pieces and reader.pieces[0][0] <= reader.at:
                place, piece = reader.pieces.popleft()
                if place == reader.at:  # of what has become an entry meanwhile, the entry tells
                    yield PageEvent("live", piece)
                continue
            if reader.at >= len(self.entries):
                break
            view = self._views.view(self.entries[reader.at])
            reader.at += 1
            yield PageEvent("entry", view, reader.at)
        if (now := self.state()) != reader.state:
            reader.state = now
            yield PageEvent("state", now)

    async def _follow(self) -> None:
        await self._begun.wait()
        try:
            while True:
                end_if_cancelled()
                await self._take(await self._transcript.news(self.conversation, lambda: len(self.entries)))
                self._look_for_session()
                if self.left_open:
                    await self.look_who_drives()
        except AngeliaError as error:  # it was erased, or the home is left
            logger.info("%s is not followed any more: %s", self.conversation, error)
        finally:
            self._wake()

    def _look_for_session(self) -> None:
        """Hear the pieces of whichever session of this process has it open now."""
        session = self._here()
        if session is self._session:
            return
        self._unwatch()
        self._session, self._unwatch = session, lambda: None
        if session:
            self._unwatch = session.live.watch(self._see)
            self._show_growing(*self._readers)

    def _show_growing(self, *readers: _Reader) -> None:
        """Tell them what has come by now of the reply that is being written; they come in the middle of it."""
        for event in self._session.live.growing if self._session else ():
            self._tell(event, readers)

    def look(self) -> None:
        """A session may have been opened in this process."""
        self._look_for_session()

    async def look_who_drives(self) -> None:
        """Have `left_open` say whether something is open that nobody drives: that a process died stands in no log.

        Raises:
            StoreError: it cannot be looked up.
        """
        is_open = bool(self.turn.opened or self.turn.unread) and not waits_for_program(self.turn)
        left = is_open and not await self._transcript.at_work([self.conversation])
        if left is not self.left_open:
            self.left_open = left
            self._wake()

    async def _take(self, entries: Sequence[e.Entry]) -> None:
        fresh = [entry for entry in entries if entry.seq > len(self.entries)]
        self.entries += fresh
        self.turn = await in_slices(folding(self.turn, self.entries))
        for entry in fresh:
            self._views.learn(entry)
            self._meter.add(entry)
            self._note(entry)
        self._wake()

    def _note(self, entry: e.Entry) -> None:
        match entry.fact:
            case e.UserSaid(parts=parts) | e.DeliveryQueued(parts=parts):
                found = [media_view(entry.seq, at, part) for at, part in enumerate(parts) if isinstance(part, Media)]
                known = {(one["name"], one["size"]) for one in self._files}
                self._files += [one for one in found if (one["name"], one["size"]) not in known]
            case e.ToolFinished(status=CallStatus.OK, call=call) if self._is_plan(call):
                self._plan = [{"text": clean(one.text), "state": one.status} for one in todos(self.entries)]
            case e.WorkStarted(call=call):
                self._begun_at[call] = entry.at
            case e.TurnClosed():
                self._unpriced_before = self._meter.unpriced
            case _:
                return

    def _is_plan(self, call: CallId) -> bool:
        known = self._views.calls.get(call)
        return known is not None and known.name == TODO

    def _see(self, event: live.LiveEvent) -> None:
        """Called on the loop by whoever drives here, in the order in which it happens; the log may be read later."""
        if isinstance(event, live.Committed):
            self._begun.set()
        else:
            self._tell(event, self._readers)

    def _tell(self, event: live.LiveEvent, readers: Iterable[_Reader]) -> None:
        if (piece := _piece(event)) is None:
            return
        for reader in readers:
            reader.pieces.append((self._place, piece))
            reader.news.set()

    @property
    def _place(self) -> int:
        """After which entry comes what is being written now: whoever drives knows of entries before they are read."""
        return len(self._session.log.entries) if self._session else len(self.entries)

    def _wake(self) -> None:
        self._state = None
        for reader in self._readers:
            reader.news.set()

    @property
    def _work(self) -> list[e.WorkStarted]:
        return self._behind.now(self.entries)


def spent_view(cost: int, tokens: int, unpriced: int) -> dict[str, int]:
    """Money and tokens; the cost is -1 where nothing is known of it, since nobody knows that it was nothing."""
    return {"cost": -1 if unpriced and not cost else cost, "tokens": tokens, "unpriced": unpriced}


def _work_view(begun: e.WorkStarted) -> View:
    child = begun.child.id if begun.child else ""
    return {"call": begun.call, "kind": begun.work, "what": clean(begun.what), "child": child}


def _piece(event: live.LiveEvent) -> View | None:
    match event:
        case live.Writing(text=text):
            return {"kind": "writing", "text": clean(text)}
        case live.Thinks(text=text):
            return {"kind": "thinking", "text": clean(text)}
        case live.CallComing(name=name):
            return {"kind": "coming", "name": clean(name)}
        case live.Working(call=call, text=text):
            return {"kind": "output", "call": call, "text": clean(text)}
        case live.Resting(until=until, why=why):
            return {"kind": "waiting", "until": until, "why": clean(why)}
        case live.Awaiting(model=model, since=since, until=until):
            return {"kind": "asked", "name": model, "since": since, "until": until}
        case live.Compacting():
            return {"kind": "folding"}
        case live.Committed() | live.WorkingShows():
            return None
