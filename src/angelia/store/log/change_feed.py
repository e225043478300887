"""Waiting for entries that are not there yet, whoever appends them."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from angelia.cancellation import end_if_cancelled
from angelia.core.errors import NotFound
from angelia.core.ids import ConversationId
from angelia.store.port import LogStore, StoreConnection

LONGEST_S = 1.0
"""How often another process's appends are looked for in any case, while somebody waits."""

MOST_BRIEF = 20
"""Looks at what was appended, one after the other, before everything waited for is looked at: it may be erased."""


class ChangeFeed:
    """Wakes who waits: at once for an append of this process, for one of another as soon as the store tells of it."""

    def __init__(self, db: LogStore) -> None:
        self._db = db
        self._waiting: dict[ConversationId, dict[asyncio.Future[None], Callable[[], int]]] = {}
        self._watch: asyncio.Task[None] | None = None

    @contextmanager
    def expected(self, conversation: ConversationId, known: Callable[[], int]) -> Iterator[asyncio.Future[None]]:
        """A future that is done when there is an entry after `known()`, which is asked whenever something is told.

        Ask for it before looking into the log: what comes between the look and the wait is noticed too.
        """
        future = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(conversation, {})[future] = known
        if self._watch is None:
            self._watch = asyncio.create_task(self._look_for_others())
        try:
            yield future
        finally:
            self._dismiss(conversation, future)

    def tell(self, conversation: ConversationId, last_seq: int) -> None:
        """The conversation now reaches `last_seq`."""
        for future, known in self._waiting.get(conversation, {}).items():
            if known() < last_seq and not future.done():
                future.set_result(None)

    def _dismiss(self, conversation: ConversationId, future: asyncio.Future[None]) -> None:
        waiting = self._waiting[conversation]
        del waiting[future]
        if not waiting:
            del self._waiting[conversation]
        if not self._waiting and self._watch is not None:
            self._watch.cancel()
            self._watch = None

    async def _look_for_others(self) -> None:
        seen, place, brief = -1, 0, MOST_BRIEF  # what came before the first look is after no place that we know
        try:
            while True:
                version = await self._db.data_version()
                if version != seen and brief < MOST_BRIEF:
                    place, brief = await self._look_after(place), brief + 1
                elif version != seen or brief:
                    place, brief = await self._look_everywhere(), 0
                seen = version
                end_if_cancelled()
                await self._db.next_commit(version, LONGEST_S)
        except Exception as error:  # noqa: BLE001 - those who wait must hear that nobody looks any more
            self._watch = None
            for future in self._futures():
                with suppress(asyncio.InvalidStateError):
                    future.set_exception(error)

    async def _look_after(self, place: int) -> int:
        """Tell what was appended after a place; returns the place up to which it was looked."""
        reached, last = await self._db.read(lambda connection: _appended(connection, place))
        for conversation, seq in reached.items():
            self.tell(conversation, seq)
        return last

    async def _look_everywhere(self) -> int:
        """Tell how far everything reaches that is waited for, or that it is not there any more."""
        asked = tuple(self._waiting)
        reached, last = await self._db.read(lambda connection: _last_seqs(connection, asked))
        for conversation in asked:
            if conversation in reached:
                self.tell(conversation, reached[conversation])
                continue
            for future in self._waiting.get(conversation, {}):
                if not future.done():
                    future.set_exception(NotFound(f"There is no conversation {conversation} (any more)."))
        return last

    def _futures(self) -> Iterable[asyncio.Future[None]]:
        return [future for waiting in self._waiting.values() for future in waiting]


def _appended(connection: StoreConnection, place: int) -> tuple[dict[ConversationId, int], int]:
    rows = connection.execute("SELECT conversation, seq, id FROM entries WHERE id > ? ORDER BY id", (place,)).fetchall()
    return {conversation: seq for conversation, seq, _ in rows}, rows[-1][2] if rows else place


def _last_seqs(connection: StoreConnection, asked: Iterable[ConversationId]) -> tuple[dict[ConversationId, int], int]:
    reached = {}
    for conversation in asked:
        row = connection.execute("SELECT last_seq FROM conversations WHERE id = ?", (conversation,)).fetchone()
        if row:
            reached[conversation] = row[0]
    return reached, connection.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()[0]
