"""What a call left running: its beginning and its end are facts, and the end is told once, whatever dies."""

from collections.abc import Callable, Sequence

from msgspec import structs

from angelia.core import entry as e
from angelia.core.content import CallStatus, Content, Text, ToolCall
from angelia.core.crash import crash_point
from angelia.core.ids import CallId, delivery_id
from angelia.core.text import clean, one_line
from angelia.engine.log import Log
from angelia.store.log.lease import Lease
from angelia.tools.port import ToolOutcome

_LOST = (
    "It ended together with the process of Angelia that held it. It may or may not have done its work: look before "
    "you start it again."
)


class Background:
    """The processes behind one conversation. `life` names this process of ours to those that come after it."""

    def __init__(self, log: Log, redact: Callable[[str], str], life: Callable[[], str]) -> None:
        self._log = log
        self._redact = redact
        self._life = life

    def facts(self, call: ToolCall, outcome: ToolOutcome) -> list[e.AnyFact]:
        """What a result says of processes, for the commit that holds it."""
        if outcome.goes_on:
            return [e.ProcessStarted(call.id, self._redact(clean(outcome.goes_on)), self._life())]
        return [e.ProcessEnded(outcome.ended, outcome.status, told_by=call.id)] if outcome.ended else []

    def notices(self, call: CallId, outcome: ToolOutcome, address: e.Address) -> list[e.AnyFact]:
        """What the person is told besides, as one message for the commit that holds the result."""
        if not outcome.notices:
            return []
        text = self._redact(clean("\n".join(outcome.notices)))
        name = delivery_id(self._log.conversation, f"{call}.notices")
        return [e.DeliveryQueued(name, address, (Text(text),), "notice")]

    async def ended(self, call: CallId, outcome: ToolOutcome, address: e.Address) -> None:
        """What `call` left running has ended, and no result told it: the model reads it with its next request, and
        the person is told at `address`.
        """
        parts = tuple(cleaned(part, self._redact) for part in outcome.parts)
        fact = e.ProcessEnded(call, outcome.status, parts, outcome.full)
        crash_point("process.ended")
        await self._log.append(fact, notice(self._log, fact, address), *self.notices(call, outcome, address))
        crash_point("process.told")


class BackgroundProcesses:
    """What goes on behind the results of one conversation, as far as its log tells; only what is new is looked at."""

    def __init__(self) -> None:
        self._begun: dict[CallId, e.ProcessStarted] = {}
        self._over: set[CallId] = set()
        self._seen = 0

    def now(self, log: Sequence[e.Entry]) -> list[e.ProcessStarted]:
        """What was begun and has not ended; a quick end may stand before its beginning."""
        for entry in log[self._seen :]:
            if isinstance(entry.fact, e.ProcessStarted):
                self._begun[entry.fact.call] = entry.fact
            elif isinstance(entry.fact, e.ProcessEnded):
                self._over.add(entry.fact.call)
        self._seen = len(log)
        return [fact for call, fact in self._begun.items() if call not in self._over]


async def lose(log: Log, lost: Sequence[e.ProcessStarted], lease: Lease) -> None:
    """Note what ended with a life that held it, and tell whoever spoke last."""
    spoken = (entry.fact for entry in reversed(log.entries) if isinstance(entry.fact, e.Opening))
    said = next(spoken, e.UserSaid(()))
    facts: list[e.AnyFact] = []
    for started in lost:
        fact = e.ProcessEnded(started.call, CallStatus.UNKNOWN, (Text(_LOST),))
        facts += [fact, notice(log, fact, said.address)]
    await log.append(*facts, lease=lease)


def notice(log: Log, ended: e.ProcessEnded, address: e.Address) -> e.DeliveryQueued:
    """What the person reads of an end: which command, and how it ended."""
    begun = {x.fact.call: x.fact.command for x in log.entries if isinstance(x.fact, e.ProcessStarted)}
    command = begun.get(ended.call, "")
    last = "".join(part.text for part in ended.parts if isinstance(part, Text)).rstrip().rpartition("\n")[2]
    text = f"The background command `{one_line(command, 100)}` has ended: {one_line(last.strip('[]'), 300)}"
    return e.DeliveryQueued(delivery_id(log.conversation, f"{ended.call}.end"), address, (Text(text),), "notice")


def cleaned(part: Content, redact: Callable[[str], str]) -> Content:
    """A part as it may be stored: text that can be encoded, without known secrets."""
    return structs.replace(part, text=redact(clean(part.text))) if isinstance(part, Text) else part
