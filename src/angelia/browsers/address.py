"""Where a browser answers that runs elsewhere."""

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from msgspec import Struct


class RemoteAddress(Struct, frozen=True):
    """The address of a debugger, as it stands in the settings; `read` gives it with the secrets that it names."""

    said: str
    read: Callable[[], Awaitable[str]]

    @property
    def shown(self) -> str:
        """As it may be shown."""
        return shown_address(self.said)


def plain_address(address: str) -> RemoteAddress:
    """One that names no secrets."""

    async def read() -> str:
        return address

    return RemoteAddress(address, read)


def shown_address(address: str) -> str:
    """As it may be shown: what follows the host is often a key.

    >>> shown_address("wss://browsers.example/?token=abc")
    'wss://browsers.example'
    """
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
