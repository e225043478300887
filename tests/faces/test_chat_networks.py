"""Chat networks by their commands, as somebody sets one up: added, tried, and who else may speak there."""

import asyncio
import re
import signal
from pathlib import Path

import pytest

from angelia.channels.capabilities import IncomingKind
from angelia.testing.channels.network import Thing
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from angelia.testing.networks.telegram_server import TOKEN, TelegramServer
from angelia.testing.networks.telegram_world import ANN, HERE, NOWHERE
from tests.faces.angelia import MODEL, Ended, Place
from tests.nursery import Nursery

pytestmark = pytest.mark.anyio


async def ran(place: Place, *words: str) -> Ended:
    """What a command says, while the network is there."""
    return await asyncio.to_thread(place.run, *words)


async def added(place: Place, network: TelegramServer, owner: str) -> Ended:
    """A channel whose network is the fake one."""
    place.home.mkdir()
    config = place.home / "config.toml"
    config.write_text(f'model = "{MODEL}"\n[sandbox]\nconfine = "off"\n')
    given = ("--token", TOKEN, "--owner", owner, "--with", f"api={network.url}")
    return await ran(place, "channels", "add", "telegram", *given)


async def test_a_channel_is_added_listed_and_tried(place: Place) -> None:
    async with TelegramServer() as network:
        assert "`angelia channels add NAME`" in (await ran(place, "channels")).out
        told = await added(place, network, HERE.chat)
        assert (told.code, told.err) == (0, "")
        assert "Now: angelia gateway" in told.out
        assert (await ran(place, "channels")).out.split() == ["telegram", "telegram", "1", "owner,", "0", "others"]
        tried = await ran(place, "channels", "test", "telegram", "--to", HERE.chat)
        (arrived,) = network.arrived
        assert tried.out == f"Accepted by the network as message {arrived.message}.\n"
        assert (arrived.chat, arrived.text) == (HERE.chat, "This is Angelia. If you can read this, messages arrive.")
        assert (place.home / "channels" / "telegram.token").stat().st_mode & 0o077 == 0


async def test_what_cannot_be_set_up_or_reached_is_said_and_changes_nothing(place: Place) -> None:
    async with TelegramServer() as network:
        await added(place, network, HERE.chat)
        before = (place.home / "config.toml").read_text()
        tried = [
            await ran(place, "channels", "add", "telegram", "--token", "other", "--owner", "1"),
            await ran(place, "channels", "add", "pigeons", "--token", "x", "--owner", "1"),
            await ran(place, "channels", "test", "telegram", "--to", NOWHERE.chat),
            await ran(place, "channels", "test", "letters", "--to", "1"),
        ]
        network.revoke()
        tried.append(await ran(place, "channels", "test", "telegram", "--to", HERE.chat))
        said = [
            "There is a channel telegram already",
            "pigeons",
            "does not find this chat",
            "no channel 'letters'",
            "token",
        ]
        assert [(words, one.err) for words, one in zip(said, tried, strict=True) if words not in one.err] == []
        assert all(one.code and not one.out and "Traceback" not in one.err for one in tried)
        assert not any(TOKEN in one.err for one in tried)
        assert (place.home / "config.toml").read_text() == before
        assert network.arrived == []


async def test_a_stranger_is_let_in_with_a_code_and_shown_out_again(place: Place, tmp_path: Path) -> None:
    async with ModelServer([say("Hello Ann.")]) as model, TelegramServer() as network, Nursery() as nursery:
        place = Place(place.home, place.work, model.url)
        await added(place, network, "1")
        (tmp_path / "life").mkdir()
        gateway = await nursery.bear(["gateway"], place.environment({}), tmp_path / "life")
        assert (await ran(place, "pair")).out == "Nobody was let in with a code, and nobody asks.\n"

        await network.bring(Thing(IncomingKind.TEXT, HERE, "may I?"))
        async with asyncio.timeout(60):
            await network.when(lambda: bool(network.arrived))
        code = re.search(r"code is ([0-9A-Z]{8})", network.arrived[0].text)
        assert code is not None, network.arrived
        assert "asks since" in (await ran(place, "pair")).out
        wrong = await ran(place, "pair", "approve", "00000000")
        assert (wrong.code, wrong.out, model.requests) == (1, "", [])

        assert "may talk to Angelia" in (await ran(place, "pair", "approve", code[1], "--as", "guest")).out
        await network.bring(Thing(IncomingKind.TEXT, HERE, "hello"))
        async with asyncio.timeout(60):
            await network.when(lambda: any("Hello Ann." in one.text for one in network.arrived))
        assert "guest, let in by owner" in (await ran(place, "pair")).out
        assert (await ran(place, "pair", "forget", "telegram", str(ANN["id"]))).code == 0
        assert (await ran(place, "pair")).out == "Nobody was let in with a code, and nobody asks.\n"

        gateway.kill(signal.SIGTERM)
        assert (ended := await gateway.ended()).status == 0, ended.stderr
