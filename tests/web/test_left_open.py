"""What the page tells of a turn whose process died, and what can be done about it there."""

from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus, Text, ToolCall
from angelia.core.ids import CallId, ConversationId
from angelia.core.principal import OWNER
from angelia.faces.web.conversations import beats
from angelia.service.app import App
from angelia.store.log import lease
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from tests.web.visitor import opened, visiting

pytestmark = pytest.mark.anyio

OWN = ConversationId("talk0001")
AT = f"/api/conversations/{OWN}"


async def begun_in_a_terminal(app: App) -> None:
    """A turn that a process of another door began, and will not end."""
    opening = e.ConversationOpened("terminal", str(app.loaded.home.parent / "begun"), "local", OWNER)
    said = e.UserSaid((Text("How many beds?"),), OWNER, e.Address("terminal"), "k1")
    await app.transcript.append(OWN, [opening, said])


async def test_a_turn_that_a_dead_process_left_is_told_and_gone_on_with_when_asked(tmp_path: Path) -> None:
    async with ModelServer([say("Twelve.")]) as server, opened(tmp_path, server.base_url) as app, visiting(app) as page:
        await begun_in_a_terminal(app)
        told = await page.json(AT)
        assert (told["turn"]["left_open"], told["trouble"]) == (
            True,
            "The process that did has ended before it was done.",
        )
        assert await page.said(f"{AT}/resume") == {"resumed": True}
        assert (await page.until(OWN, "TurnClosed"))[-1]["ending"] == "Answered"
        told = await page.json(AT)
        assert (told["turn"]["left_open"], told["trouble"]) == (False, "")
        assert await page.said(f"{AT}/resume") == {"resumed": False}


async def test_a_turn_that_a_dead_process_left_is_ended_by_stopping_it(tmp_path: Path) -> None:
    async with ModelServer([say("Twelve.")]) as server, opened(tmp_path, server.base_url) as app, visiting(app) as page:
        await begun_in_a_terminal(app)
        assert await page.said(f"{AT}/stop") == {"stopped": True}
        assert (await page.until(OWN, "TurnClosed"))[-1]["ending"] == "Cancelled"
        assert server.requests == []


@pytest.mark.parametrize("running", [False, True])
async def test_a_turn_that_cannot_be_gone_on_with_is_ended_by_stopping_it_all_the_same(
    tmp_path: Path, running: bool
) -> None:
    async with ModelServer([]) as server, opened(tmp_path, server.base_url) as app, visiting(app) as page:
        await begun_in_a_terminal(app)
        if running:
            call = ToolCall(CallId("c1"), "run", '{"command":"make beds"}')
            said = e.ModelSaid("m", (call,), e.StopReason.TOOL_CALLS)
            await app.transcript.append(OWN, [e.ModelAsked("m", 0, (2,)), said, e.ToolStarted(call.id)])
        (tmp_path / "begun").rmdir()
        assert str(tmp_path / "begun") in (await page.post(f"{AT}/resume")).text
        assert await page.said(f"{AT}/stop") == {"stopped": True}
        assert (await page.until(OWN, "TurnClosed"))[-1]["ending"] == "Cancelled"
        told = await page.json(AT)
        assert (told["turn"]["open"], told["turn"]["left_open"], told["trouble"]) == (False, False, "")
        statuses = [
            one.fact.status for one in await app.transcript.entries(OWN) if isinstance(one.fact, e.ToolFinished)
        ]
        assert statuses == [CallStatus.UNKNOWN] * running


async def test_that_a_process_died_is_seen_though_nothing_is_stored_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beats, "BEAT_S", 0.01)
    async with opened(tmp_path, "http://127.0.0.1:9") as app, visiting(app) as page:
        await begun_in_a_terminal(app)
        held, _ = await lease.acquire(app.db, OWN, "the terminal", lambda connection: None, ttl_ms=60_000)
        assert not (await page.json(AT))["turn"]["left_open"]
        states = []
        async with page.hears(f"{AT}/events") as events:
            async for event in events:
                if event.name == "state":
                    states.append(event.data["turn"]["left_open"])
                    if states[-1]:
                        break
                    await held.release()
    assert states == [False, True]
