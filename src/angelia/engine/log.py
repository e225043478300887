"""One conversation's log as this process knows it: a list that only grows, behind the store that holds it."""

from collections.abc import Callable, Sequence

from angelia.core.entry import AnyFact, Entry, WordsErased
from angelia.core.errors import StoreError
from angelia.core.ids import ConversationId
from angelia.engine.live import Committed, Live
from angelia.store.log.append import Addition
from angelia.store.log.lease import Lease
from angelia.store.log.transcript import Transcript
from angelia.store.port import Haste


class Outdated(StoreError):
    """The log is no longer what this process has read of it, and has to be read anew from its beginning."""


class Log:
    """The entries so far, and the one way to add to them."""

    def __init__(self, conversation: ConversationId, transcript: Transcript, live: Live) -> None:
        self.conversation = conversation
        self.entries: list[Entry] = []
        self._transcript = transcript
        self.unstored = transcript.unstored
        self.live = live
        self._listeners: list[Callable[[Sequence[Entry]], None]] = []

    async def append(
        self, *facts: AnyFact, lease: Lease | None = None, haste: Haste = Haste.USUAL, seen: int = 0
    ) -> list[Entry]:
        """Append facts durably and in one commit; what others appended meanwhile is taken in first.

        `seen` is the number of the last entry that the facts go by; 0 where they hold whatever came after that.

        Raises:
            Overtaken: something came after `seen`; nothing was appended.
            Fenced: `lease` is no longer held; nothing was appended.
            StoreError: nothing was appended.
        """
        added = await self._transcript.append(self.conversation, facts, lease=lease, haste=haste, seen=seen)
        await self._take_own(added)
        return added

    async def append_with(self, others: Sequence[Addition], *facts: AnyFact) -> list[Entry]:
        """Append facts that go by all that is known here, in one commit with those of other logs; none of them if these
        are a repeat.

        Raises:
            Overtaken: something came after what is known, here or there; nothing was appended.
            StoreError: nothing was appended.
        """
        own = Addition(self.conversation, facts, len(self.entries))
        added = await self._transcript.append_together([own, *others])
        await self._take_own(added[0] if added else [])
        return added[0] if added else []

    async def _take_own(self, added: Sequence[Entry]) -> None:
        if added and added[0].seq == len(self.entries) + 1:
            self.take(added)
        elif added:
            await self.refresh()

    def require_space(self) -> None:
        """Require room for what is paid for now, and appended when it comes.

        Raises:
            StoreFull: there may be none by then.
        """
        self._transcript.require_space()

    async def refresh(self) -> None:
        """Take in what others appended."""
        self.take(await self._transcript.entries(self.conversation, after=len(self.entries)))

    def take(self, added: Sequence[Entry]) -> None:
        """Take in entries that the store holds; those that are known already are passed over.

        Raises:
            Outdated: what is known is not what stands there any more.
        """
        fresh = [entry for entry in added if entry.seq > len(self.entries)]
        if not fresh:
            return
        if self.entries and any(isinstance(entry.fact, WordsErased) for entry in fresh):
            raise Outdated(
                "What somebody had said in this conversation was erased since it was opened here.",
                then="Nothing was asked of a model. Open the conversation again.",
            )
        self.entries.extend(fresh)
        self.live.emit(Committed(tuple(fresh)))
        for listener in tuple(self._listeners):
            listener(fresh)

    def listen(self, listener: Callable[[Sequence[Entry]], None]) -> Callable[[], None]:
        """Call `listener` with every batch of new entries; returns what ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)
