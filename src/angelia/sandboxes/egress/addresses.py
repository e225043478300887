"""Who says to which addresses a command may connect."""

from collections.abc import Awaitable, Callable, Sequence

from angelia.core.errors import PolicyDenied

Addresses = Callable[[str, str, int], Awaitable[Sequence[str]]]
"""The addresses behind an origin (as a URL), a host and a port: all were judged, the preferred one is first.

Raises PolicyDenied where one of them, or the origin, is refused, and AngeliaError where there are none.
"""


async def no_addresses(origin: str, _host: str, _port: int) -> Sequence[str]:
    """Those of whoever was given nobody who judges: none."""
    raise PolicyDenied(f"{origin} is not reached.", "Nobody judges addresses here, so there is no network.")
