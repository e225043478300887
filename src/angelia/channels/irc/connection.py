"""One connection to an IRC server: let in, joined, watched, and asked such that its answer proves what it took."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from msgspec import Struct

from angelia.channels.failures import ChannelError, LoginFailed, NotSent
from angelia.channels.irc.settings import IrcSettings, IrcWaits
from angelia.channels.irc.wire import IrcLine, decoded, folded, read

MOST_BYTES = 16_384
"""Of one line that comes in: tags may take 8,191 ("Message tags"), and some servers are generous."""

MOST_NICKS = 5
"""Nicks that are tried when ours is in use."""

WANTED = ("account-tag", "echo-message", "message-tags", "sasl", "server-time")

REFUSED = frozenset({"432", "464", "465", "902", "904", "905", "906", "908"})
"""A nick that is none, a wrong password, a ban, and the ways in which SASL fails."""

_IN_USE = ("433", "436", "437")
_JOINED, _ALIVE, _ASKED = "joined", "alive", "asked"


class Passwords(Struct, frozen=True):
    """Of the server, and of our account; each empty for none."""

    server: str = ""
    account: str = ""


class _Exchange:
    """Something was asked. `token` ends it, `said` is what came until then."""

    def __init__(self, token: str) -> None:
        self.token, self.said = token, list[IrcLine]()
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class IrcLink:
    """See the module. `ready` is true while messages may go; `capabilities` are those of IRCv3 that both sides have."""

    def __init__(
        self,
        settings: IrcSettings,
        passwords: Passwords,
        timeouts: IrcWaits,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self._settings = settings
        self._passwords = passwords
        self._timeouts = timeouts
        self._reader, self._writer = streams
        self.nick = settings.nick
        self.mapping = "rfc1459"
        self.ready = False
        self.capabilities: set[str] = set()
        self._offered: list[str] = []
        self._logged_in = False
        self._nicks = 1
        self._asked = 0
        self._why = ""
        self._exchange: _Exchange | None = None

    async def heard(self) -> AsyncIterator[IrcLine]:
        """What comes, but for what is between the server and us; until the connection ends.

        Raises:
            NotSent: it ended, or nothing came any more.
            LoginFailed: we are not let in, or as nobody whom we can use.
        """
        error: ChannelError = NotSent("The connection was closed.")
        try:
            self._introduce()
            while True:
                line = read(decoded(await self._next()))
                if not self._is_answer(line) and self._is_for_channel(line):
                    yield line
        except ChannelError as failed:
            error = failed
            raise
        finally:
            self.ready = False
            if self._exchange and not self._exchange.done.done():
                self._exchange.done.set_exception(error)

    async def ask(self, *lines: str, seconds: float | None) -> list[IrcLine]:
        """Say lines: what the server says to them, complete, since it answers in order. One at a time.

        Raises:
            TimeoutError: it did not answer in time.
            ChannelError: as `heard`, while we waited.
        """
        self._asked += 1
        exchange = self._exchange = _Exchange(f"{_ASKED}{self._asked}")
        try:
            async with asyncio.timeout(seconds):
                self.say(*lines, f"PING :{exchange.token}")
                await exchange.done
        finally:
            self._exchange = None
        return exchange.said

    def say(self, *lines: str) -> None:
        """Say lines, whatever comes of them."""
        self._writer.write("".join(f"{line}\r\n" for line in lines).encode(errors="replace"))

    def is_us(self, nick: str) -> bool:
        """Whether a nick is ours."""
        return folded(nick, self.mapping) == folded(self.nick, self.mapping)

    async def _next(self) -> bytes:
        """A line. After half of the silence we ask whether anybody is there."""
        for asked in (False, True):
            try:
                async with asyncio.timeout(self._timeouts.silence / 2):
                    return await self._reader.readuntil(b"\n")
            except TimeoutError:
                if not asked:
                    self.say(f"PING :{_ALIVE}")
            except asyncio.LimitOverrunError as error:
                raise NotSent("The IRC server sent a line without an end.") from error
            except (OSError, asyncio.IncompleteReadError) as error:
                raise NotSent(f"The IRC server ended the connection{f': {self._why}' if self._why else ''}.") from error
        raise NotSent(f"Nothing came from the IRC server for {self._timeouts.silence:g} s.")

    def _is_answer(self, line: IrcLine) -> bool:
        """Whether something is said to what we asked."""
        exchange = self._exchange
        if exchange is None or line.command in REFUSED:
            return False
        if line.command == "PONG" and line.last == exchange.token:
            if not exchange.done.done():
                exchange.done.set_result(None)
        elif (
            line.command.isdecimal() or line.command == "FAIL" or (line.command == "PRIVMSG" and self.is_us(line.nick))
        ):
            exchange.said.append(line)
        else:
            return False
        return True

    # -- being let in ("Connection registration"; "Capability negotiation"; "SASL 3.1") -----------------------------

    def _introduce(self) -> None:
        if self._passwords.server:
            self.say(f"PASS :{self._passwords.server}")
        self.say("CAP LS 302", f"NICK {self.nick}", f"USER {self._settings.nick} 0 * :{self._settings.nick}")

    def _is_for_channel(self, line: IrcLine) -> bool:
        """Answer what is between the server and us; the rest is for the channel."""
        # ngIRCd tells a wrong password by no numeric
        no_password = line.command == "ERROR" and not self.ready and "password" in line.last.lower()
        if no_password or line.command in REFUSED:
            raise _refused(f"The IRC server does not let us in: {line.last} ({line.command}).")
        match line.command:
            case "PING":
                self.say(f"PONG :{line.last}")
            case "CAP":
                self._capability(line)
            case "AUTHENTICATE":
                self._log_in()
            case "903":
                self._logged_in = True
                self.say("CAP END")
            case "001" if line.words:
                self.nick = line.words[0]
            case "005":
                told = dict(word.partition("=")[::2] for word in line.words)
                self.mapping = told.get("CASEMAPPING", self.mapping)
            case "376" | "422":
                self._enter()
            case "NICK" if line.last and self.is_us(line.nick):
                self.nick = line.last
            case "ERROR":
                self._why = line.last
            case code if code in _IN_USE and not self.ready:
                self._take_another_nick()
            case _:
                self.ready = self.ready or (line.command == "PONG" and line.last == _JOINED)
                return True
        return False

    def _capability(self, line: IrcLine) -> None:
        """`CAP * LS [*] :names`, with a star while more lines of them follow; then `CAP us ACK :names`."""
        names = [name.partition("=")[0] for name in line.last.split()]
        match line.words[1:2]:
            case ("LS",):
                self._offered += names
                if line.words[2:3] != ("*",):
                    wanted = [name for name in WANTED if name in self._offered]
                    self.say(f"CAP REQ :{' '.join(wanted)}" if wanted else "CAP END")
            case ("ACK",):
                self.capabilities |= set(names)
                has_account = "sasl" in self.capabilities and self._passwords.account
                self.say("AUTHENTICATE PLAIN" if has_account else "CAP END")
            case ("NAK",):
                self.say("CAP END")
            case _:
                return

    def _log_in(self) -> None:
        """PLAIN (RFC 4616), in pieces of 400 bytes, of which the last is shorter."""
        login = self._settings.login or self._settings.nick
        told = base64.b64encode(f"\0{login}\0{self._passwords.account}".encode()).decode()
        pieces = [told[begin : begin + 400] for begin in range(0, len(told), 400)]
        self.say(*(f"AUTHENTICATE {piece}" for piece in pieces))
        if len(pieces[-1]) == 400:
            self.say("AUTHENTICATE +")

    def _take_another_nick(self) -> None:
        self._nicks += 1
        if self._nicks > MOST_NICKS:
            raise NotSent(f"The nick {self._settings.nick} and {MOST_NICKS - 1} like it are in use.")
        self.nick = f"{self._settings.nick}{'_' * (self._nicks - 1)}"
        self.say(f"NICK {self.nick}")

    def _enter(self) -> None:
        """We are in: is it what we need? Then join, and be told when that is done."""
        if self._passwords.account and not self._logged_in:
            raise _refused("The IRC server offers no login to accounts (SASL), and one is set.")
        if self._settings.identity == "account" and "account-tag" not in self.capabilities:
            raise LoginFailed(
                "The IRC server does not tell whose account a message comes from (account-tag).",
                "A nick proves nothing, so nobody could be let in.",
                "Use a server that does, or set `identity` after reading `angelia docs irc`.",
            )
        self.say(*(f"JOIN {channel}" for channel in self._settings.join), f"PING :{_JOINED}")


def _refused(what: str) -> LoginFailed:
    return LoginFailed(what, then="Look at nick, login, token and server_password in this channel's section.")


@asynccontextmanager
async def connected(settings: IrcSettings, passwords: Passwords, timeouts: IrcWaits) -> AsyncIterator[IrcLink]:
    """A connection to the server, on which nothing was said yet.

    Raises:
        NotSent: it cannot be reached, or is not who it should be.
    """
    try:
        context = await asyncio.to_thread(ssl.create_default_context, cafile=settings.ca or None)
        async with asyncio.timeout(timeouts.silence):
            streams = await asyncio.open_connection(
                settings.server,
                settings.port,
                limit=MOST_BYTES,
                ssl=context if settings.tls else None,
                ssl_shutdown_timeout=1.0 if settings.tls else None,
            )
    except (OSError, ValueError) as error:
        raise NotSent(f"{settings.server}:{settings.port} cannot be reached: {str(error) or 'no answer'}.") from error
    link = IrcLink(settings, passwords, timeouts, streams)
    try:
        yield link
    finally:
        link.say("QUIT")
        streams[1].close()
        with suppress(OSError):
            await streams[1].wait_closed()
