"""What came of the last attempts to log in, so that the owner sees who tried."""

import asyncio
import logging

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from angelia.core.ids import Clock
from angelia.core.visible import visible_line
from angelia.faces.web.access.logins import Visitor
from angelia.store.tables.key_value import KeyValue

_KEY = "web-attempts"
MOST = 50
"""Rows that are kept; the oldest goes first."""

logger = logging.getLogger("angelia.web")


class LoginAttempt(Struct, frozen=True):
    """Somebody tried, at Unix milliseconds, `times` in a row, of which the first began it, at a time that no other
    has; `failed` says why it did not let them in, empty where it did.
    """

    at: int
    by: str
    address: str
    browser: str
    failed: str = ""
    times: int = 1
    first: int = 0


class LoginAttempts:
    """Those of a home, the newest first."""

    def __init__(self, key_value: KeyValue, clock: Clock) -> None:
        self._key_value, self._clock = key_value, clock
        self._adding = asyncio.Lock()

    async def add(self, by: str, visitor: Visitor, failed: str = "") -> None:
        """One more. It is in the log too."""
        said = f"a login by {by} from {visitor.address}"
        if failed:
            logger.warning("%s failed: %s (%s)", said, failed, visible_line(visitor.browser))
        else:
            logger.info("%s", said)
        async with self._adding:
            found = await self.all()
            at = self._clock()
            first = max([at, *(one.first + 1 for one in found)])
            new = LoginAttempt(at, by, visitor.address, visitor.browser, failed, first=first)
            same = next((one for one in found if failed and _alike(one, new)), None)
            if same:
                found.remove(same)
                new = replace(new, times=same.times + 1, first=same.first)
            await self._key_value.put(_KEY, msgspec.json.encode([new, *found][:MOST]).decode())

    async def all(self) -> list[LoginAttempt]:
        """Those that are kept."""
        found = await self._key_value.get_as(list[LoginAttempt], _KEY) or []
        return [replace(one, first=one.first or one.at) for one in found]


def _alike(one: LoginAttempt, other: LoginAttempt) -> bool:
    return (one.by, one.address, one.failed) == (other.by, other.address, other.failed)
