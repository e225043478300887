"""One connection by Socket Mode (docs.slack.dev, "Using Socket Mode"): what comes is acknowledged by its number."""

import asyncio
import logging
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from angelia.channels.exchange import CONNECT
from angelia.channels.failures import NotSent
from angelia.channels.slack.payloads import SlackFrame

_quiet = logging.getLogger(f"{__name__}.frames")
_quiet.setLevel(logging.CRITICAL)  # the address that it would write down is a ticket


class SlackLost(NotSent):
    """The connection ended."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The connection to Slack was lost: {why}.", then="It is made anew.")


class SlackSocket:
    """An open connection. It is pinged, and taken for dead without an answer."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def frames(self) -> AsyncIterator[SlackFrame]:
        """What comes, until the connection ends; may be called again for what comes later.

        Raises:
            SlackLost: it ended, or nothing came any more.
        """
        while True:
            yield await self.next()

    async def next(self) -> SlackFrame:
        """The next frame. Raises as `frames`."""
        try:
            return msgspec.json.decode(await self._connection.recv(), type=SlackFrame)
        except ConnectionClosed as closed:
            raise SlackLost(_why(closed)) from closed
        except msgspec.MsgspecError as error:
            raise SlackLost(f"it sent what cannot be read ({error})") from error

    async def acknowledge(self, envelope: str) -> None:
        """Slack need not bring this again. If it does not learn that, it brings it again, and its key is known."""
        try:
            await self._connection.send(msgspec.json.encode({"envelope_id": envelope}).decode())
        except ConnectionClosed:
            return

    async def close(self) -> None:
        """Leave."""
        await self._connection.close()


async def opened(url: str, silence: float) -> SlackSocket:
    """A connection on which Slack has said hello; after so many seconds of `silence` it is taken for dead.

    Raises:
        NotSent: there is none to be had.
    """
    here = urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
    try:
        connection = await connect(
            url,
            compression=None,
            max_size=None,
            max_queue=None,
            ping_interval=silence / 3,
            ping_timeout=silence * 2 / 3,
            open_timeout=min(CONNECT, silence),
            close_timeout=1,
            proxy=None if here else True,
            logger=_quiet,
        )
    except (OSError, TimeoutError, InvalidHandshake, InvalidURI, EOFError) as error:
        raise NotSent(f"Slack's Socket Mode cannot be reached: {type(error).__name__}.") from error
    socket = SlackSocket(connection)
    try:
        async with asyncio.timeout(silence):
            frame = await socket.next()
            if frame.type != "hello":
                raise SlackLost(f"it began with {frame.type}")
    except BaseException as error:
        await socket.close()
        if isinstance(error, TimeoutError):
            raise SlackLost(f"nothing came for {silence:g} s") from error
        raise
    return socket


def _why(closed: ConnectionClosed) -> str:
    """Our own side closes when its pings are not answered."""
    if closed.sent and not closed.rcvd:
        return "nothing came any more"
    return f"it was closed ({closed.rcvd.code})" if closed.rcvd else "it broke off"
