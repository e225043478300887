"""One conversation's log as this process knows it: a list that only grows, behind the store that holds it."""

from collections.abc import Callable, Sequence

from angelia.core.entry import AnyFact, Entry
from angelia.core.ids import ConversationId
from angelia.engine.live import Committed, Live
from angelia.store.log.lease import Lease
from angelia.store.log.transcript import Transcript


class Log:
    """The entries so far, and the one way to add to them."""

    def __init__(self, conversation: ConversationId, transcript: Transcript, live: Live) -> None:
        self.conversation = conversation
        self.entries: list[Entry] = []
        self._transcript = transcript
        self.live = live
        self._listeners: list[Callable[[Sequence[Entry]], None]] = []

    async def append(self, *facts: AnyFact, lease: Lease | None = None, patient: bool = False) -> list[Entry]:
        """Append facts durably and in one commit; what others appended meanwhile is taken in first. `patient` is for
        what nobody waits for (`Database.write`).

        Raises:
            Fenced: `lease` is no longer held; nothing was appended.
            StoreError: nothing was appended.
        """
        added = await self._transcript.append(self.conversation, facts, lease=lease, patient=patient)
        if added and added[0].seq == len(self.entries) + 1:
            self.take(added)
        elif added:
            await self.refresh()
        return added

    async def refresh(self) -> None:
        """Take in what others appended."""
        self.take(await self._transcript.entries(self.conversation, after=len(self.entries)))

    def take(self, added: Sequence[Entry]) -> None:
        """Take in entries that the store holds; what is known already is passed over."""
        fresh = [entry for entry in added if entry.seq > len(self.entries)]
        if not fresh:
            return
        self.entries.extend(fresh)
        self.live.emit(Committed(tuple(fresh)))
        for listener in tuple(self._listeners):
            listener(fresh)

    def listen(self, listener: Callable[[Sequence[Entry]], None]) -> Callable[[], None]:
        """Call `listener` with every batch of new entries; returns what ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)
