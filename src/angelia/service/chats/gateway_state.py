"""What a gateway says of itself to other processes of its home: its version, and how each channel is."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from angelia.core.errors import UNREADABLE
from angelia.core.ids import sortable_id
from angelia.core.version import PACKAGE_VERSION
from angelia.service.chats.gateway import ChannelStatus
from angelia.store.presence import is_alive

FILE = "gateway.json"


class ChannelState(Struct, frozen=True):
    """How a channel is (a `ConnectionHealth`), why, since when (Unix milliseconds), and how much it heard."""

    state: str
    why: str
    since: int
    heard: int


class GatewayState(Struct, frozen=True):
    """`life` is the file by which its process is known to be alive; `began` is Unix milliseconds."""

    pid: int
    version: str
    life: str
    began: int
    channels: dict[str, ChannelState]

    @property
    def well(self) -> bool:
        """Whether every channel is connected."""
        return all(one.state == "connected" for one in self.channels.values())


def tell(home: Path, life: str, began: int, standings: Mapping[str, ChannelStatus]) -> None:
    """Write how this process's gateway is; a reader sees the old or the new, never a part."""
    channels = {
        door: ChannelState(one.health.state.value, one.health.why, one.since, one.heard)
        for door, one in standings.items()
    }
    unfinished = home / f".part-{sortable_id()}"
    unfinished.write_bytes(msgspec.json.encode(GatewayState(os.getpid(), PACKAGE_VERSION, life, began, channels)))
    unfinished.replace(home / FILE)


def gateway_of(home: Path) -> GatewayState | None:
    """The gateway that runs for a home; none if none does."""
    try:
        state = msgspec.json.decode((home / FILE).read_bytes(), type=GatewayState)
    except (FileNotFoundError, *UNREADABLE):
        return None
    return state if is_alive(home / "alive", state.life) else None
