"""A store that does not answer for a moment ends nothing that the page hears for good."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from angelia.core.entry import Entry
from angelia.core.errors import StoreFull, StoreUnreachable
from angelia.faces.web.api import home_events
from angelia.faces.web.conversations import web_conversations
from angelia.faces.web.conversations.web_conversations import WebConversations
from angelia.service import keep_running
from angelia.store.log.lease import Lease
from angelia.store.log.transcript import Transcript
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from tests.web.visitor import opened, visiting

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits between two tries."""
    monkeypatch.setattr(keep_running, "AGAIN_S", 0.0)
    monkeypatch.setattr(home_events, "_LOOK_S", 0.0)
    monkeypatch.setattr(web_conversations, "_MENDED_S", 0.0)


def away_once(monkeypatch: pytest.MonkeyPatch, name: str) -> asyncio.Event:
    """The next time that the log is asked for this it does not answer; the event tells when it was asked."""
    asked = asyncio.Event()
    answers: Callable[..., Awaitable[Any]] = getattr(Transcript, name)

    async def first(self: Transcript, *given: Any, **more: Any) -> Any:
        if asked.is_set():
            return await answers(self, *given, **more)
        asked.set()
        raise StoreUnreachable("The database does not answer.")

    monkeypatch.setattr(Transcript, name, first)
    return asked


async def test_a_conversation_is_followed_again_by_who_opens_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        ModelServer([say("One."), say("Two.")]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        await page.says(conversation, "Count.")
        seen = (await page.until(conversation, "TurnClosed"))[-1]["seq"]
        away = away_once(monkeypatch, "news")
        await page.says(conversation, "On.", "key-0002")
        await away.wait()
        async with asyncio.timeout(20):
            later = await page.until(conversation, "TurnClosed", seen)
            while not later:  # the stream that was open then has ended
                later = await page.until(conversation, "TurnClosed", seen)
        assert [one["text"] for one in later if one["kind"] == "ModelSaid"] == ["Two."]


async def test_changes_of_the_home_are_told_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        ModelServer([say("One.")]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
        page.hears("/api/events") as events,
    ):
        assert (await anext(events)).name == "home"
        away = away_once(monkeypatch, "version")
        await away.wait()
        conversation = await page.begun()
        await page.says(conversation, "Hello.")
        async with asyncio.timeout(20):
            async for event in events:
                if conversation in event.data.get("changed", ()):
                    break


async def test_what_an_earlier_life_left_open_is_looked_for_until_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roused = asyncio.Event()
    rouse = WebConversations.rouse

    async def told(self: WebConversations) -> None:
        await rouse(self)
        roused.set()

    monkeypatch.setattr(WebConversations, "rouse", told)
    away = away_once(monkeypatch, "unfinished")
    async with (
        ModelServer([]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app),
        asyncio.timeout(20),
    ):
        await roused.wait()
        assert away.is_set()


async def test_a_turn_that_a_full_disk_has_stopped_goes_on_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, refused = Transcript.append, asyncio.Event()

    async def full_once(self: Transcript, *given: Any, lease: Lease | None = None, **more: Any) -> list[Entry]:
        if lease is None or refused.is_set():
            return await append(self, *given, lease=lease, **more)
        refused.set()
        raise StoreFull("The disk is full.")

    monkeypatch.setattr(Transcript, "append", full_once)
    async with (
        ModelServer([say("One.")]) as server,
        opened(tmp_path, server.base_url) as app,
        visiting(app) as page,
    ):
        conversation = await page.begun()
        await page.says(conversation, "Count.")
        await refused.wait()
        async with asyncio.timeout(20):
            told = await page.until(conversation, "TurnClosed")
        assert told[-1]["ending"] == "Answered"
