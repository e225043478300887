"""What faces may watch while a turn runs; never stored, and nothing depends on anybody watching."""

import logging
from collections.abc import Callable, Sequence
from itertools import groupby

from msgspec import Struct

from angelia.core.content import Media
from angelia.core.entry import Entry, ModelAsked, ModelFailed, ModelSaid, TurnClosed
from angelia.core.ids import CallId


class Committed(Struct, frozen=True):
    """Entries that are durable now."""

    entries: tuple[Entry, ...]


class Writing(Struct, frozen=True):
    """Some more of a reply's text; it may still be cut."""

    text: str


class Thinks(Struct, frozen=True):
    """Some more of a reply's thinking."""

    text: str


class CallComing(Struct, frozen=True):
    """A tool call has begun to arrive."""

    name: str


class Working(Struct, frozen=True):
    """Some output of a running call."""

    call: CallId
    text: str


class WorkingShows(Struct, frozen=True):
    """A medium that a running call shows while it works, such as what a browser looks like now."""

    call: CallId
    media: Media


class Resting(Struct, frozen=True):
    """The turn waits until `until` (Unix milliseconds), because of `why`."""

    until: int
    why: str


class Awaiting(Struct, frozen=True):
    """The request to `model` that went out at `since` has brought nothing yet, and is given up at `until`: both in Unix
    milliseconds, 0 where nobody says.
    """

    model: str
    since: int
    until: int = 0


class Compacting(Struct, frozen=True):
    """The view is about to be folded, which may take a model's time."""


LiveEvent = Compacting | Committed | Writing | Thinks | CallComing | Working | WorkingShows | Awaiting | Resting
Growing = Writing | Thinks | Awaiting | Resting
"""What is not in the log yet of a reply, or that it is waited for."""
Watcher = Callable[[LiveEvent], None]
logger = logging.getLogger(__name__)

_NEW_REPLY = ModelAsked | ModelSaid | ModelFailed | TurnClosed
"""From here on there is nothing of a reply that is not in the log."""


class Live:
    """A fan-out to watchers. A watcher is called on the event loop and must not block."""

    def __init__(self) -> None:
        self._watchers: list[Watcher] = []
        self._growing: list[Growing] = []

    @property
    def growing(self) -> Sequence[Growing]:
        """What has come by now of the reply that is being written, or that it is waited for: for who comes in the
        middle. Pieces of a kind that followed each other are one.
        """
        return [_joined(list(some)) for _, some in groupby(self._growing, type)]

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Call `watcher` with every event from now on; returns what ends it."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    @property
    def watched(self) -> bool:
        """Whether anybody looks."""
        return bool(self._watchers)

    def emit(self, event: LiveEvent) -> None:
        """Tell every watcher; one that fails is noted in the log file, and nobody else hears of it."""
        match event:
            case Writing() | Thinks():
                self._growing.append(event)
            case Awaiting() | Resting():  # nothing of a reply has come
                self._growing = [event]
            case Committed(entries=entries) if any(isinstance(one.fact, _NEW_REPLY) for one in entries):
                self._growing = []
            case _:
                pass
        for watcher in tuple(self._watchers):
            try:
                watcher(event)
            except Exception:
                logger.exception("a watcher failed at %s", type(event).__name__)


def _joined(some: Sequence[Growing]) -> Growing:
    """Events of one kind as one."""
    text = "".join(one.text for one in some if isinstance(one, Writing | Thinks))
    match some[-1]:
        case Writing():
            return Writing(text)
        case Thinks():
            return Thinks(text)
        case Awaiting() | Resting() as last:
            return last
