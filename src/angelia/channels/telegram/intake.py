"""Hands in what came from Telegram: each chat's in its order, chats beside each other, and albums whole."""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Coroutine, Sequence
from typing import Protocol

import msgspec
from msgspec import Raw, Struct

from angelia.channels.incoming import Hear
from angelia.channels.telegram.reading import Reader
from angelia.channels.telegram.shapes import Chat, Numbered, Press, Update
from angelia.core.errors import AngeliaError

log = logging.getLogger(__name__)

TRIES = 5
"""How often something is handed in before what came after it may go first."""

LONGEST = 30.0
"""Seconds between two tries, at most."""


class Surroundings(Protocol):
    """What the way in needs of its room."""

    async def keep(self, parts: str) -> None:
        """Keep the parts of incomplete albums durably."""
        ...

    async def answer(self, press: Press, word: str) -> None:
        """Tell the person that their button was seen."""
        ...

    def trouble(self, why: str) -> None:
        """Report that something cannot be taken in."""
        ...


class Item(Struct, frozen=True):
    """One update on its way in; `safe` is done when Telegram need not bring it again."""

    number: int
    raw: bytes
    update: Update
    safe: asyncio.Future[None]

    @property
    def album(self) -> str:
        """The album that it is a part of, empty for none."""
        return self.update.message.media_group_id if self.update.message else ""


class Lane:
    """What waits of one chat: updates as they came, and batches that are to be handed in as one."""

    def __init__(self) -> None:
        self.items: deque[Item] = deque()
        self.ready: deque[list[Item]] = deque()
        self.more = asyncio.Event()


class Intake:
    """The way in; `pause` is in seconds.

    What cannot be taken in is tried again, and holds up only its own chat. If it fails `TRIES` times, the next of its
    chat is tried; when that or anything else is taken in, the trouble is its own, and it is given up: logged, reported,
    and not brought again. While nothing at all can be taken in (a full disk), nothing is given up.

    An album comes in parts, and no part says that it is the last: it is whole when something else of its chat follows,
    or nothing for a pause. Each part is kept durably as soon as it comes, since over a webhook Telegram brings the next
    one only when this one is acknowledged.
    """

    def __init__(self, hear: Hear, reader: Reader, around: Surroundings, pause: float) -> None:
        self._hear, self._reader, self._around, self._pause = hear, reader, around, pause
        self._items: dict[int, Item] = {}
        self._parts: dict[int, bytes] = {}
        self._keeping = asyncio.Lock()
        self._lanes: dict[int, Lane] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._taken = 0

    @property
    def unsafe(self) -> list[int]:
        """The numbers of the updates that Telegram has to bring again if this process ends now."""
        return [number for number, item in self._items.items() if not item.safe.done()]

    def take(self, raw: bytes) -> asyncio.Future[None]:
        """Begin to hand in one update; done when it is stored, turned away or given up. A repeat joins the first."""
        number = msgspec.json.decode(raw, type=Numbered).update_id
        if number in self._items:
            return self._items[number].safe
        safe: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            item = Item(number, raw, msgspec.json.decode(raw, type=Update), safe)
        except msgspec.MsgspecError as error:
            self._give_up(f"update {number}", error)
            safe.set_result(None)
            return safe
        self._items[number] = item
        self._queue(item)
        if item.album:
            self._begin(self._keep_part(item))
        return safe

    def restore(self, parts: str) -> None:
        """Take the parts of albums that an earlier life kept."""
        for raw in msgspec.json.decode(parts or "[]", type=list[Raw]):
            self.take(bytes(raw))

    async def close(self) -> None:
        """End what is being handed in; what is not safe will be brought again."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _queue(self, item: Item) -> None:
        chat = chat_of(item.update)
        lane = self._lanes.get(chat)
        if lane is None:
            lane = self._lanes[chat] = Lane()
            self._begin(self._work(chat, lane))
        lane.items.append(item)
        lane.more.set()

    async def _work(self, chat: int, lane: Lane) -> None:
        while batch := await self._next(lane):
            await self._until_taken(lane, batch)
        del self._lanes[chat]

    async def _next(self, lane: Lane) -> list[Item]:
        """What is to be handed in next as one, empty for nothing."""
        if lane.ready:
            return lane.ready.popleft()
        if not lane.items:
            return []
        album = lane.items[0].album
        if album:
            await self._whole(lane, album)
        batch = [lane.items.popleft()]
        while album and lane.items and lane.items[0].album == album:
            batch.append(lane.items.popleft())
        return batch

    async def _whole(self, lane: Lane, album: str) -> None:
        while all(item.album == album for item in lane.items):
            lane.more.clear()
            try:
                async with asyncio.timeout(self._pause):
                    await lane.more.wait()
            except TimeoutError:
                return

    async def _until_taken(self, lane: Lane, batch: list[Item]) -> None:
        before, failures = self._taken, 0
        while error := await self._hand_in(batch):
            failures += 1
            if failures == 1:
                self._around.trouble(f"What came in cannot be taken in: {_told(error)}. It is tried again.")
            if failures > TRIES and self._taken > before:
                self._give_up(f"message {batch[0].number}", error)
                await self._done(batch)
                return
            if failures >= TRIES and self._taken == before:
                await self._let_pass(lane)
            await asyncio.sleep(min(self._pause * 2**failures, LONGEST) * random.uniform(0.5, 1.0))  # noqa: S311

    async def _let_pass(self, lane: Lane) -> None:
        """Try the next one of the chat; it keeps its place if that fails too."""
        batch = await self._next(lane)
        if batch and await self._hand_in(batch):
            lane.ready.appendleft(batch)

    async def _hand_in(self, batch: Sequence[Item]) -> Exception | None:
        envelope = self._reader.envelope([item.update for item in batch])
        if envelope:
            try:
                word = await self._hear(envelope)
            except Exception as error:  # noqa: BLE001 - whatever it is that the household cannot do, this must not get lost
                return error
            self._taken += 1
            if press := batch[0].update.callback_query:
                self._begin(self._around.answer(press, word))
        await self._done(batch)
        return None

    async def _done(self, batch: Sequence[Item]) -> None:
        """Nobody has to bring these again."""
        if batch[0].album:
            async with self._keeping:
                for item in batch:
                    self._parts.pop(item.number, None)
                await self._keep()
        for item in batch:
            self._items.pop(item.number, None)
            if not item.safe.done():
                item.safe.set_result(None)

    async def _keep_part(self, item: Item) -> None:
        async with self._keeping:
            if item.number in self._items:
                self._parts[item.number] = item.raw
                if await self._keep() and not item.safe.done():
                    item.safe.set_result(None)

    async def _keep(self) -> bool:
        """Whether the parts are kept; those that are not stay with Telegram until their album is handed in."""
        try:
            await self._around.keep(msgspec.json.encode([Raw(raw) for raw in self._parts.values()]).decode())
        except AngeliaError as error:
            self._around.trouble(f"The parts of an album cannot be kept: {error}")
            return False
        return True

    def _give_up(self, what: str, error: Exception) -> None:
        log.error("%s was given up: %s", what, _told(error))
        self._around.trouble(f"A message could not be taken in, and was given up ({what}): {_told(error)}.")

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def chat_of(update: Update) -> int:
    """The chat in whose order an update stands; 0 for what has none."""
    message = update.message or update.edited_message
    where: Chat | None = message.chat if message else None
    if update.callback_query and update.callback_query.message:
        where = update.callback_query.message.chat
    if update.message_reaction:
        where = update.message_reaction.chat
    return where.id if where else 0


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
