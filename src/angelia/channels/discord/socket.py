"""One connection to Discord's gateway, version 10 (docs.discord.com, "Gateway"): it beats, and gives what comes."""

import asyncio
import logging
import random
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw, Struct
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI

from angelia.cancellation import end_if_cancelled
from angelia.channels.discord.api import USER_AGENT
from angelia.channels.discord.payloads import DiscordFrame, Hello
from angelia.channels.discord.refusals import login_failed
from angelia.channels.exchange import CONNECT
from angelia.channels.failures import ChannelError, LoginFailed, NotSent

LEAVE = 4900
"""The code that we close with: after 1000 or 1001 the session could not be resumed ("Disconnecting")."""

_quiet = logging.getLogger(f"{__name__}.frames")
_quiet.setLevel(logging.INFO)  # at DEBUG it writes down what leaves, and the token is among it

_DISPATCH, _BEAT, _IDENTIFY, _RESUME, _RECONNECT, _INVALID, _HELLO, _ACK = 0, 1, 2, 6, 7, 9, 10, 11

_FORGOTTEN = (4003, 4007, 4009)
"""Codes after which the session is over ("Gateway Close Event Codes")."""

_FATAL = {
    4010: "it was given a wrong shard",
    4011: "the bot is in so many servers that it has to be sharded, which this program does not do",
    4012: "this version of the gateway is not served any more",
    4013: "it does not know an intent that was asked for",
}


class DiscordLost(NotSent):
    """The connection ended; `forgotten` says that the session ended with it."""

    def __init__(self, why: str, *, forgotten: bool = False) -> None:
        self.forgotten = forgotten
        super().__init__(f"The connection to Discord was lost: {why}.", then="It is made anew.")


class DiscordStart(Struct, frozen=True):
    """How a session begins: by naming ourselves, or by resuming one (`session` and `seq`)."""

    token: str
    intents: int
    session: str = ""
    seq: int = 0

    def frame(self) -> bytes:
        """What is sent first."""
        if self.session:
            return _frame(_RESUME, {"token": self.token, "session_id": self.session, "seq": self.seq})
        properties = {"os": sys.platform, "browser": "angelia", "device": "angelia"}
        return _frame(_IDENTIFY, {"token": self.token, "intents": self.intents, "properties": properties})


class DiscordSocket:
    """An open connection. `silence` is the seconds without a frame after which it is taken for dead; `seq` tells the
    last event, for the beats.
    """

    def __init__(self, connection: ClientConnection, silence: float, seq: Callable[[], int]) -> None:
        self._connection = connection
        self._silence = silence
        self._seq = seq

    async def frames(self, opening: DiscordStart) -> AsyncIterator[DiscordFrame]:
        """What is dispatched, until the connection ends.

        Raises:
            DiscordLost: it ended, or nothing came any more.
            LoginFailed: Discord will not have us.
        """
        hello = await self._next()
        if hello.op != _HELLO:
            raise DiscordLost(f"it began with opcode {hello.op}")
        interval = msgspec.json.decode(hello.d, type=Hello).heartbeat_interval / 1000
        await self._send(opening.frame())
        beating = asyncio.create_task(self._beat(min(interval, self._silence / 2)))
        try:
            while True:
                frame = await self._next()
                match frame.op:
                    case 0:
                        yield frame
                    case 1:
                        await self._send(_frame(_BEAT, self._seq() or None))
                    case 7:
                        raise DiscordLost("Discord asks to connect anew")
                    case 9:
                        raise DiscordLost(
                            "Discord does not know the session any more", forgotten=frame.d != Raw(b"true")
                        )
                    case _:
                        pass
        finally:
            beating.cancel()

    async def _next(self) -> DiscordFrame:
        try:
            async with asyncio.timeout(self._silence):
                return msgspec.json.decode(await self._connection.recv(), type=DiscordFrame)
        except TimeoutError as error:
            raise DiscordLost(f"nothing came for {self._silence:g} s") from error
        except ConnectionClosed as closed:
            raise _ended(closed) from closed
        except msgspec.MsgspecError as error:
            raise DiscordLost(f"it sent what cannot be read ({error})") from error

    async def _beat(self, interval: float) -> None:
        """Show that we are there. What becomes of the connection is seen by who reads from it."""
        await asyncio.sleep(interval * random.random())  # noqa: S311
        try:
            while True:
                await self._connection.send(_frame(_BEAT, self._seq() or None).decode())
                end_if_cancelled()
                await asyncio.sleep(interval)
        except ConnectionClosed:
            return

    async def _send(self, data: bytes) -> None:
        try:
            await self._connection.send(data.decode())
        except ConnectionClosed as closed:
            raise _ended(closed) from closed


@asynccontextmanager
async def opened(url: str, silence: float, seq: Callable[[], int]) -> AsyncIterator[DiscordSocket]:
    """A connection to the gateway at `url`; it is left in such a way that its session may be resumed.

    Raises:
        NotSent: there is none to be had.
    """
    here = urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")
    try:
        connection = await connect(
            f"{url.rstrip('/')}/?v=10&encoding=json",
            compression=None,
            max_size=None,
            ping_interval=None,
            open_timeout=CONNECT,
            close_timeout=1,
            user_agent_header=USER_AGENT,
            proxy=None if here else True,
            logger=_quiet,
        )
    except (OSError, TimeoutError, InvalidHandshake, InvalidURI, EOFError) as error:
        raise NotSent(f"Discord's gateway cannot be reached: {type(error).__name__} {error}.") from error
    try:
        yield DiscordSocket(connection, silence, seq)
    finally:
        await connection.close(LEAVE)


def _ended(closed: ConnectionClosed) -> ChannelError:
    code = closed.rcvd.code if closed.rcvd else 0
    if code == 4004:
        return login_failed("Authentication failed")
    if code == 4014:
        return LoginFailed(
            "Discord does not let the bot see what is said in its servers.",
            "The channel's setting `groups` is `all`, and the Message Content Intent is not switched on.",
            "Switch it on in the Developer Portal (Bot, Privileged Gateway Intents), or set `groups` to `addressed`.",
        )
    if code in _FATAL:
        return LoginFailed("Discord's gateway will not have the bot.", f"It says that {_FATAL[code]} ({code}).")
    return DiscordLost(f"it was closed ({code})" if code else "it broke off", forgotten=code in _FORGOTTEN)


def _frame(op: int, d: object) -> bytes:
    return msgspec.json.encode({"op": op, "d": d})
