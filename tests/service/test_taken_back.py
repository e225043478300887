"""Which message that waits can be taken back: the very one, one's own, and none that a request has carried."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.principal import OWNER, Principal
from angelia.service.app import App
from angelia.service.conversation.session import Session
from angelia.service.settings.config import load

pytestmark = pytest.mark.anyio

TERMINAL, CHAT = e.Address("terminal"), e.Address("telegram", "4711")
BEN = Principal("telegram", "4711")
BEGAN, NORTH, SOUTH, BENS = 2, 3, 4, 5
"""Entries: what opened the turn, and three that wait."""


@asynccontextmanager
async def waiting(folder: Path) -> AsyncIterator[tuple[App, Session]]:
    """An open turn that nobody drives, behind which two messages of the owner's wait, through two doors, and Ben's."""
    (workspace := folder / "work").mkdir()
    app = await App.open(load(folder / "home", {}), {})
    try:
        session = app.conversations.begin(door="terminal", workspace=workspace)
        for words, address, sender in (
            ("Begin.", TERMINAL, OWNER),
            ("The north bed.", TERMINAL, OWNER),
            ("The south bed.", CHAT, OWNER),
            ("My bed.", CHAT, BEN),
        ):
            await session.say([Text(words)], address=address, sender=sender, arrival=e.Arrival.QUEUE)
        yield app, session
    finally:
        await app.close()


def left(session: Session) -> list[int]:
    """What still waits to be read."""
    return [one.seq for one in session.turn.unread if one.seq != session.turn.opened]


def gone(session: Session) -> list[int]:
    """What the log says was taken back."""
    return [one.fact.said for one in session.log.entries if isinstance(one.fact, e.MessageTakenBack)]


@pytest.mark.parametrize("seq", [NORTH, SOUTH])
async def test_of_two_that_wait_the_very_one_is_taken_back_whichever_door_it_came_through(
    tmp_path: Path, seq: int
) -> None:
    async with waiting(tmp_path) as (_, session):
        said = await session.take_back(seq)
        assert said is session.log.entries[seq - 1].fact
        assert left(session) == [one for one in (NORTH, SOUTH, BENS) if one != seq]
        assert await session.take_back(seq) is None
        assert gone(session) == [seq]


async def test_somebody_elses_is_out_of_reach_by_its_number_and_by_its_address(tmp_path: Path) -> None:
    async with waiting(tmp_path) as (_, session):
        assert await session.take_back(BENS) is None
        assert await session.take_back(NORTH, BEN) is None
        assert gone(session) == []
        newest = await session.take_back(CHAT)
        assert newest is session.log.entries[SOUTH - 1].fact
        assert await session.take_back(BENS, BEN) is session.log.entries[BENS - 1].fact
        assert gone(session) == [SOUTH, BENS]


async def test_what_opened_the_turn_what_was_read_and_what_is_no_message_is_not_taken_back(tmp_path: Path) -> None:
    async with waiting(tmp_path) as (_, session):
        assert await session.take_back(BEGAN) is None
        await session.record(e.ModelAsked("m", 1, (BEGAN, NORTH)))
        for seq in (0, 1, BEGAN, NORTH, 6, 99, -1):
            assert await session.take_back(seq) is None, seq
        assert gone(session) == []
        assert left(session) == [SOUTH, BENS]


async def test_a_request_that_carries_it_in_that_very_moment_wins_and_that_is_told(tmp_path: Path) -> None:
    """It stands in the log before the wish does, and this process has not heard of it yet."""
    async with waiting(tmp_path) as (app, session):
        asked = e.ModelAsked("m", 1, (BEGAN, NORTH))
        await app.transcript.append(session.conversation, [asked])
        assert left(session) == [NORTH, SOUTH, BENS]
        assert await session.take_back(NORTH) is None
        assert gone(session) == [NORTH]
        assert left(session) == [SOUTH, BENS]
