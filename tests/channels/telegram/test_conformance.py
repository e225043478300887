"""The Telegram channel meets every claim of the public kit, and hears over a webhook as well as by polling."""

import pytest

from angelia.channels.telegram.capabilities import capabilities
from angelia.testing.channels.checks import ChannelCheck, checks
from angelia.testing.channels.incoming import incoming_checks
from angelia.testing.networks.telegram_server import TelegramServer


@pytest.mark.soak(every=2)
@pytest.mark.anyio
@pytest.mark.parametrize("check", checks(capabilities()), ids=lambda check: check.name)
async def test_telegram(check: ChannelCheck) -> None:
    await check.run(TelegramServer)


@pytest.mark.anyio
@pytest.mark.parametrize("check", incoming_checks(capabilities()), ids=lambda check: check.name)
async def test_over_a_webhook(check: ChannelCheck) -> None:
    await check.run(lambda: TelegramServer(visits=True))
