"""A channel of a home is held to its kit on its account: in the chat that is named, once somebody said yes."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from angelia.channels.capabilities import Kind
from angelia.testing.networks.telegram_server import TOKEN, TelegramServer
from angelia.testing.networks.telegram_world import HERE, NOWHERE
from tests.channels.irc.ngircd import PASSWORD, Server
from tests.faces.angelia import Ended, Place
from tests.faces.conftest import place

__all__ = ("place",)

pytestmark = pytest.mark.anyio


def home(place: Place, channel: str) -> None:
    place.home.mkdir()
    (place.home / "config.toml").write_text(f'[sandbox]\nconfine = "off"\n{channel}')


def telegram(place: Place, network: TelegramServer) -> None:
    home(place, f'[channels.telegram]\napi = "{network.url}"\nowners = ["{HERE.chat}"]\ntoken = {{env = "SECRET"}}\n')


async def tried(place: Place, *words: str, secret: str) -> Ended:
    return await asyncio.to_thread(lambda: place.run("doctor", "--door", *words, SECRET=secret))


def certificate(place: Place) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((place.work / "angelia-certificate/certificate.json").read_text())
    return found


@pytest.mark.soak
async def test_what_can_be_seen_from_one_side_is_tried_and_certified(place: Place) -> None:
    async with TelegramServer() as network:
        telegram(place, network)
        ended = await tried(place, "telegram", "--to", HERE.chat, "--yes", secret=TOKEN)
        assert ended.code == 0, ended.err
        made = certificate(place)
        assert made["held"]
        claims = {claim["claim"] for claim in made["claims"]}
        assert {"words are taken", "a photo is taken", "buttons are taken", "the network lets the account in"} <= claims
        there = [one for one in network.arrived if one.kind not in (Kind.EDIT, Kind.TYPING, Kind.REACTION, Kind.DRAFT)]
        assert {one.chat for one in there} == {HERE.chat}
        left = len(there) - 2 * sum(one.kind is Kind.DELETE for one in there)
        assert f"{left} messages go to {HERE.chat} through telegram" in ended.err
        assert "–  a voice is taken: not tried" in ended.err
        assert "–  an animation is taken: not tried" in ended.err
        assert TOKEN not in ended.err + ended.out


async def test_nothing_is_sent_before_somebody_said_yes(place: Place) -> None:
    async with TelegramServer() as network:
        telegram(place, network)
        ended = await tried(place, "telegram", "--to", HERE.chat, secret=TOKEN)
        assert (ended.code, "Nothing was sent" in ended.err) == (2, True)
        assert network.arrived == []
        unnamed = await tried(place, "telegram", secret=TOKEN)
        assert "No chat is named" in unnamed.err


async def test_what_is_wrong_is_told_with_what_mends_it(place: Place) -> None:
    async with TelegramServer() as network:
        telegram(place, network)
        ended = await tried(place, "telegram", "--to", NOWHERE.chat, "--yes", secret=TOKEN)
        assert ended.code == 1
        broken = {claim["claim"]: claim["broken"] for claim in certificate(place)["claims"] if claim["broken"]}
        assert "does not find this chat" in broken["words are taken"][0]
        assert "the network lets the account in" not in broken
        network.revoke()
        ended = await tried(place, "telegram", "--to", HERE.chat, "--yes", secret=TOKEN)
        assert ended.code == 1
        assert "✘  the network lets the account in" in ended.err


@pytest.mark.real("irc")
async def test_a_real_server_of_irc_is_held_to_it_as_well(place: Place, tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.certify()
    server.up()
    try:
        home(
            place,
            f'[channels.irc]\nserver = "127.0.0.1"\nport = {server.port}\nca = "{server.cert}"\nline_seconds = 0.0\n'
            'nick = "angelia"\nowners = ["ann"]\nidentity = "mask"\n'
            'server_password = {env = "SECRET"}\njoin = ["#town"]\n',
        )
        async with server.person("ann", "#town") as ann:
            ended = await tried(place, "irc", "--to", "#town", "--yes", secret=PASSWORD)
            assert ended.code == 0, ended.err
            assert certificate(place)["held"]
            assert "#town" in await ann.until("and a third")
    finally:
        server.down()
