"""The first TERM or Ctrl-C lets a gateway finish what is under way; a second one ends it at once, and loses nothing."""

import asyncio
import signal
from pathlib import Path

import pytest

from angelia.channels.capabilities import IncomingKind
from angelia.testing.channels.network import Thing
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Hang, say
from angelia.testing.networks.telegram_server import TelegramServer
from angelia.testing.networks.telegram_world import HERE
from tests.chats.gateway_lives import PATIENCE_S, Story, seen
from tests.nursery import Nursery

pytestmark = pytest.mark.anyio


async def stands(file: Path, words: str) -> None:
    """Return once it holds these."""
    async with asyncio.timeout(PATIENCE_S):
        while words not in (file.read_text() if file.exists() else ""):  # noqa: ASYNC110 - a process writes it
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
async def test_a_second_signal_ends_it_at_once_and_the_turn_goes_on_at_the_next_start(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    async with ModelServer([Hang(), say("Well again.")]) as model, TelegramServer() as network, Nursery() as nursery:
        story = Story(tmp_path / "story", model, network)
        for life in ("first", "second"):
            (tmp_path / life).mkdir()
        gateway = await nursery.bear(["gateway"], story.env, tmp_path / "first")
        await network.bring(Thing(IncomingKind.TEXT, HERE, "Are you well?"))
        await model.when(lambda server: bool(server.requests))
        gateway.kill(signal.SIGINT)
        await stands(tmp_path / "first" / "out", "Finishing what is under way, for at most 20 s…")
        gateway.kill(number)
        ended = await gateway.ended()
        assert (ended.status, ended.stderr.strip()) == (status, "")
        assert "Everything is stored" not in ended.stdout

        gateway = await nursery.bear(["gateway"], story.env, tmp_path / "second")
        async with asyncio.timeout(PATIENCE_S):
            await network.when(lambda: "Well again." in seen(network.arrived).texts)
        gateway.kill(signal.SIGTERM)
        ended = await gateway.ended()
        assert (ended.status, ended.stderr) == (0, "")
        assert "Everything is stored" in ended.stdout
        assert seen(network.arrived).texts.count("Well again.") == 1
