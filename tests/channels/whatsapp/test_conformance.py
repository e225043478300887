"""The WhatsApp channel meets every claim of the public conformance kit."""

import pytest

from angelia.channels.whatsapp.capabilities import capabilities
from angelia.testing.channels.checks import ChannelCheck, checks
from angelia.testing.networks.whatsapp_server import WhatsAppServer


@pytest.mark.soak(every=2)
@pytest.mark.anyio
@pytest.mark.parametrize("check", checks(capabilities()), ids=lambda check: check.name)
async def test_whatsapp(check: ChannelCheck) -> None:
    await check.run(WhatsAppServer)
