"""Whoever drives a conversation stops when that is asked for, whatever its turn says on its way out."""

import asyncio
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.errors import AngeliaError, Fenced, StoreError, StoreFull
from angelia.core.ids import ConversationId
from angelia.engine import machine as m
from angelia.service.conversation.session import Session
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.store.log.lease import HeldElsewhere, Lease
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import Database

pytestmark = pytest.mark.anyio


class NeverDone:
    """A turn that goes on for ever, and tells an error when it is cut off: what it had to keep could not be stored."""

    def __init__(self, error: AngeliaError) -> None:
        self.driving, self._error = asyncio.Event(), error

    def resting(self) -> m.Rest | None:
        """There is something to do."""
        return None

    async def drive(self, lease: Lease, spent_today: tuple[int, int] = (0, 0)) -> m.Rest:
        """See `TurnDriver`."""
        self.driving.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise self._error


@pytest.mark.parametrize(
    "error", [Fenced("Another process drives it."), StoreError("The disk is full.")], ids=["taken", "full"]
)
async def test_it_stops_though_its_turn_fails_as_it_is_cut_off(tmp_path: Path, error: AngeliaError) -> None:
    db = Database.open(tmp_path)
    opened = e.ConversationOpened("terminal", "/")
    session = Session(ConversationId("01ar"), db, Transcript(db), "the terminal", opened)
    await session.say([Text("hello")], address=TERMINAL)
    driver = NeverDone(error)
    await session.attach(driver)
    await driver.driving.wait()
    closing = asyncio.create_task(session.close())
    done, _ = await asyncio.wait([closing], timeout=10)
    assert done == {closing}
    await closing
    db.close()


async def test_what_cannot_be_said_leaves_no_turn_to_wait_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The conversation waits for its place with a turn open; then somebody speaks, and the disk is full."""
    db = Database.open(tmp_path)
    transcript = Transcript(db)
    session = Session(ConversationId("01ar"), db, transcript, "the terminal", e.ConversationOpened("terminal", "/"))
    await session.say([Text("hello")], address=TERMINAL)
    looked = asyncio.Event()

    async def elsewhere(*_: object) -> None:
        looked.set()
        raise HeldElsewhere("another process")

    async def full(*_: object, **__: object) -> None:
        raise StoreFull("The disk is full.")

    monkeypatch.setattr(transcript, "take_up", elsewhere)
    await session.attach(NeverDone(StoreError("nobody gets here")))
    await looked.wait()
    for name in ("take_up", "append"):
        monkeypatch.setattr(transcript, name, full)
    with pytest.raises(StoreFull):
        await session.say([Text("and?")], address=TERMINAL)
    async with asyncio.timeout(10):
        with pytest.raises(StoreFull):
            await session.driven()
    await session.close()
    db.close()
