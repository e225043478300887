"""What a claim about a store is tried on: two ways to one store, and processes that have it too."""

import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from angelia.core.content import Text
from angelia.core.entry import Address, AnyFact, ConversationOpened, UserSaid
from angelia.core.ids import ConversationId, new_conversation
from angelia.core.principal import OWNER, Principal
from angelia.store.log.transcript import Transcript
from angelia.store.port import LogStore

Process = subprocess.Popen[str]


@dataclass(frozen=True, slots=True)
class StoreUnderTest:
    """A store that is empty at first. `opening` names a function that opens it by `argument`, `module:function`: other
    processes open it by that.
    """

    open: Callable[[str], LogStore]
    opening: str
    argument: str


@dataclass(frozen=True, slots=True)
class StoreGround:
    """Two openings of one store, as two processes have them, and how others open it."""

    here: LogStore
    there: LogStore
    of: StoreUnderTest

    async def conversation(self, owner: Principal = OWNER) -> ConversationId:
        """A new one."""
        conversation = new_conversation()
        await Transcript(self.here).append(conversation, [ConversationOpened("terminal", "/work", owner=owner)])
        return conversation

    @contextmanager
    def process(self, what: str, *rest: str) -> Iterator[Process]:
        """Another process with this store (`angelia.testing.stores.child`), killed at the end."""
        module = "angelia.testing.stores.child"
        words = [sys.executable, "-P", "-m", module, what, self.of.opening, self.of.argument, *rest]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - its own
            try:
                yield process
            finally:
                process.kill()


StoreClaim = Callable[[StoreGround], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """One claim about a store. `run` raises `CheckFailed`."""

    name: str
    claim: StoreClaim

    async def run(self, store: StoreUnderTest) -> None:
        """Put the claim to a test."""
        here, there = store.open(store.argument), store.open(store.argument)
        try:
            await self.claim(StoreGround(here, there, store))
        finally:
            here.close()
            there.close()


def said(text: str, key: str = "", door: str = "terminal") -> AnyFact:
    """A message."""
    return UserSaid((Text(text),), key=key, address=Address(door))


def words_in(facts: list[AnyFact]) -> list[str]:
    """What was said."""
    parts = (part for fact in facts if isinstance(fact, UserSaid) for part in fact.parts)
    return [part.text for part in parts if isinstance(part, Text)]
