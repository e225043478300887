"""What every network of ours can show, by name: its table and its markup, without the network."""

from pathlib import Path

from msgspec import Struct

from angelia.channels.abilities import Abilities
from angelia.channels.dialects import Dialect
from angelia.channels.port import Outfit
from angelia.channels.rooms import OURS, find_room
from angelia.core.ids import wall_clock


class Network(Struct, frozen=True):
    """How a network shows what goes out."""

    abilities: Abilities
    dialect: Dialect


async def _nothing(*_: object) -> str:
    raise AssertionError("a room that is only looked at reaches nothing")


def _told(*_: object) -> None:
    raise AssertionError("a room that is only looked at tells nothing")


def network(kind: str) -> Network:
    """One of `NETWORKS`."""
    room = find_room(kind, {})
    outfit = Outfit(kind, Path(), wall_clock, _nothing, _nothing, _nothing, _told, {}, _nothing)  # type: ignore[arg-type]
    channel = room.open(room.settings(), outfit)
    return Network(channel.abilities, channel.dialect)


NETWORKS = sorted(OURS)
