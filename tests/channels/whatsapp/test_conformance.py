"""The WhatsApp room meets every claim of the public conformance kit."""

import pytest

from angelia.channels.whatsapp.table import abilities
from angelia.testing.channel_checks import Check, checks
from angelia.testing.whatsapp_server import WhatsAppServer


@pytest.mark.anyio
@pytest.mark.parametrize("check", checks(abilities()), ids=lambda check: check.name)
async def test_whatsapp(check: Check) -> None:
    await check.run(WhatsAppServer)
