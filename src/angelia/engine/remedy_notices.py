"""What a person in a chat is told of a remedy while the turn goes on; who looks at a screen sees it anyhow."""

from datetime import UTC, datetime

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.failure import FailureKind
from angelia.core.ids import delivery_id
from angelia.engine.caps import WATCHED_DOORS
from angelia.engine.log import Log
from angelia.engine.machine import UseRemedy
from angelia.engine.remedies import Remedy
from angelia.engine.state import Turn

LONG_WAIT = 8_000
"""Milliseconds of a wait that somebody in a chat is told of: once in an outage, and whenever a provider asks for it."""


def notices_of(effect: UseRemedy, until: int, turn: Turn, log: Log) -> list[e.AnyFact]:
    """The notice for whoever opened the turn, to be committed with the remedy."""
    to = turn.opener
    words = _words(effect, until)
    if not words or to is None or to.address.door in WATCHED_DOORS:
        return []
    name = delivery_id(log.conversation, f"t{turn.opened}.r{log.entries[-1].seq}")
    return [e.DeliveryQueued(name, to.address, (Text(words),), "notice", to.reply_to)]


def _words(effect: UseRemedy, until: int) -> str:
    failure, choice = effect.failure, effect.choice
    if choice.remedy is Remedy.LEAVE_OUT and failure.kind is FailureKind.TOOL_REFUSED:
        return f"The provider refuses the tool {failure.names}, so it is left out here. It said: “{failure.said}”"
    first = effect.delay >= LONG_WAIT > _before(effect)
    if choice.remedy is not Remedy.WAIT or not (first or failure.retry_after >= LONG_WAIT):
        return ""
    at = datetime.fromtimestamp(until / 1000, UTC).astimezone()
    why = f" It said: “{failure.said}”" if failure.said else ""
    busy = "is busy" if failure.kind is FailureKind.BUSY else "cannot be reached"
    return (
        f"The model {busy}.{why} It is asked again at {at:%H:%M:%S} ({at:%Z}), and later if need be; /stop ends this."
    )


def _before(effect: UseRemedy) -> int:
    """The wait before this one, had it grown as waits do."""
    return effect.delay // 2
