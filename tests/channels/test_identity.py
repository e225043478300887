"""Every network of ours that can be asked says who we are, and lets nobody else in."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from angelia.channels.failures import LoginFailed
from angelia.channels.port import ChannelContext, HasIdentity
from angelia.channels.registry import OURS, find_channel
from angelia.channels.settings import Secret
from angelia.core.ids import wall_clock
from angelia.testing.channels.network import ChannelTimeouts, FakeNetwork
from angelia.testing.networks.telegram_server import TelegramServer
from angelia.testing.networks.whatsapp_server import WhatsAppServer
from tests.channels.discord.network import discord
from tests.channels.matrix.network import matrix
from tests.channels.slack.network import slack

NETWORKS: list[tuple[Callable[[], AbstractAsyncContextManager[FakeNetwork]], str, str]] = [
    (TelegramServer, "@angelia_test_bot", "https://t.me/angelia_test_bot"),
    (discord, "angelia", "https://discord.com/oauth2/authorize?client_id="),
    (slack, "angelia in the team", ""),
    (matrix, "@angelia:", "https://matrix.to/#/@angelia:"),
    (WhatsAppServer, "phone number ", ""),
]


def context(network: FakeNetwork, folder: Path) -> ChannelContext:
    async def secret(where: Secret) -> str:
        return network.secrets[where.env]

    async def recall(name: str) -> str:
        return ""

    async def remember(name: str, value: str) -> None:
        return None

    return ChannelContext("door", folder, wall_clock, secret, recall, remember, lambda health: None, {})


@pytest.mark.anyio
@pytest.mark.parametrize(("make", "name", "link"), NETWORKS)
async def test_a_network_says_who_we_are_until_it_lets_us_in_no_more(
    make: Callable[[], AbstractAsyncContextManager[FakeNetwork]], name: str, link: str, tmp_path: Path
) -> None:
    async with make() as network:
        channel = network.open(context(network, tmp_path), ChannelTimeouts())
        try:
            assert isinstance(channel, HasIdentity)
            who = await channel.identify()
            assert who.name.startswith(name)
            assert who.link.startswith(link)
            assert bool(who.link) is bool(link)
            assert network.arrived == []
            network.revoke()
            with pytest.raises(LoginFailed):
                await channel.identify()
        finally:
            await channel.close()


@pytest.mark.parametrize("kind", OURS)
def test_every_network_says_how_to_get_what_it_needs(kind: str) -> None:
    settings = find_channel(kind, {"kind": kind}).settings
    assert settings.guide.title
    assert settings.guide.steps
    assert set(settings.guide.secrets) <= set(settings.__struct_fields__)
