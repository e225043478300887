"""Discord's room keeps the port's promise, with its real client against a fake that checks each request."""

import pytest

from angelia.channels.discord.table import abilities
from angelia.testing.channel_checks import Check, checks
from tests.channels.discord.network import discord


@pytest.mark.anyio
@pytest.mark.parametrize("check", checks(abilities()), ids=lambda check: check.name)
async def test_discord(check: Check) -> None:
    await check.run(discord)
