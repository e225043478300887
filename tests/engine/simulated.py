"""A turn without I/O: the machine decides, a world of one's choosing answers, and the log grows."""

from collections.abc import Callable

from angelia.core import entry as e
from angelia.core.content import CallStatus, ReplyPart, Text, Thinking, ToolCall
from angelia.core.failure import Failure, FailureKind
from angelia.core.ids import CallId, call_id
from angelia.engine import machine as m
from angelia.engine.reply_files import named_by
from angelia.engine.state import Turn, advance
from angelia.tools.port import Traits

TRAITS = {"look": Traits(reads_only=True), "shell": Traits(), "todo": Traits(housekeeping=True)}
RULES = m.Rules(traits=TRAITS, credentials=(2, 1), can_refresh=True, can_describe=True)

Answer = Callable[["Simulated"], None]
"""Says what the model does when it is asked: appends one reply or failure."""


TERMINAL = e.Address("terminal")


class Simulated:
    """One conversation in memory."""

    def __init__(self, rules: m.Rules = RULES) -> None:
        self.rules, self.log, self.turn, self.now = rules, list[e.Entry](), Turn(), 1_000
        self.effects: list[m.Effect] = []

    def copy(self) -> "Simulated":
        """The same conversation, to go on differently."""
        other = Simulated(self.rules)
        other.log, other.turn, other.now, other.effects = list(self.log), self.turn, self.now, list(self.effects)
        return other

    def add(self, *facts: e.AnyFact) -> None:
        """Append facts."""
        for fact in facts:
            self.log.append(e.Entry(len(self.log) + 1, self.now, fact))
        self.turn = advance(self.turn, self.log, self.rules.table)

    def say(self, text: str = "do it", arrival: e.Arrival = e.Arrival.STEER, address: e.Address = TERMINAL) -> None:
        """A person speaks."""
        self.add(e.UserSaid((Text(text),), address=address, arrival=arrival))

    def decide(self, fit: m.Fit = m.Fit.FITS) -> m.Effect:
        """What the machine wants now."""
        return m.decide(self.turn, self.rules, m.Moment(self.now, fit=fit))

    def until_asked(self) -> m.Effect:
        """Perform everything up to the next request; returns AskModel (already recorded), or the Rest after closing."""
        while True:
            effect = self.decide()
            self.effects.append(effect)
            self.perform(effect)
            if isinstance(effect, m.AskModel) or effect == m.Rest():
                return effect

    def perform(self, effect: m.Effect) -> None:
        """The driver's part."""
        match effect:
            case m.AskModel(heard=heard, attempt=attempt):
                self.add(e.ModelAsked("test:model", attempt, heard))
            case m.Rest(until=until):
                self.now = until or self.now
            case m.RunTools(calls=calls):
                for call in calls:
                    self.run(call)
            case m.Settle(calls=calls, status=status, why=why):
                self.add(*(e.ToolFinished(call, status, (Text(why),)) for call in calls))
            case m.UseRemedy(choice=choice, delay=delay):
                until = self.now + delay if delay else 0
                self.add(e.RemedyUsed(choice.failure, choice.remedy, until=until))
            case m.Transcribe() | m.LeaveUnheard():
                self.listen(effect)
            case m.PlaceFiles(message=seq):
                self.add(e.FilesPlaced(seq, (e.Placed(0, "file", f"inbox/{seq}"),)))
            case m.SpeakAnswer(replies=replies):
                self.add(e.SpeechAsked(replies, "mouth"), e.SpeechMade(replies, why="It is silent."))
            case m.Compact():
                self.add(e.ViewMoved(reason="fit"))
            case m.Close(ending=ending):
                self.add(e.TurnClosed(ending))

    def listen(self, effect: m.Transcribe | m.LeaveUnheard) -> None:
        """A recording that ends every process that listens to it."""
        if isinstance(effect, m.Transcribe):
            self.add(e.TranscriptAsked(effect.message, "scribe"))
        else:
            self.add(e.Transcribed(effect.message, "", (e.Spoken(0, why=effect.why),)))

    def run(self, call: str) -> None:
        """The broker's part: an unknown tool is a bad call, `look` brings the same every time."""
        name = next(c.name for c in self.turn.calls if c.id == call)
        if name == "send_file":
            self.send(call_id_of(call))
            return
        if name not in self.rules.traits:
            self.add(e.ToolFinished(call_id_of(call), CallStatus.BAD_CALL, (Text(f"no tool {name}"),)))
            return
        digest = "same" if name == "look" else f"d{len(self.log)}"
        self.add(e.ToolStarted(call_id_of(call)))
        self.add(e.ToolFinished(call_id_of(call), CallStatus.OK, (Text("done"),), digest=digest))

    def send(self, call: CallId) -> None:
        """A file is there, unless its name says that it is gone."""
        path = next(made.arguments for made in self.turn.files.calls if made.id == call)
        if "gone" in path:
            result = e.ToolFinished(call, CallStatus.ERROR, (Text("There is no such file."),))
        else:
            result = e.ToolFinished(call, CallStatus.OK, (Text("Queued."),))
        self.add(e.ToolStarted(call, replayable=True), result)

    def reply(self, text: str = "", *calls: str, stop: e.StopReason = e.StopReason.END, thinking: str = "") -> None:
        """The model replies."""
        asked = self.turn.asked
        parts: list[ReplyPart] = [Thinking(thinking)] if thinking else []
        parts += [Text(text)] if text else []
        parts += [ToolCall(call_id(asked, i), name, "{}") for i, name in enumerate(calls)]
        said = e.ModelSaid("test:model", tuple(parts), stop)
        begun = self.turn.answer if self.turn.joins else ()
        self.add(said, *named_by(self.log, begun, said, asked))

    def fail(self, kind: FailureKind, retry_after: int = 0) -> None:
        """The request fails, in the way in which this kind shows itself in a log."""
        match kind:
            case FailureKind.THINKING_ONLY:
                self.reply(thinking="hm")
            case FailureKind.CUT_OFF:
                self.reply("part", stop=e.StopReason.LENGTH)
            case FailureKind.BAD_CALL:
                self.reply("", "nonesuch")
            case FailureKind.CIRCLES:
                self.reply("", "look")
            case FailureKind.FILE_REFUSED:
                self.reply("See.\nMEDIA:/gone.pdf")
            case _:
                self.add(e.ModelFailed("test:model", Failure(kind, said="said so", retry_after=retry_after)))

    @property
    def endings(self) -> list[e.TurnClosed]:
        """How the turns so far ended."""
        return [entry.fact for entry in self.log if isinstance(entry.fact, e.TurnClosed)]


def call_id_of(call: str) -> CallId:
    """A call id from its text."""
    return CallId(call)
