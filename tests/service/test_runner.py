"""Whoever drives a conversation stops when that is asked for, whatever its turn says on its way out."""

import asyncio
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.errors import AngeliaError, Fenced, StoreError
from angelia.core.ids import ConversationId
from angelia.engine import machine as m
from angelia.service.conversation.session import Session
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.store.log.lease import Lease
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
