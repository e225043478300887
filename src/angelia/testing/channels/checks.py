"""The conformance kit for channels: every channel runs it against a fake of its network, third-party ones too.

    for check in checks(CAPABILITIES):
        await check.run(make)     # `make` gives a fresh fake `FakeNetwork`: an async context manager

The fake is yours to write (`testing.channels.network.FakeNetwork`): a server on loopback that the channel's real client
library talks to, and that checks every request by the network's published rules.
"""

from functools import partial

from angelia.channels.capabilities import Capabilities, faults
from angelia.testing.channels.connection import connection_checks
from angelia.testing.channels.files import file_checks
from angelia.testing.channels.incoming import incoming_checks
from angelia.testing.channels.network import ChannelTimeouts, FakeNetwork, Thing, Trouble
from angelia.testing.channels.stage import ChannelCheck, Make, staged
from angelia.testing.channels.words import word_checks
from angelia.testing.claims import CheckFailed, expect

__all__ = ["ChannelCheck", "ChannelTimeouts", "CheckFailed", "FakeNetwork", "Make", "Thing", "Trouble", "checks"]


def checks(capabilities: Capabilities) -> list[ChannelCheck]:
    """Every check for a channel with this table, each independent of the others."""
    table = ChannelCheck("the table of abilities is complete", partial(_table, capabilities))
    return [
        table,
        *word_checks(capabilities),
        *file_checks(capabilities),
        *incoming_checks(capabilities),
        *connection_checks(),
    ]


async def _table(capabilities: Capabilities, make: Make) -> None:
    expect(not faults(capabilities), f"the table has faults: {faults(capabilities)}")
    async with staged(make) as stage:
        expect(stage.channel.capabilities == capabilities, "the channel that is opened has another table")
