"""Where the turn that deals with a message ends, what it took, and what the model answered in it."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.sentences import sentence
from angelia.engine.remedies import DEFAULT
from angelia.engine.state import Turn, step


class Following:
    """Finds the ending of the turn that deals with one message; one that came too late for a turn opens the next.

    With a `key` it is the message of that key, said by now or later. Without one it is what opened the turn that is
    open; where none is, the last turn has ended already.
    """

    def __init__(self, log: Sequence[e.Entry], key: str = "") -> None:
        self._log, self._key = log, key
        self._turn = Turn()
        self._next = 0
        self._said = 0
        self.opened, self.closed = 0, 0
        """The entries that opened and that closed that turn; 0 as long as there is none."""
        while self._next < len(log) and not (key and self.closed):
            self._step()
        if not key and self._turn.opened:
            self._said, self.closed = self._turn.opened, 0

    def over(self) -> bool:
        """Whether that turn has ended, as far as the log tells."""
        while not self.closed and self._next < len(self._log):
            self._step()
        return bool(self.closed)

    def _step(self) -> None:
        entry, before = self._log[self._next], self._turn
        self._turn, self._next = step(before, entry, DEFAULT), self._next + 1
        match entry.fact:
            case e.UserSaid(key=key) if key == self._key:
                self._said = entry.seq
            case e.TurnClosed() if not self._key or self._said:
                if self._said not in {late.seq for late in self._turn.unread}:
                    self.opened, self.closed = before.opened, entry.seq


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
