"""What a model provider is opened with."""

from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import Struct

from angelia.context.request import OpenMedia
from angelia.http.server import HttpServer

GetServer = Callable[[], Awaitable[HttpServer]]
"""The vendor's one server, which has its base URL. It is made when it is first asked for: reading authorities takes
longer than everything else that opens a conversation. Raises ConfigError when its certificates or its proxy are of no
use."""


class WireTimeouts(Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds without progress. `connect` is for one connection; `first_byte` runs from sending to the first byte
    of the reply's body, however early the headers come; `silence` is the longest pause between two bytes after it.
    """

    connect: float = 10.0
    first_byte: float = 600.0
    silence: float = 120.0


class ProviderContext(Struct, frozen=True):
    """What is there for a provider; it takes what it needs.

    `open_media` opens media in the form they are shown in. `client` is None for a vendor that is not reached by HTTP.
    `weights` is the folder in which files of weights are kept.
    """

    open_media: OpenMedia
    server: GetServer | None = None
    timeouts: WireTimeouts = WireTimeouts()
    weights: Path = Path("models")
