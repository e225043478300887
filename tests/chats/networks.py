"""What every network of ours can show, by name: its table and its markup, without the network."""

from pathlib import Path

from msgspec import Struct

from angelia.channels.capabilities import Capabilities
from angelia.channels.markup.dialect import Dialect
from angelia.channels.port import ChannelContext
from angelia.channels.registry import OURS, find_channel
from angelia.core.ids import wall_clock


class Network(Struct, frozen=True):
    """How a network shows what goes out."""

    capabilities: Capabilities
    dialect: Dialect


async def _nothing(*_: object) -> str:
    raise AssertionError("a channel that is only looked at reaches nothing")


def _told(*_: object) -> None:
    raise AssertionError("a channel that is only looked at tells nothing")


def network(kind: str) -> Network:
    """One of `NETWORKS`."""
    provider = find_channel(kind, {})
    context = ChannelContext(kind, Path(), wall_clock, _nothing, _nothing, _nothing, _told, {})  # type: ignore[arg-type]
    channel = provider.open(provider.settings(), context)
    return Network(channel.capabilities, channel.dialect)


NETWORKS = sorted(OURS)
