"""How a connection to a server stands: not begun, being reached, ready, or gone."""

import asyncio
from typing import Any

from msgspec import Struct


class Waiting(Struct, frozen=True):
    """It is not begun: nobody has said yes yet."""


class Connecting(Struct, frozen=True):
    """It is being reached."""


class Ready(Struct, frozen=True):
    """It can be called."""

    client: Any
    over: asyncio.Event


class Gone(Struct, frozen=True):
    """It cannot be had, or is not to be; `why` is the end of a sentence."""

    why: str


State = Waiting | Connecting | Ready | Gone
