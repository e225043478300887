"""What a program may watch while a turn runs.

Nothing depends on anybody watching: the answer comes by itself.
"""

from collections.abc import Iterator

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import CallStatus, Media, Text, ToolCall
from angelia.core.ids import CallId
from angelia.engine.calls import calls_of
from angelia.engine.live import Awaiting, Committed, LiveEvent, Resting, Thinks, Working, Writing
from angelia.faces.words.transcript_lines import Tone, TranscriptLines, reply_text
from angelia.faces.words.wait_lines import awaiting_words, resting_words


class TextArrived(Struct, frozen=True):
    """Some more of a reply's text."""

    text: str


class TextDropped(Struct, frozen=True):
    """What arrived since the last reply was cut off, and is void: the model is asked again, from its beginning."""

    why: str


class ThoughtArrived(Struct, frozen=True):
    """Some more of the model's thinking, as far as the provider shows it."""

    text: str


class ProgressSaid(Struct, frozen=True):
    """The reply that has just arrived was said on the way to more work. It is not the answer."""

    text: str


class CallBegan(Struct, frozen=True):
    """A tool runs. `arguments` is JSON text, as the model wrote it."""

    call: CallId
    tool: str
    arguments: str


class CallShowed(Struct, frozen=True):
    """Some output of a running call."""

    call: CallId
    text: str


class CallEnded(Struct, frozen=True):
    """What a call came to; `text` is what the model reads of it, `seconds` is wall time."""

    call: CallId
    tool: str
    status: CallStatus
    text: str
    seconds: float


class Noted(Struct, frozen=True):
    """A sentence that a person at a terminal would read: a wait, a retry, a fallback, what became of a file."""

    text: str


Event = TextArrived | TextDropped | ThoughtArrived | ProgressSaid | CallBegan | CallShowed | CallEnded | Noted


class EventReader:
    """Tells one conversation's events, in order; it remembers the calls, so that a result names its tool."""

    def __init__(self) -> None:
        self._lines = TranscriptLines()
        self._calls: dict[CallId, ToolCall] = {}
        self._arriving = False

    def learn(self, entry: e.Entry) -> None:
        """An entry of before: nothing is told of it."""
        self._lines.tell(entry)
        self._know(entry.fact)

    def read(self, event: LiveEvent) -> Iterator[Event]:
        """What one event of the engine is for whoever watches from outside; many are nothing."""
        match event:
            case Writing(text=text):
                self._arriving = True
                yield TextArrived(text)
            case Thinks(text=text):
                yield ThoughtArrived(text)
            case Working(call=call, text=text):
                yield CallShowed(call, text)
            case Resting():
                yield Noted(resting_words(event, "cancelling stops"))
            case Awaiting():
                yield Noted(awaiting_words(event, "cancelling stops"))
            case Committed(entries=entries):
                for entry in entries:
                    yield from self._entry(entry)
            case _:
                return

    def _know(self, fact: e.AnyFact) -> None:
        if isinstance(fact, e.ModelSaid | e.FilesNamed):
            self._calls.update({call.id: call for call in calls_of(fact)})

    def _entry(self, entry: e.Entry) -> Iterator[Event]:
        fact = entry.fact
        lines = self._lines.tell(entry)
        self._know(fact)
        match fact:
            case e.ModelSaid(parts=parts):
                self._arriving = False
                if (text := reply_text(parts)) and any(isinstance(part, ToolCall) for part in parts):
                    yield ProgressSaid(text)
            case e.ModelFailed():
                why = next((line.text for line in lines if line.tone is Tone.WARNING), "")
                yield TextDropped(why) if self._arriving else Noted(why)
                self._arriving = False
            case e.ToolStarted(call=number) if call := self._calls.get(number):
                yield CallBegan(number, call.name, call.arguments)
            case e.ToolFinished(call=number, status=status, parts=parts, seconds=seconds):
                tool = self._calls[number].name if number in self._calls else ""
                text = "\n".join(part.text for part in parts if isinstance(part, Text))
                yield CallEnded(number, tool, status, text, seconds)
            case e.DeliveryQueued(origin="notice", parts=parts):
                yield from (Noted(part.text) for part in parts if not isinstance(part, Media))
            case e.TurnClosed() | e.ApprovalGiven() | e.ApprovalRefused():
                return  # the program gets the first as answer or exception, and gave the others itself
            case _:
                yield from (Noted(line.text) for line in lines if line.tone in (Tone.NOTE, Tone.WARNING))
