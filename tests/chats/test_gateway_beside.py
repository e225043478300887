"""What runs beside the channels of a gateway goes on after an error of its own, and the log says what it was."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from angelia.faces.gateway import foreground
from angelia.service import keep_running, upkeep
from angelia.service.app import App
from angelia.service.chats.gateway import Gateway
from angelia.service.schedule.clockwork import Clockwork
from angelia.service.settings.config import load
from angelia.service.upkeep import Upkeep
from angelia.testing.model.server import ModelServer
from angelia.testing.networks.telegram_server import TelegramServer
from tests.chats.gateway_lives import PATIENCE_S, Story

pytestmark = pytest.mark.anyio


async def _page(_: Gateway) -> None:
    await asyncio.Event().wait()


def faulty_once(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> asyncio.Event:
    """The first call faults; the event tells that another one was made."""
    real, called, again = getattr(owner, name), list[int](), asyncio.Event()

    def first(*given: Any, **more: Any) -> Any:
        called.append(1)
        if len(called) == 1:
            raise KeyError("a fault of ours")
        again.set()
        return real(*given, **more)

    monkeypatch.setattr(owner, name, first)
    return again


@pytest.mark.parametrize(
    ("owner", "name", "what"),
    [
        pytest.param(Clockwork, "look", "the clock", id="the-clock"),
        pytest.param(Upkeep, "tidy", "the daily upkeep", id="the-upkeep"),
        pytest.param(foreground, "tell", "the table of channels", id="the-table"),
        pytest.param(sys.modules[__name__], "_page", "the page", id="the-page"),
    ],
)
async def test_it_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, what: str
) -> None:
    monkeypatch.setattr(keep_running, "AGAIN_S", 0.0)
    monkeypatch.setattr(upkeep, "_LOOKED_S", 0.0)
    ending = asyncio.Event()
    monkeypatch.setattr(foreground, "asked_to_end", lambda: ending)
    again = faulty_once(monkeypatch, owner, name)
    async with ModelServer([]) as model, TelegramServer() as network:
        story = Story(tmp_path, model, network)
        app = await App.open(load(story.home, story.env), story.env)
        running = asyncio.create_task(foreground.run(app, (), lambda gateway: _page(gateway)))
        async with asyncio.timeout(PATIENCE_S):
            await again.wait()
        ending.set()
        assert await running == 0
    log = (story.home / "angelia.log").read_text()
    assert f"{what} stopped, and is tried again" in log
    assert "KeyError: 'a fault of ours'" in log
