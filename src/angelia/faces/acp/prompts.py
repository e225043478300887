"""Prompts that wait for the end of their turn."""

import asyncio
from collections.abc import Collection

from msgspec import Struct

from angelia.core import ending as end


class AskedBack(Struct, frozen=True):
    """The turn waits for the person's next prompt: the model's question stands in the conversation as text."""


class AcpWaiting(Struct):
    """A prompt that is not answered yet. `seq` is its message, 0 until that is stored."""

    answer: "asyncio.Future[end.Ending | AskedBack]"
    seq: int = 0

    def resolve(self, answer: end.Ending | AskedBack) -> None:
        """Answer it, unless it is answered already."""
        if not self.answer.done():
            self.answer.set_result(answer)


class Prompts:
    """Those of one session, by the keys of their messages."""

    def __init__(self) -> None:
        self._waiting: dict[str, AcpWaiting] = {}

    @property
    def keys(self) -> frozenset[str]:
        """Whose messages the client has shown itself."""
        return frozenset(self._waiting)

    def begin(self, key: str) -> AcpWaiting:
        """One more, whose message is not stored yet."""
        waiting = self._waiting[key] = AcpWaiting(asyncio.get_running_loop().create_future())
        return waiting

    def forget(self, key: str) -> None:
        """It waits no more."""
        self._waiting.pop(key, None)

    def stored(self, key: str, seq: int) -> None:
        """Somebody's message stands in the log."""
        if waiting := self._waiting.get(key):
            waiting.seq = seq

    def closed(self, seq: int, ending: end.Ending, late: Collection[int]) -> None:
        """Every prompt that this turn dealt with is answered; one that came too late opens the next turn."""
        for waiting in self._waiting.values():
            if 0 < waiting.seq < seq and waiting.seq not in late:
                waiting.resolve(ending)

    def asked_back(self) -> None:
        """All that were heard are answered: it is for the person to speak."""
        for waiting in self._waiting.values():
            if waiting.seq:
                waiting.resolve(AskedBack())

    def failed(self, error: BaseException) -> None:
        """Whoever waits is told why nothing comes."""
        for waiting in self._waiting.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(error)

    def leave(self) -> None:
        """Nobody is there to hear an answer."""
        for waiting in self._waiting.values():
            waiting.answer.cancel()
