"""What happens in a session, told as updates: pure, from entries and live events to the protocol's words."""

from collections.abc import Iterator

from msgspec import Struct

from angelia.context.budget import ASSUMED_WINDOW
from angelia.context.limits import Learnt, learnt_limits
from angelia.context.usage_meter import UsageMeter
from angelia.core import entry as e
from angelia.core.content import CallStatus, Content, Media, MediaKind, Text, Thinking, ToolCall
from angelia.core.ids import CallId
from angelia.core.text import clean, one_line
from angelia.engine.live import (
    Awaiting,
    CallComing,
    Committed,
    Compacting,
    LiveEvent,
    Resting,
    Thinks,
    Working,
    WorkingShows,
    Writing,
)
from angelia.faces.acp import calls
from angelia.faces.acp import outgoing as o
from angelia.faces.acp.endings import told
from angelia.faces.words.transcript_lines import Tone, TranscriptLines
from angelia.faces.words.wait_lines import awaiting_words, resting_words
from angelia.tools.people.todo import NAME as TODO
from angelia.tools.people.todo import TodoItem, todos

_STEPS = {"pending": "pending", "active": "in_progress", "done": "completed"}


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


class Streamed(Struct):
    """What no entry tells yet: of a reply text and thinking, of calls the end of their output, the medium that they
    showed last, and their terminals.
    """

    text: str = ""
    thought: str = ""
    tails: dict[CallId, str] = {}
    media: dict[CallId, Media] = {}
    terminals: dict[CallId, str] = {}


class SessionUpdates:
    """Remembers of a session what the next update depends on: the calls, and what of a reply was streamed already.

    A reply that has to be asked again gets a new message id, after a note. `window` is the model's, in tokens.
    """

    def __init__(self, workspace: str, window: int = 0) -> None:
        self.window, self.usage_meter = window, UsageMeter()
        self.calls: dict[CallId, ToolCall] = {}
        self.workspace = workspace
        self._notes = TranscriptLines()
        self._entries: list[e.Entry] = []
        self._reply = 0
        self._titled = False
        self._joins = False
        self.streamed = Streamed()
        self._waiting = ""
        self._awaited = False
        self._model, self._learnt = "", Learnt()

    # -- as it happens ------------------------------------------------------------------------------------------

    def tell(self, event: LiveEvent, mine: frozenset[str] = frozenset()) -> Iterator[o.Update]:
        """The updates for one event; messages whose key is in `mine` are known to the client."""
        match event:
            case Committed(entries=entries):
                for entry in entries:
                    yield from self._entry(entry, mine)
            case Writing(text=text):
                self.streamed.text += text
                yield o.AgentChunk(o.AcpWords(clean(text)), f"r{self._reply}")
            case Thinks(text=text):
                self.streamed.thought += text
                yield o.ThoughtChunk(o.AcpWords(clean(text)), f"t{self._reply}")
            case Working(call=call, text=text) if call in self.calls and call not in self.streamed.terminals:
                self.streamed.tails[call] = (self.streamed.tails.get(call, "") + text)[-calls.TAIL :]
                yield calls.working(self.calls[call], self.streamed.tails[call], self.streamed.media.get(call))
            case WorkingShows(call=call, media=media) if call in self.calls:
                self.streamed.media[call] = media
                yield calls.working(self.calls[call], self.streamed.tails.get(call, ""), media)
            case Resting(until=until, why=why) if why != self._waiting:
                self._waiting = why
                yield self._note(_sentence(resting_words(event, "stopping the turn ends this")), f"w{until}")
            case Awaiting(since=since) if not self._awaited:
                self._awaited = True  # once a turn: a note stays, and a slow model is slow each time
                yield self._note(_sentence(awaiting_words(event, "stopping the turn ends this")), f"a{since}")
            case Compacting():
                yield self._note("Making room in the model's window.", f"f{len(self._entries)}")
            case Working() | WorkingShows() | CallComing() | Resting() | Awaiting():
                return

    def _entry(self, entry: e.Entry, mine: frozenset[str]) -> Iterator[o.Update]:
        match entry.fact:
            case e.UserSaid(key=key) if key in mine:
                self._remember(entry)
                yield from self._title(entry.fact)
            case e.ToolStarted(call=call) if call in self.calls:
                self._remember(entry)
                yield calls.working(self.calls[call], "")
            case e.ModelSaid():
                yield from self._past(entry)
                yield from self._usage()
            case e.ToolFinished(call=call) if call in self.calls:
                yield from self._past(entry)
                if self.calls[call].name == TODO and entry.fact.status is CallStatus.OK:
                    yield plan(todos(self._entries))
            case _:
                yield from self._past(entry)

    def in_terminal(self, call: CallId, terminal: str) -> Iterator[o.Update]:
        """A call's command is to be seen in a terminal of the client, now and when it has ended."""
        if call in self.calls:
            self.streamed.terminals[call] = terminal
            yield calls.in_terminal(self.calls[call], terminal)

    # -- from the log -------------------------------------------------------------------------------------------

    def replay(self, entries: list[e.Entry]) -> Iterator[o.Update]:
        """A whole conversation as it is shown to somebody who opens it; then its plan and what it has used."""
        for entry in entries:
            yield from self._past(entry)
        if items := todos(entries):
            yield plan(items)
        yield from self._usage()

    def skip(self, entries: list[e.Entry]) -> None:
        """Take in a conversation that its client knows already."""
        for _ in self.replay(entries):
            continue

    def go_on_from(self, streamed: Streamed) -> Iterator[o.Update]:
        """After a replay of a turn that runs: what had been streamed of it, and the calls that are not over."""
        self.streamed = streamed
        if streamed.thought:
            yield o.ThoughtChunk(o.AcpWords(clean(streamed.thought)), f"t{self._reply}")
        if streamed.text:
            yield o.AgentChunk(o.AcpWords(clean(streamed.text)), f"r{self._reply}")
        facts = [entry.fact for entry in self._entries]
        over = {fact.call for fact in facts if isinstance(fact, e.ToolFinished)}
        for fact in facts:
            if isinstance(fact, e.ToolStarted) and fact.call in self.calls and fact.call not in over:
                call = self.calls[fact.call]
                if terminal := streamed.terminals.get(call.id):
                    yield calls.in_terminal(call, terminal)
                else:
                    yield calls.working(call, streamed.tails.get(call.id, ""), streamed.media.get(call.id))

    def _past(self, entry: e.Entry) -> Iterator[o.Update]:  # noqa: C901 - one closed vocabulary, one line a kind
        """What an entry shows, beside what was streamed of it."""
        self._remember(entry)
        match entry.fact:
            case e.UserSaid(parts=parts) | e.Occurred(parts=parts) | e.Delegated(parts=parts):
                for part in parts:
                    yield o.UserChunk(_plain(part), f"u{entry.seq}")
                yield from self._title(entry.fact)
            case e.ModelAsked():
                self._asked(entry)
            case e.ModelSaid():
                yield from self._said(entry.fact)
            case e.FilesNamed(files=files):
                for file in files:
                    yield self._made(file.call)
            case e.ModelFailed():
                yield from self._failed(entry)
            case e.ToolFinished(call=call) if call in self.calls:
                self.streamed.tails.pop(call, None)
                self.streamed.media.pop(call, None)
                yield calls.finished(
                    self.calls[call], entry.fact, self.workspace, self.streamed.terminals.get(call, "")
                )
            case e.WorkEnded(call=call, told_by="") if call in self.calls and call not in self.streamed.terminals:
                yield calls.ended(self.calls[call], entry.fact)
            case e.DeliveryQueued(parts=parts, origin=origin, id=number) if origin not in ("answer", "ending"):
                for part in parts:
                    yield from _given(part, f"d{entry.seq}", number)
            case e.TurnClosed(ending=ending):
                self._awaited = False
                self._joins = False
                if words := told(ending):
                    yield o.AgentChunk(o.AcpWords(f"{words}\n"), f"e{entry.seq}")
            case _:
                yield from self._noted(entry)

    def _remember(self, entry: e.Entry) -> None:
        self._entries.append(entry)
        self.usage_meter.add(entry)
        if isinstance(entry.fact, e.SetupChanged) and entry.fact.model != self._model:
            self._model, self._learnt = entry.fact.model, Learnt()
        self._learnt = learnt_limits((entry,), self._model, self._learnt)

    def _asked(self, entry: e.Entry) -> None:
        """A reply that goes on where the last one stopped is the same message."""
        self._waiting = ""
        if not self._joins:
            self._reply = entry.seq
        self.streamed.text = self.streamed.thought = ""

    def _said(self, fact: e.ModelSaid) -> Iterator[o.Update]:
        text = "".join(part.text for part in fact.parts if isinstance(part, Text))
        thought = "".join(part.text for part in fact.parts if isinstance(part, Thinking))
        if thought and not self.streamed.thought:
            yield o.ThoughtChunk(o.AcpWords(thought), f"t{self._reply}")
        if text and not self.streamed.text:
            yield o.AgentChunk(o.AcpWords(text), f"r{self._reply}")
        self.streamed.text = self.streamed.thought = ""
        self._joins = fact.stop in (e.StopReason.LENGTH, e.StopReason.PAUSE)
        for part in fact.parts:
            if isinstance(part, ToolCall):
                yield self._made(part)

    def _made(self, call: ToolCall) -> o.Update:
        self.calls[call.id] = call
        return calls.made(call, self.workspace)

    def _failed(self, entry: e.Entry) -> Iterator[o.Update]:
        """What had been shown of a reply that came to nothing is marked as cut; the next one is a new message."""
        if self.streamed.text.strip():
            yield o.AgentChunk(o.AcpWords("\n\n*(The reply was cut off here.)*\n\n"), f"n{entry.seq}")
        self.streamed.text = self.streamed.thought = ""
        self._joins = False
        yield from self._noted(entry)

    def _noted(self, entry: e.Entry) -> Iterator[o.Update]:
        """Remedies, moves of the view and the like, in the words that the terminal has for them."""
        for line in self._notes.tell(entry):
            if line.tone in (Tone.NOTE, Tone.WARNING) and not isinstance(entry.fact, _ASKED):
                yield self._note(line.text, f"n{entry.seq}")

    def _note(self, text: str, message: str) -> o.ThoughtChunk:
        return o.ThoughtChunk(o.AcpWords(f"{clean(text)}\n"), message)

    def _title(self, said: e.Opening) -> Iterator[o.InfoIs]:
        """The first message names the session; the names of its files, where nothing was said."""
        if self._titled:
            return
        words = " ".join(part.text for part in said.parts if isinstance(part, Text))
        names = " ".join(part.name or part.media for part in said.parts if isinstance(part, Media))
        if title := one_line(words, 80) or one_line(names, 80):
            self._titled = True
            yield o.InfoIs(title)

    def _usage(self) -> Iterator[o.Update]:
        """Of the model's window, as the provider named it or as it is listed; else of the one that is planned with."""
        if self.usage_meter.context:
            window = min((size for size in (self._learnt.tokens, self.window) if size), default=ASSUMED_WINDOW)
            known = self.usage_meter.cost or (self.usage_meter.replies and not self.usage_meter.unpriced)
            cost = o.Cost(self.usage_meter.cost / 1e6, "USD") if known else None
            yield o.UsageIs(self.usage_meter.context, window, cost)


_ASKED = e.ApprovalGiven | e.ApprovalRefused | e.CancelAsked
"""What the person did in the client itself."""


def plan(items: tuple[TodoItem, ...]) -> o.AcpPlan:
    """The plan that the model noted; it has no priorities."""
    return o.AcpPlan(tuple(o.PlanEntry(item.text, _STEPS[item.status], "medium") for item in items))


def owed(queued: e.DeliveryQueued) -> Iterator[o.AgentChunk]:
    """Something that was to be shown before, and was not."""
    for part in queued.parts:
        yield from _given(part, queued.id, queued.id)


def _given(part: Content, message: str, delivery: str) -> Iterator[o.AgentChunk]:
    """Something sent to the person: pictures are shown, and every file is linked."""
    if not isinstance(part, Media) or part.media is MediaKind.IMAGE:
        yield o.AgentChunk(_plain(part), message)
    if isinstance(part, Media):
        yield o.AgentChunk(o.Unopened(part, delivery), message)


def _plain(part: Content) -> o.Content:
    return o.Unopened(part) if isinstance(part, Media) else o.AcpWords(part.text)
