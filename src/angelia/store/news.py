"""Waiting for entries that are not there yet, whoever appends them."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from angelia.core.errors import AngeliaError, NotFound
from angelia.core.ids import ConversationId
from angelia.store.db import Database

POLL_S = 0.05
"""How often another process's appends are looked for, while somebody waits. One look is a read of shared memory."""


class News:
    """Wakes who waits: at once for an append of this process, within `POLL_S` for one of another."""

    def __init__(self, db: Database) -> None:
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
        seen = -1
        try:
            while True:
                version = await self._db.data_version()
                if version != seen:
                    seen = version
                    await self._tell_all()
                await asyncio.sleep(POLL_S)
        except AngeliaError as error:  # those who wait must hear that nobody looks any more
            self._watch = None
            for future in self._futures():
                with suppress(asyncio.InvalidStateError):
                    future.set_exception(error)

    async def _tell_all(self) -> None:
        asked = tuple(self._waiting)
        reached = await self._db.read(lambda connection: _last_seqs(connection, asked))
        for conversation in asked:
            if conversation in reached:
                self.tell(conversation, reached[conversation])
                continue
            for future in self._waiting.get(conversation, {}):
                if not future.done():
                    future.set_exception(NotFound(f"There is no conversation {conversation} (any more)."))

    def _futures(self) -> Iterable[asyncio.Future[None]]:
        return [future for waiting in self._waiting.values() for future in waiting]


def _last_seqs(connection: sqlite3.Connection, asked: Iterable[ConversationId]) -> dict[ConversationId, int]:
    reached = {}
    for conversation in asked:
        row = connection.execute("SELECT last_seq FROM conversations WHERE id = ?", (conversation,)).fetchone()
        if row:
            reached[conversation] = row[0]
    return reached
