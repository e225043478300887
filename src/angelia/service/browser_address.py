"""The browser elsewhere that the settings name, with the secrets of its address read at the last moment."""

from collections.abc import Callable

from angelia.browsers.address import RemoteAddress
from angelia.service.settings.config import Loaded
from angelia.service.settings.secret_refs import SecretRefs


def remote_browser(loaded: Loaded, refs: Callable[[], SecretRefs]) -> RemoteAddress | None:
    """None without an address: the browser is this machine's own."""
    address = loaded.config.browser.address

    async def read() -> str:
        return (await refs().late("browser.address", {"address": address})())["address"]

    return RemoteAddress(address, read) if address else None
