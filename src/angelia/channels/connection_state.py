"""How the connection of a channel is: kept up as long as the network lets us, and told to whoever watches."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NoReturn

from angelia.cancellation import end_if_cancelled
from angelia.channels.backoff import growing_pause
from angelia.channels.failures import ChannelError, Later, LoginFailed
from angelia.channels.health import ConnectionHealth, Health
from angelia.channels.port import ChannelContext


class ConnectionState:
    """One channel's connection. `failures` counts the tries in a row that came to nothing; `refused` is why the network
    does not let us in, while that is so.
    """

    def __init__(
        self,
        context: ChannelContext,
        pause: float,
        silence: float,
        changed: Callable[[ConnectionHealth, ConnectionHealth], None] = lambda before, now: None,
    ) -> None:
        """`pause` are the seconds before the second try; after `silence` seconds in which nothing is heard a connection
        is taken for dead. `changed` gets the state before and now, whenever something is told.
        """
        self.state, self.failures = ConnectionHealth.CONNECTING, 0
        self.refused: LoginFailed | None = None
        self._context = context
        self._pause = pause
        self._silence = silence
        self._changed = changed
        self._heard = 0

    async def hold(
        self, connect: Callable[[], Awaitable[object]], lost: Callable[[ChannelError], None] = lambda error: None
    ) -> NoReturn:
        """Connect, and connect again whenever that ends: as late as the network asks for, else after pauses that grow.
        `lost` hears of each end before it is told.

        Raises:
            LoginFailed: the network does not let us in.
        """
        self.refused = None
        self.tell(ConnectionHealth.CONNECTING)
        while True:
            try:
                await connect()
            except LoginFailed as error:
                self.refused = error
                self.tell(ConnectionHealth.STOPPED, str(error))
                raise
            except ChannelError as error:
                end_if_cancelled()
                self.failures += 1
                lost(error)
                self.tell(ConnectionHealth.WAITING, str(error))
                grown = growing_pause(self._pause, self.failures)
                await asyncio.sleep(error.seconds if isinstance(error, Later) else grown)

    def well(self, why: str = "") -> None:
        """The network is there for us, as of now; how long it was not is told if it was not."""
        now = self._context.steady()
        if self.state is not ConnectionHealth.CONNECTED:
            self.tell(ConnectionHealth.CONNECTED, why, max(now - self._heard, 1) if self._heard else 0)
        self._heard, self.failures = now, 0

    def trouble(self, why: str) -> None:
        """Something went wrong that changes nothing about the connection."""
        self._context.report(Health(self.state, why))

    def tell(self, state: ConnectionHealth, why: str = "", gap_ms: int = 0) -> None:
        """How it stands from now on. A connection that is lost may have been dead for as long as silence is borne."""
        before, self.state = self.state, state
        if before is ConnectionHealth.CONNECTED is not state:
            self._heard = max(self._heard, self._context.steady() - int(self._silence * 1000))
        self._context.report(Health(state, why, gap_ms))
        self._changed(before, state)
