"""Reads what was said in chats while nobody listened, beside what is said now, which waits for it in its own chat."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol, TypeVar

from angelia.cancellation import end_if_cancelled
from angelia.channels.backoff import growing_pause
from angelia.channels.failures import ChannelError, Later, Rejected
from angelia.channels.incoming import Envelope
from angelia.channels.per_chat_queue import PerChatQueue

T = TypeVar("T")

PATIENCE = 10.0
"""Seconds of one pause for which what is said now still waits; after a longer one it goes first."""


class HandIn(Protocol):
    """Begins to hand one thing in; see `PerChatQueue.put`."""

    def __call__(
        self, chat: str, name: str, read: Callable[[], Awaitable[Envelope | None]], /
    ) -> asyncio.Future[str]: ...


class AskHistory(Protocol):
    """Asks the network until it answers.

    Raises:
        Rejected: it refuses.
    """

    async def __call__(self, question: Callable[[], Awaitable[T]], /) -> T: ...


class MissedMessages:
    """A network that is back may still fail where its history is asked: it is asked until it answers, one question at a
    time, for as long as the queue is open. Whoever begins a reading holds back until its end what the next life takes
    for heard.
    """

    def __init__(self, queue: PerChatQueue, trouble: Callable[[str], None], pause: float) -> None:
        """`pause` is the seconds after the first failure; `trouble` is told what cannot be read, in a sentence."""
        self.queue = queue
        self._trouble = trouble
        self._pause = pause
        self._one_question = asyncio.Lock()
        self._read: dict[tuple[str, str], asyncio.Future[None]] = {}

    def read(
        self, chat: str, thread: str, reading: Callable[[AskHistory], Awaitable[None]]
    ) -> asyncio.Future[str] | None:
        """Begin to read a chat, or a thread in it; None while that is going on already. The future is done once all of
        it is taken in, or refused; it stays open if the queue is closed before.
        """
        if (chat, thread) in self._read:
            return None
        loop = asyncio.get_running_loop()
        self._read[chat, thread], done = loop.create_future(), loop.create_future()
        self.queue.begin(self._reading(chat, thread, reading, done))
        return done

    def put(self, chat: str, name: str, read: Callable[[], Awaitable[Envelope | None]]) -> asyncio.Future[str]:
        """Begin to hand in what is said now, behind what was missed in its chat."""
        return self.queue.put(chat, name, partial(self._behind, chat, read))

    def put_missed(self, chat: str, name: str, read: Callable[[], Awaitable[Envelope | None]]) -> asyncio.Future[str]:
        """Begin to hand in what was missed."""
        return self.queue.put(f"{chat} missed", name, read)

    async def _behind(self, chat: str, read: Callable[[], Awaitable[Envelope | None]]) -> Envelope | None:
        for one in [future for (place, _), future in self._read.items() if place == chat]:
            await asyncio.shield(one)
        return await read()

    async def _reading(
        self, chat: str, thread: str, reading: Callable[[AskHistory], Awaitable[None]], done: asyncio.Future[str]
    ) -> None:
        read = self._read[chat, thread]
        try:
            await reading(partial(self._answer, read))
        except Rejected as error:
            self._trouble(f"What was missed in a chat cannot be read: {error}")
        finally:
            del self._read[chat, thread]
            if not read.done():
                read.set_result(None)
        done.set_result("")

    async def _answer(self, read: asyncio.Future[None], question: Callable[[], Awaitable[T]]) -> T:
        failures = 0
        while True:
            try:
                async with self._one_question:
                    return await question()
            except Rejected:
                raise
            except ChannelError as error:
                end_if_cancelled()
                failures, told = failures + 1, str(error)
                pause = error.seconds if isinstance(error, Later) else growing_pause(self._pause, failures)
            if pause > PATIENCE and not read.done():
                read.set_result(None)
                self._trouble(f"What was missed in a chat cannot be read yet, and is asked for again: {told}")
            await asyncio.sleep(pause)
