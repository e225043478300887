"""Discord's channel keeps the port's promise, with its real client against a fake that checks each request."""

import pytest

from angelia.channels.discord.capabilities import capabilities
from angelia.testing.channels.checks import ChannelCheck, checks
from tests.channels.discord.network import discord


@pytest.mark.soak(every=2)
@pytest.mark.anyio
@pytest.mark.parametrize("check", checks(capabilities()), ids=lambda check: check.name)
async def test_discord(check: ChannelCheck) -> None:
    await check.run(discord)
