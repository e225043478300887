"""Hands in what came from a network: each chat's in its order, chats beside each other, failures tried again."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from msgspec import Struct

from angelia.cancellation import cancel_and_wait
from angelia.channels.backoff import growing_pause
from angelia.channels.failures import CannotFetch, ChannelError, Later, Rejected
from angelia.channels.incoming import Envelope, Hear
from angelia.core.errors import AngeliaError, passes

log = logging.getLogger(__name__)

TRIES = 5
"""How often something is handed in before the next of its chat may go first."""


class InboundItem(Struct, frozen=True):
    """One thing on its way in. `name` is for the log; `read` makes its envelope, None for what is not for us, and may
    raise where it has to ask the network; `taken` is done, with the word of `Hear`, when nobody has to bring it again.
    """

    name: str
    read: Callable[[], Awaitable[Envelope | None]]
    taken: asyncio.Future[str]


class PerChatQueue:
    """A queue for each chat; `pause` is in seconds, `trouble` is told in a sentence what cannot be taken in.

    What cannot be taken in is tried again, and holds up only its own chat; after `TRIES` failures, one that came behind
    it in its chat goes first at each try. While it is the network or the store that fails (a lookup, a full disk), it
    is tried for as long as the queue is open. Any other failure may be its own: it is given up after `TRIES`, once
    anything else is taken in: logged, told, and not brought again.
    """

    def __init__(self, hear: Hear, trouble: Callable[[str], None], pause: float) -> None:
        self._hear = hear
        self._trouble = trouble
        self._pause = pause
        self._queue: dict[str, deque[InboundItem]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._taken = 0
        self._followed: asyncio.Future[None] | None = None

    def put(self, chat: str, name: str, read: Callable[[], Awaitable[Envelope | None]]) -> asyncio.Future[str]:
        """Begin to hand in one thing, behind what came before it in its chat."""
        item = InboundItem(name, read, asyncio.get_running_loop().create_future())
        if chat in self._queue:
            self._queue[chat].append(item)
        else:
            self._queue[chat] = deque([item])
            self.begin(self._work(chat))
        return item.taken

    def begin(self, work: Coroutine[None, None, None]) -> None:
        """Do something beside, for as long as the queues are open."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def after(self, taken: Sequence[asyncio.Future[str]], deed: Callable[[], Awaitable[None]]) -> None:
        """Do something once these and those of earlier calls are taken in: keep how far the news were heard, say."""
        before, self._followed = self._followed, asyncio.get_running_loop().create_future()
        self.begin(self._follow([*taken, *([before] if before else [])], deed, self._followed))

    async def close(self) -> None:
        """End what is being handed in; what was not taken has to be brought again."""
        await cancel_and_wait(*self._tasks)

    async def _follow(
        self, before: Sequence[asyncio.Future[Any]], deed: Callable[[], Awaitable[None]], done: asyncio.Future[None]
    ) -> None:
        await asyncio.gather(*before)
        try:
            await deed()
        except Exception as error:  # noqa: BLE001 - whatever it is, the next of its kind makes up for it
            self._trouble(f"How far was heard cannot be kept: {_told(error)}.")
        done.set_result(None)

    async def _work(self, chat: str) -> None:
        waiting = self._queue[chat]
        while waiting:
            await self._until_taken(waiting)
        del self._queue[chat]

    async def _until_taken(self, waiting: deque[InboundItem]) -> None:
        item, before, failures = waiting[0], self._taken, 0
        while error := await self._hand_in(item):
            failures += 1
            if failures == 1:
                if not isinstance(error, AngeliaError):  # nobody foresaw it, so where it came from is told
                    log.error("%s could not be taken in", item.name, exc_info=error)
                self._trouble(f"What came in cannot be taken in: {_told(error).rstrip('.')}. It is tried again.")
            if failures > TRIES and self._taken > before and not _passes(error):
                self._give_up(item, error)
                break
            if failures >= TRIES and len(waiting) > 1 and not await self._hand_in(waiting[1]):
                del waiting[1]
            asked = error.seconds if isinstance(error, Later) else 0.0
            await asyncio.sleep(max(asked, growing_pause(self._pause, failures)))
        waiting.popleft()

    async def _hand_in(self, item: InboundItem) -> Exception | None:
        try:
            envelope = await item.read()
            word = await self._hear(envelope) if envelope else ""
        except Exception as error:  # noqa: BLE001 - whatever it is that cannot be done, this must not get lost
            return error
        self._taken += envelope is not None
        item.taken.set_result(word)
        return None

    def _give_up(self, item: InboundItem, error: Exception) -> None:
        log.error("%s was given up: %s", item.name, _told(error))
        self._trouble(f"A message could not be taken in, and was given up ({item.name}): {_told(error)}.")
        item.taken.set_result("")


def _passes(error: Exception) -> bool:
    """Whether it is the network or the store that fails now, and not what came in."""
    if isinstance(error, ChannelError):
        return not isinstance(error, Rejected | CannotFetch)
    return isinstance(error, AngeliaError) and passes(error)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
