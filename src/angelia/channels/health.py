"""How the connection to a chat network is."""

from enum import StrEnum

from msgspec import Struct


class ConnectionHealth(StrEnum):
    """How a connection is."""

    CONNECTING = "connecting"
    CONNECTED = "connected"
    WAITING = "waiting"
    """It was lost, and is tried again."""
    STOPPED = "stopped"
    """It cannot be had until somebody mends something."""


class Health(Struct, frozen=True):
    """How a channel is now. `gap_ms` is how long nothing could be heard before it was mended, 0 for no gap: it is
    announced, since what the network does not bring again is lost.
    """

    state: ConnectionHealth
    why: str = ""
    gap_ms: int = 0
