"""What a turn came to, for the program that asked: an answer, or an exception that says how it ended."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.errors import AngeliaError
from angelia.core.ids import ConversationId
from angelia.core.sentences import sentence


class SentFile(Struct, frozen=True):
    """A file that the model sent: `path` is the copy that is yours, `name` what the model called it."""

    name: str
    path: Path
    mime: str
    size: int


class Answer(Struct, frozen=True):
    """The model's answer; every other ending of a turn is a `NotAnswered`, so nothing else can be taken for one.

    `notes` are sentences that a person at a terminal would have read besides, such as that a picture went out smaller.
    `usage` sums the tokens of the turn. `cost` is US dollars, None where the price of a reply is unknown.
    """

    text: str
    conversation: ConversationId
    model: str
    files: tuple[SentFile, ...] = ()
    notes: tuple[str, ...] = ()
    usage: e.Usage = e.Usage()
    cost: float | None = 0.0

    def __str__(self) -> str:
        return self.text


class NotAnswered(AngeliaError):
    """The turn ended, and not with an answer; the conversation is kept, and can be gone on with by its id.

    `ending` is one of `angelia.endings`; `files`, `notes`, `usage` and `cost` are as in `Answer`.
    """

    def __init__(self, ending: end.Ending, spent: Answer) -> None:
        self.ending = ending
        self.conversation, self.model = spent.conversation, spent.model
        self.files, self.notes = spent.files, spent.notes
        self.usage, self.cost = spent.usage, spent.cost
        super().__init__(sentence(ending))


class TurnTotals(Struct, frozen=True):
    """What a turn took: the model that spoke last, tokens, and millionths of a dollar, -1 if a price is unknown."""

    model: str = ""
    usage: e.Usage = e.Usage()
    cost: int = 0

    @property
    def dollars(self) -> float | None:
        """The cost in US dollars; None if a price is unknown."""
        return None if self.cost < 0 else self.cost / 1e6


def totals(turn: Iterable[e.Entry]) -> TurnTotals:
    """What the entries of one turn took; an unknown price makes the whole unknown."""
    model, cost, unknown = "", 0, False
    sums = [0, 0, 0, 0, 0]
    for entry in turn:
        fact = entry.fact
        if isinstance(fact, e.ModelSaid | e.ModelFailed | e.ViewMoved):
            used = fact.usage
            model = model if isinstance(fact, e.ViewMoved) else fact.model
            counts = (used.input, used.output, used.cache_read, used.cache_write, used.thinking)
            sums = [before + more for before, more in zip(sums, counts, strict=True)]
            unknown = unknown or (fact.cost < 0 and any(counts))
        if isinstance(fact, e.ModelSaid | e.ModelFailed | e.ViewMoved | e.Transcribed):
            cost += max(fact.cost, 0)
        if isinstance(fact, e.ToolFinished | e.SpeechMade):
            cost += max(fact.paid.cost, 0)
            unknown = unknown or fact.paid.cost < 0
    return TurnTotals(model, e.Usage(*sums), -1 if unknown else cost)


def words_of(log: Sequence[e.Entry], closed: int, ending: end.Ending) -> str:
    """What the model answered in the turn that the entry number `closed` ended, without what we say beneath it."""
    after = log[closed:]  # what is delivered is in the same commit, right behind
    queued = next((entry.fact for entry in after if isinstance(entry.fact, e.DeliveryQueued)), None)
    if queued is None or queued.origin != "answer":
        return ""
    text = "\n".join(part.text for part in queued.parts if isinstance(part, Text))
    note = sentence(ending)
    return text.removesuffix(note).rstrip("\n") if note else text
