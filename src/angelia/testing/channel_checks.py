"""The conformance kit for chat rooms: every room runs it against a fake of its network, a stranger's too.

    for check in checks(ABILITIES):
        await check.run(make)     # `make` gives a fresh fake `Network`: an async context manager

The fake is yours to write (`channel_network.Network`): a server on loopback that the room's real client library talks
to, and that checks every request by the network's published rules.
"""

from functools import partial

from angelia.channels.abilities import Abilities, faults
from angelia.testing.channel_connection import connection_checks
from angelia.testing.channel_files import file_checks
from angelia.testing.channel_hearing import hearing_checks
from angelia.testing.channel_network import Network, Patience, Thing, Trouble
from angelia.testing.channel_stage import Check, Make, staged
from angelia.testing.channel_words import word_checks
from angelia.testing.claims import CheckFailed, expect

__all__ = ["Check", "CheckFailed", "Make", "Network", "Patience", "Thing", "Trouble", "checks"]


def checks(abilities: Abilities) -> list[Check]:
    """Every check for a room with this table, each independent of the others."""
    table = Check("the table of abilities is complete", partial(_table, abilities))
    return [
        table,
        *word_checks(abilities),
        *file_checks(abilities),
        *hearing_checks(abilities),
        *connection_checks(),
    ]


async def _table(abilities: Abilities, make: Make) -> None:
    expect(not faults(abilities), f"the table has faults: {faults(abilities)}")
    async with staged(make) as stage:
        expect(stage.channel.abilities == abilities, "the channel that is opened has another table")
