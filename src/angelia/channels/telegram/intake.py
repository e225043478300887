"""Hands in what came from Telegram: albums whole, everything in its chat's order, and each update until it is safe."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

import msgspec
from msgspec import Raw

from angelia.channels.incoming import Envelope, Hear
from angelia.channels.per_chat_queue import TRIES, PerChatQueue
from angelia.channels.telegram.payloads import Chat, Left, Numbered, Press, TelegramUnreadable, Update
from angelia.channels.telegram.receive import TelegramReader
from angelia.channels.telegram.updates import read_update
from angelia.core.errors import AngeliaError

RECENT = 1000
"""How many updates are remembered as handed in: more than Telegram brings at once (100)."""


class TelegramSurroundings(Protocol):
    """What the intake needs of its channel."""

    async def keep(self, updates: str) -> None:
        """Keep updates durably that Telegram will not bring again, in place of those that were kept before."""
        ...

    async def answer(self, press: Press, word: str) -> None:
        """Tell the person that their button was seen."""
        ...

    def trouble(self, why: str) -> None:
        """Report that something cannot be taken in."""
        ...


class Batch:
    """Updates that are one envelope: a single one, or the parts of one album as far as they have come.

    No part says that it is the last. An album is whole when something else of its chat follows, or nothing for a pause.
    """

    def __init__(self, album: str, first: Update) -> None:
        self.album = album
        self.updates = [first]
        self.whole = not album
        self.tries = 0
        self._more = asyncio.Event()

    def add(self, update: Update) -> None:
        """One more part."""
        self.updates.append(update)
        self._more.set()

    def close(self) -> None:
        """Something else has followed."""
        self.whole = True
        self._more.set()

    async def complete(self, pause: float) -> None:
        """Wait until it is whole."""
        while not self.whole:
            self._more.clear()
            try:
                async with asyncio.timeout(pause):
                    await self._more.wait()
            except TimeoutError:
                self.whole = True


class TelegramIntake:
    """What comes in, handed in; `pause` is in seconds. What cannot be taken in is tried again, as `PerChatQueue` says.

    Over a webhook Telegram brings the next update of a chat only when this one is acknowledged. So two things are kept
    durably by ourselves, and acknowledged: the parts of an album as they come, and what could not be taken in so often
    that the next one should have its turn.
    """

    def __init__(self, hear: Hear, reader: TelegramReader, around: TelegramSurroundings, pause: float) -> None:
        self._reader = reader
        self._around = around
        self._pause = pause
        self._queue = PerChatQueue(hear, around.trouble, pause)
        self._safe: dict[int, asyncio.Future[None]] = {}
        self._raw: dict[int, bytes] = {}
        self._recent: dict[int, asyncio.Future[None]] = {}
        self._last: dict[int, Batch] = {}
        self._kept: dict[int, bytes] = {}
        self._keeping = asyncio.Lock()

    @property
    def unsafe(self) -> list[int]:
        """The numbers of the updates that Telegram has to bring again if this process ends now."""
        return [number for number, safe in self._safe.items() if not safe.done()]

    def take(self, raw: bytes) -> asyncio.Future[None]:
        """Begin to hand in one update; done when it is stored, turned away or given up. A repeat joins the first:
        whoever asks is brought again all that came after the oldest one that is not safe. A message that cannot be
        read is handed in without words, so that whoever sent it is told.

        Raises:
            msgspec.MsgspecError: it is no update at all.
        """
        number = msgspec.json.decode(raw, type=Numbered).update_id
        if known := self._safe.get(number) or self._recent.get(number):
            return known
        safe: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            update = read_update(raw)
        except msgspec.MsgspecError as error:
            self._around.trouble(f"Telegram brought something that cannot be read, and it was given up: {error}.")
            left = _left(raw)
            if left is None:
                safe.set_result(None)
                return safe
            update = Update(number, unreadable=left)
        self._safe[number], self._raw[number] = safe, raw
        self._put(update)
        if _album(update):
            self._queue.begin(self._keep([update]))
        return safe

    def restore(self, updates: str) -> None:
        """Take what an earlier life kept."""
        for raw in msgspec.json.decode(updates or "[]", type=list[Raw]):
            self.take(bytes(raw))

    async def close(self) -> None:
        """End what is being handed in; what is not safe will be brought again."""
        await self._queue.close()
        for safe in self._safe.values():
            safe.cancel()

    def _put(self, update: Update) -> None:
        chat, album = chat_of(update), _album(update)
        last = self._last.get(chat)
        if last and album and last.album == album and not last.whole:
            last.add(update)
            return
        if last:
            last.close()
        batch = self._last[chat] = Batch(album, update)

        async def read() -> Envelope | None:
            await batch.complete(self._pause)
            batch.tries += 1
            if batch.tries == TRIES:
                self._queue.begin(self._keep(batch.updates))
            return self._reader.envelope(batch.updates)

        taken = self._queue.put(str(chat), f"update {update.update_id}", read)
        taken.add_done_callback(lambda taken: self._done(chat, batch, taken.result()))

    def _done(self, chat: int, batch: Batch, word: str) -> None:
        """Nobody has to bring these again."""
        if self._last.get(chat) is batch:
            del self._last[chat]
        for update in batch.updates:
            del self._raw[update.update_id]
            safe = self._safe.pop(update.update_id)
            if not safe.done():
                safe.set_result(None)
            self._recent[update.update_id] = safe
        while len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]
        if press := batch.updates[0].callback_query:
            self._queue.begin(self._around.answer(press, word))
        if batch.album or batch.tries >= TRIES:
            self._queue.begin(self._forget(batch.updates))

    async def _keep(self, updates: Sequence[Update]) -> None:
        """Keep updates that are still on their way in; what cannot be kept stays with Telegram."""
        async with self._keeping:
            waiting = {one.update_id: self._raw[one.update_id] for one in updates if one.update_id in self._raw}
            self._kept |= waiting
            if await self._written():
                for safe in [self._safe[number] for number in waiting if number in self._safe]:
                    if not safe.done():
                        safe.set_result(None)

    async def _forget(self, updates: Sequence[Update]) -> None:
        async with self._keeping:
            for update in updates:
                self._kept.pop(update.update_id, None)
            await self._written()

    async def _written(self) -> bool:
        try:
            await self._around.keep(msgspec.json.encode([Raw(raw) for raw in self._kept.values()]).decode())
        except AngeliaError as error:
            self._around.trouble(f"What came in cannot be kept: {error}")
            return False
        return True


def chat_of(update: Update) -> int:
    """The chat in whose order an update stands; 0 for what has none."""
    message = update.message or update.edited_message
    where: Chat | None = message.chat if message else None
    if update.unreadable:
        where = update.unreadable.chat
    if update.callback_query and update.callback_query.message:
        where = update.callback_query.message.chat
    if update.message_reaction:
        where = update.message_reaction.chat
    return where.id if where else 0


def _left(raw: bytes) -> Left | None:
    """Whom to tell that a message cannot be read, if even that can be read."""
    try:
        update = msgspec.json.decode(raw, type=TelegramUnreadable)
    except msgspec.MsgspecError:
        return None
    return update.message or update.edited_message


def _album(update: Update) -> str:
    """The album that it is a part of, empty for none."""
    return update.message.media_group_id if update.message else ""
