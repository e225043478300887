"""The IRC channel meets every claim of the public conformance kit that words alone can meet."""

import pytest

from angelia.channels.irc.capabilities import capabilities
from angelia.testing.channels.checks import ChannelCheck, checks
from tests.channels.irc.network import irc_network

EXEMPT = {"text is heard": "it says two lines as one message, and a line of IRC has no line feed"}


@pytest.mark.anyio
@pytest.mark.parametrize(
    "check", [one for one in checks(capabilities()) if one.name not in EXEMPT], ids=lambda c: c.name
)
async def test_irc(check: ChannelCheck) -> None:
    await check.run(irc_network)
