"""The web socket by which a browser is spoken to that runs elsewhere."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidURI, WebSocketException

from angelia.browsers.chromium.pipe import MOST_MESSAGE
from angelia.cancellation import end_if_cancelled

_quiet = logging.getLogger(f"{__name__}.frames")
_quiet.setLevel(logging.INFO)  # at DEBUG it writes down what is typed, secrets among it


class NoSocket(Exception):
    """Nobody answers at the address, or not as a browser does; in words that name no more of it than its host."""


class SocketTransport:
    """See `cdp.Transport`. Its methods belong to one event loop."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._unsent: asyncio.Queue[str | None] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._closed = False
        self._ended: Callable[[], None] = lambda: None

    @classmethod
    async def connected(cls, address: str, seconds: float) -> "SocketTransport":
        """Over a new connection, which must be there within so many seconds.

        Raises:
            NoSocket: there is none to be had.
        """
        try:
            made = connect(address, max_size=MOST_MESSAGE, open_timeout=seconds, ping_interval=None, logger=_quiet)
            return cls(await made)
        except (OSError, TimeoutError, InvalidURI, InvalidHandshake) as error:
            said = type(error).__name__ if isinstance(error, InvalidURI) else str(error) or "it does not answer"
            raise NoSocket(said) from error

    def begin(self, take: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        """Hand each message to `take`, until `ended` is called."""
        self._ended = ended
        self._tasks = [asyncio.ensure_future(one) for one in (self._read(take), self._write())]

    def send(self, message: bytes) -> None:
        """Have a message on its way."""
        if not self._closed:
            self._unsent.put_nowait(message.decode())

    def close(self) -> None:
        """Hang up, once what is on its way has left. Idempotent."""
        if not self._closed:
            self._closed = True
            self._unsent.put_nowait(None)
            self._ended()

    async def wait_closed(self) -> None:
        """Until nothing of it is left."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read(self, take: Callable[[bytes], None]) -> None:
        with suppress(WebSocketException, OSError):
            while True:
                end_if_cancelled()
                said = await self._connection.recv()
                take(said if isinstance(said, bytes) else said.encode())
        self.close()

    async def _write(self) -> None:
        with suppress(WebSocketException, OSError):
            while (message := await self._unsent.get()) is not None:
                await self._connection.send(message)
        await self._connection.close()
        self.close()
