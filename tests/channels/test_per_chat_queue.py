"""How far the news were heard is kept when all before it is taken in, and never earlier."""

import asyncio
from collections.abc import Awaitable
from functools import partial

import pytest

from angelia.channels.failures import Later, NotSent, Rejected
from angelia.channels.incoming import Envelope, IncomingMessage, IncomingSender
from angelia.channels.per_chat_queue import TRIES, PerChatQueue
from angelia.core.entry import Address
from angelia.core.errors import AngeliaError, StoreFull
from angelia.testing.changes import Changes

pytestmark = pytest.mark.anyio


class App:
    """Takes in what it was told to, and remembers how far it heard."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self.troubles: list[str] = []
        self.changes = Changes()
        self.heard: list[str] = []
        self.doors = {key: asyncio.Event() for key in "abc"}
        self.queue = PerChatQueue(self._hear, self.troubles.append, 0.001)

    async def _hear(self, envelope: Envelope) -> str:
        await self.doors[envelope.key].wait()
        self.heard.append(envelope.key)
        return ""

    async def read(self, key: str) -> Envelope:
        """The envelope of a key."""
        return Envelope(Address("door", key), key, IncomingSender("7"), IncomingMessage(key))

    def put(self, key: str) -> asyncio.Future[str]:
        """Begin to hand something in, in a chat of its own."""
        return self.queue.put(key, key, partial(self.read, key))

    async def keep(self, position: str) -> None:
        """Remember a position."""
        self.kept.append(position)
        self.changes.tell()


async def _settled(done: Awaitable[object]) -> None:
    """What is taken in by now has had every consequence that it will have."""
    await done
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_position_waits_for_all_that_came_before_it() -> None:
    app = App()
    first, second, third = map(app.put, "abc")
    app.queue.after([first, second], partial(app.keep, "two"))
    app.queue.after([third], partial(app.keep, "three"))
    app.doors["c"].set()
    await _settled(third)
    assert app.kept == [], "the third is taken in, and two before it are not"
    app.doors["a"].set()
    await _settled(first)
    assert app.kept == []
    app.doors["b"].set()
    await app.changes.when(lambda: app.kept == ["two", "three"])
    await app.queue.close()


async def test_a_position_that_cannot_be_kept_is_told_and_holds_up_none_after_it() -> None:
    app = App()

    async def full() -> None:
        raise OSError("no space left")

    app.queue.after([], full)
    app.queue.after([], partial(app.keep, "later"))
    await app.changes.when(lambda: app.kept == ["later"])
    assert app.troubles == ["How far was heard cannot be kept: OSError: no space left."]
    await app.queue.close()


async def test_a_house_that_closes_keeps_no_position_of_what_it_did_not_take_in() -> None:
    app = App()
    app.queue.after([app.put("a")], partial(app.keep, "one"))
    await asyncio.sleep(0)
    await app.queue.close()
    app.doors["a"].set()
    for _ in range(20):
        await asyncio.sleep(0)
    assert app.kept == []


async def test_a_fault_that_nobody_foresaw_leaves_its_trace_once(caplog: pytest.LogCaptureFixture) -> None:
    app, tries = App(), iter(["no", "no", "no", "no", "no"])

    async def read() -> Envelope | None:
        if word := next(tries, ""):
            raise KeyError(word)
        return None

    await app.queue.put("a", "update 7", read)
    traces = [record.exc_info[1] for record in caplog.records if record.exc_info]
    assert [repr(trace) for trace in traces] == ["KeyError('no')"]
    await app.queue.close()


@pytest.mark.parametrize("failure", [NotSent("Discord cannot be reached."), Later(0), StoreFull("The disk is full.")])
async def test_while_the_network_or_the_store_fails_nothing_is_given_up_whatever_else_is_taken_in(
    failure: AngeliaError,
) -> None:
    app, tries = App(), iter(range(TRIES + 3))

    async def read() -> Envelope | None:
        if next(tries, None) is not None:
            app.put("b")
            app.put("a")  # behind it, in its own chat
            raise failure
        return await app.read("c")

    for door in app.doors.values():
        door.set()
    await app.queue.put("a", "what waits", read)
    assert "c" in app.heard
    assert {"a", "b"} <= {*app.heard[: app.heard.index("c")]}, "what came behind it went first at last"
    assert not any("given up" in trouble for trouble in app.troubles)
    await app.queue.close()


async def test_what_fails_by_itself_is_given_up_once_anything_else_is_taken_in() -> None:
    app, tries = App(), iter(range(1000))

    async def read() -> Envelope | None:
        next(tries)
        raise Rejected("That is no message of ours.")

    app.doors["b"].set()
    taken = app.queue.put("a", "poison", read)
    app.put("b")
    await taken
    assert any("given up (poison)" in trouble for trouble in app.troubles)
    assert next(tries) > TRIES
    await app.queue.close()
