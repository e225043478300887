"""The Telegram room meets every claim of the public conformance kit."""

import pytest

from angelia.channels.telegram.table import abilities
from angelia.testing.channel_checks import Check, checks
from angelia.testing.telegram_server import TelegramServer


@pytest.mark.anyio
@pytest.mark.parametrize("check", checks(abilities()), ids=lambda check: check.name)
async def test_telegram(check: Check) -> None:
    await check.run(TelegramServer)
