"""What keeps a conversation going while its lease is held, as the household sees it."""

from typing import Protocol

from angelia.engine.machine import Rest
from angelia.store.log.lease import Lease


class TurnDriver(Protocol):
    """See `engine.driver.Driver`, which is one."""

    def resting(self) -> Rest | None:
        """The rest that the log allows now, or None if there is something to do."""
        ...

    async def drive(self, lease: Lease, spent_today: tuple[int, int] = (0, 0)) -> Rest:
        """Go on until there is nothing to do; `spent_today` is (tokens, millionths of a dollar) before this turn.

        Raises:
            Fenced: somebody else drives now; nothing was done since.
            StoreError: the store failed; nothing was acknowledged since.
        """
        ...
