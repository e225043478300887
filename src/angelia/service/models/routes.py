"""What was learnt of a server's routes: kept by its address, from one start to the next."""

import logging
from collections.abc import Callable

from angelia.store.tables.key_value import KeyValue

_KEY = "no-responses-route:"

logger = logging.getLogger("angelia.models")


class RememberedRoutes:
    """Whether the server at `address` is known to lack the Responses route. See `RouteMemory`.

    `tell` is handed a sentence for the person when that is found out.
    """

    def __init__(self, key_value: KeyValue, address: str, tell: Callable[[str], None]) -> None:
        self._key_value, self._address = key_value, address
        self._tell = tell
        self._lacks: bool | None = None

    async def lacks(self) -> bool:
        """See `RouteMemory.lacks`."""
        if self._lacks is None:
            self._lacks = bool(await self._key_value.get(_KEY + self._address))
        return self._lacks

    async def learn(self) -> None:
        """See `RouteMemory.learn`."""
        self._lacks = True
        await self._key_value.put(_KEY + self._address, "yes")
        told = f"{self._address} has no /responses: it is asked at /chat/completions from now on."
        logger.warning("%s", told)
        self._tell(told)
