"""A turn as a program follows it: words while they are written, entries as they are stored, and what it came to."""

import asyncio
import weakref
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack

from msgspec import Struct

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Media, Text
from angelia.core.ids import ConversationId, DeliveryId
from angelia.engine import live
from angelia.engine.reply_text import words_of
from angelia.faces.web.conversations.beats import heard
from angelia.faces.web.conversations.web_conversations import WebConversations
from angelia.faces.web.v1.program_calls import ProgramCall, handed_over
from angelia.faces.web.v1.refusals import ApiRefused
from angelia.faces.web.v1.turn_place import TurnPlace
from angelia.service.conversation.open_questions import open_in
from angelia.service.conversation.session import Session

_ASIDE = frozenset({"notice", "question"})
"""What is told on the way, and belongs to no answer."""


class Wrote(Struct, frozen=True):
    """Some more words of the reply that is being written; not durable."""

    text: str


class Beat(Struct, frozen=True):
    """Nothing has come for a while."""


TurnEvent = Wrote | e.Entry | Beat


class FileForProgram(Struct, frozen=True):
    """A file that goes to the program: part number `part` of the entry `seq`."""

    seq: int
    part: int
    media: Media


class TurnResult(Struct, frozen=True):
    """What a turn came to, by the log; `ending` is None while it runs.

    `words` are what its person is told: the answer, and the sentence of an ending that needs one. `at` is when it was
    asked for and `ended` when it ended, Unix milliseconds. `deliveries` are what is settled by giving this to somebody.
    `handed` is the entry that hands calls to the program, where the turn waits for what they come to; else 0.
    """

    seq: int
    at: int
    model: str = ""
    words: str = ""
    files: tuple[FileForProgram, ...] = ()
    usage: e.Usage = e.Usage()
    ending: end.Ending | None = None
    ended: int = 0
    deliveries: tuple[DeliveryId, ...] = ()
    handed: int = 0

    @property
    def over(self) -> bool:
        """Whether this is all that is to be said before somebody else says something."""
        return self.ending is not None or bool(self.handed)


def turn_result(entries: Sequence[e.Entry], seq: int) -> TurnResult:
    """What the turn came to that the message, or the results, number `seq` began or went on with."""
    model, usage, words = "", [0] * 5, list[str]()
    files, deliveries = list[FileForProgram](), list[DeliveryId]()
    ending: end.Ending | None = None
    ended, handed, said = 0, 0, ""
    for entry in entries[seq:]:
        match entry.fact:
            case e.ModelAsked(model=asked):
                model = asked
            case e.ModelSaid(usage=one) | e.ModelFailed(usage=one):
                said = words_of(entry.fact) if isinstance(entry.fact, e.ModelSaid) else said
                more = (one.input, one.output, one.cache_read, one.cache_write, one.thinking)
                usage = [before + new for before, new in zip(usage, more, strict=True)]
            case e.DeliveryQueued(address=address, parts=parts) if address.door == e.API:
                deliveries.append(entry.fact.id)
                if entry.fact.origin in _ASIDE:
                    continue
                words += [part.text for part in parts if isinstance(part, Text)]
                files += [
                    FileForProgram(entry.seq, at, part) for at, part in enumerate(parts) if isinstance(part, Media)
                ]
            case e.CallsHandedOver() if ending is None:
                handed, ended, words = entry.seq, entry.at, [said]
                break
            case e.TurnClosed(ending=found) if ending is None:
                ending, ended = found, entry.at
            case _ if ending is not None:
                break
            case _:
                continue
    total = e.Usage(*usage)
    at = entries[seq - 1].at
    told = "\n\n".join(words)
    return TurnResult(seq, at, model, told, tuple(files), total, ending, ended, tuple(deliveries), handed)


class StoredTurn:
    """A turn as its log has it now, which nobody follows and nothing drives on."""

    def __init__(self, conversation: ConversationId, entries: Sequence[e.Entry], seq: int) -> None:
        self.conversation, self.entries = conversation, entries
        self.seq = seq

    def result(self) -> TurnResult:
        """What it has come to."""
        return turn_result(self.entries, self.seq)

    def waits(self) -> bool:
        """Whether something waits for a person."""
        return bool(open_in(self.entries))


class FollowedTurn:
    """Follows the turn that a message opens, from before it is said; or from the log, where it was said earlier.

    Whoever only looks at it lets it go, and nothing is left of it then.
    """

    def __init__(self, conversations: WebConversations, session: Session) -> None:
        self.session = session
        self._conversations = conversations
        self._seen: deque[e.Entry | Wrote] = deque(
            Wrote(one.text) for one in session.live.growing if isinstance(one, live.Writing)
        )
        self._news = asyncio.Event()
        self._end = weakref.finalize(self, session.live.watch(_weakly(self)))
        self.seq = 0

    @property
    def conversation(self) -> ConversationId:
        """Whose turn it is."""
        return self.session.conversation

    @property
    def entries(self) -> Sequence[e.Entry]:
        """The log of its conversation."""
        return self.session.log.entries

    def waits(self) -> bool:
        """Whether something waits for a person."""
        return bool(self.session.questions())

    def begin_at(self, seq: int) -> None:
        """It was opened by the message of this number; what is stored of it already comes first."""
        self.seq = seq
        stored = self.session.log.entries[seq:]
        known = len(self.session.log.entries)
        later = [one for one in self._seen if isinstance(one, Wrote) or one.seq > known]
        self._seen = deque([*stored, *later])

    def calls(self) -> tuple[ProgramCall, ...]:
        """The calls that the program is to answer; none where the turn is over."""
        handed = self.result().handed
        return handed_over(self.session.log.entries, handed, self.conversation) if handed else ()

    def result(self) -> TurnResult:
        """What it has come to by now."""
        return turn_result(self.session.log.entries, self.seq)

    async def events(self) -> AsyncIterator[TurnEvent]:
        """All of it, in order, to its end; what is stored of it already at once.

        Raises:
            ApiRefused: it is not driven any more; what was said is kept.
        """
        heeding = ExitStack()
        heeding.callback(self._end)
        with heeding:
            async with self._conversations.watched(self.conversation) as watched:
                heeding.callback(watched.heed(self._news.set))
                while True:
                    while self._seen:
                        one = self._seen.popleft()
                        yield one
                        if isinstance(one, e.Entry) and isinstance(one.fact, e.TurnClosed | e.CallsHandedOver):
                            return
                    self._news.clear()
                    if watched.trouble:
                        raise ApiRefused(503, "The answer cannot be had now.", watched.trouble, self._kept())
                    if not await heard(self._news):
                        yield Beat()

    async def ended(self) -> TurnResult:
        """Wait for its end.

        Raises:
            ApiRefused: as `events`.
        """
        async for _ in self.events():
            pass
        return self.result()

    def _kept(self) -> str:
        place = TurnPlace(self.conversation, self.seq)
        return f"The message is kept; `GET /v1/chat/completions/{place.named('chatcmpl')}` has what comes of it."

    def see(self, event: live.LiveEvent) -> None:
        """Called on the loop by whoever drives; pieces of one reply are joined, so that a slow reader costs little."""
        match event:
            case live.Committed(entries=entries):
                self._seen.extend(entry for entry in entries if entry.seq > self.seq)
            case live.Writing(text=text):
                last = self._seen[-1] if self._seen else None
                if isinstance(last, Wrote):
                    self._seen[-1] = Wrote(last.text + text)
                else:
                    self._seen.append(Wrote(text))
            case _:
                return
        self._news.set()


def _weakly(turn: FollowedTurn) -> live.Watcher:
    """Tells the turn as long as anybody has it."""
    held = weakref.ref(turn)

    def watcher(event: live.LiveEvent) -> None:
        if (there := held()) is not None:
            there.see(event)

    return watcher
