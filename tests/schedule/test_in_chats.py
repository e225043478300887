"""What a clock begins is told in a chat: tried when it is scheduled, delivered with a receipt, asked about there."""

import asyncio
import re
import signal
from pathlib import Path

import pytest

from angelia.channels.capabilities import IncomingKind
from angelia.testing.channels.network import Thing
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from angelia.testing.networks.telegram_server import TelegramServer
from angelia.testing.networks.telegram_world import HERE
from tests.faces.angelia import Place
from tests.faces.test_chat_networks import added, ran
from tests.nursery import Nursery

pytestmark = pytest.mark.anyio


async def _arrives(network: TelegramServer, words: str) -> None:
    async with asyncio.timeout(60):
        await network.when(lambda: any(words in one.text for one in network.arrived))


async def test_a_time_is_told_in_the_chat_that_was_tried_when_it_was_scheduled(tmp_path: Path) -> None:
    script = [
        say("Hello Ann."),
        call("schedule", {"when": "in 1 second", "text": "Say that tea is ready."}),
        say("I will."),
        say("Tea is ready."),
        say("The news: none."),
    ]
    async with ModelServer(script) as model, TelegramServer() as network, Nursery() as nursery:
        place = Place(tmp_path / "home", tmp_path / "work", model.url)
        place.work.mkdir()
        await added(place, network, HERE.chat)
        early = await ran(place, "schedule", "add", "18:00", "x", "--to", "telegram")
        assert "You have not written through telegram yet" in early.err
        (tmp_path / "life").mkdir()
        gateway = await nursery.bear(["gateway"], place.environment({}), tmp_path / "life")
        await network.bring(Thing(IncomingKind.TEXT, HERE, "hello"))
        await _arrives(network, "Hello Ann.")

        await network.bring(Thing(IncomingKind.TEXT, HERE, "tell me when tea is ready, in a second"))
        await _arrives(network, "Tea is ready.")
        assert "Scheduled for" in str(model.requests[3].body)
        assert "tell me when tea is ready" in str(model.requests[3].body)  # it goes on with the chat's conversation

        told = await ran(place, "schedule", "add", "in 2 seconds", "Tell the news.", "--to", "telegram")
        assert "It gets a message about this now" in told.out, told.err
        await _arrives(network, "From now on here, once")
        await _arrives(network, "The news: none.")
        assert "hello" not in str(model.requests[4].body)  # a conversation of its own
        name = re.findall(r"Scheduled (\w+)", told.out)[0]
        shown = await ran(place, "schedule", "show", name)
        assert re.search(r"message +sent", shown.out), shown.out
        history = await ran(place, "schedule", "history", name)
        assert "The news: none." in history.out
        gateway.kill(signal.SIGTERM)
        assert (await gateway.ended()).status == 0
        assert len(model.requests) == 5


async def test_addresses_that_lead_nowhere_are_refused_when_it_is_scheduled(tmp_path: Path) -> None:
    async with TelegramServer() as network:
        place = Place(tmp_path / "home", tmp_path / "work")
        place.work.mkdir()
        await added(place, network, HERE.chat)
        said = [
            (await ran(place, "schedule", "add", "18:00", "x", "--to", to)).err
            for to in ("pigeons", "telegram:99", "telegram")
        ]
        assert "There is no channel 'pigeons'" in said[0]
        assert "Nobody has written in the chat telegram:99. Known there: none yet." in said[1]
        assert "You have not written through telegram yet" in said[2]
        assert (await ran(place, "schedule")).out.startswith("Nothing is scheduled.")
