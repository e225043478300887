"""The Telegram room meets every claim of the public conformance kit, and hears over a webhook as well as by polling."""

import pytest

from angelia.channels.telegram.table import abilities
from angelia.testing.channel_checks import Check, checks
from angelia.testing.channel_hearing import hearing_checks
from angelia.testing.telegram_server import TelegramServer


@pytest.mark.anyio
@pytest.mark.parametrize("check", checks(abilities()), ids=lambda check: check.name)
async def test_telegram(check: Check) -> None:
    await check.run(TelegramServer)


@pytest.mark.anyio
@pytest.mark.parametrize("check", hearing_checks(abilities()), ids=lambda check: check.name)
async def test_over_a_webhook(check: Check) -> None:
    await check.run(lambda: TelegramServer(visits=True))
