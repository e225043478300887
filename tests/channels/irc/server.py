"""A strict IRC server of our own on loopback, with services and IRCv3; it can misbehave (modern.ircdocs.horse)."""

import asyncio
import base64
import re
from itertools import count

from angelia.channels.capabilities import Kind
from angelia.testing.changes import Changes
from angelia.testing.channels.network import ArrivedMessage, Flood, Reset, ServerError, TimeOut, Trouble

NICK, LOGIN, PASSWORD, SERVER_PASSWORD = "angelia", "agent", "sesame", "let-me-in"
CHANNEL = "#town"
PEOPLE = {"ann": "ann", "robot": "robot"}
"""The accounts of nicks."""

CAPABILITIES = ("account-tag", "echo-message", "message-tags", "sasl", "server-time")
MASK = "~angelia@a-host-of-some-length.example.net"
_LONGEST = 512
_CODES = re.compile("[\x02\x11\x1d\x1e]")


class Client:
    """One connection, and how far it was let in."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.nick, self.password, self.capabilities = "", "", set[str]()
        self.negotiating = self.user = self.welcome = False
        self.channels: set[str] = set()
        self.said: list[tuple[str, str, str]] = []
        self.silent: Trouble | None = None


class Server:
    """People are on it, and one bot. `arrived` is what reached them: the lines before one PING are one message."""

    def __init__(self) -> None:
        self.changes, self.arrived = Changes(), list[ArrivedMessage]()
        self.troubles: list[Trouble] = []
        self.mute = self.revoked = self.drops = False
        self.taken_nicks: set[str] = set()
        self.holders = dict(PEOPLE)
        self.offered: tuple[str, ...] = CAPABILITIES
        self.faults: list[str] = []
        self.notices: list[str] = []
        self.playback: list[str] = []
        self.port = 0
        self._numbers = count(1)
        self._clients: set[Client] = set()
        self._server: asyncio.Server | None = None

    async def up(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def down(self) -> None:
        """Reset every connection, and listen no more."""
        if self._server:
            self._server.close()
        for client in tuple(self._clients):
            client.writer.transport.abort()
        await self.changes.when(lambda: not self._clients)
        if self._server:
            await self._server.wait_closed()

    def new_id(self) -> str:
        """Of a message."""
        return f"m{next(self._numbers)}"

    @property
    def client(self) -> Client | None:
        """Who is in, and in the channel."""
        return next((one for one in self._clients if one.welcome and CHANNEL in one.channels), None)

    def tell(self, line: str) -> None:
        """Let the bot have a line."""
        if (client := self.client) and not self.mute:
            _write(client, line)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = Client(writer)
        self._clients.add(client)
        try:
            while raw := await reader.readline():
                self._check(raw)
                if not self.mute:
                    self._do(client, raw.decode().removesuffix("\r\n"))
                self.changes.tell()
        except OSError:
            return
        finally:
            writer.transport.abort()
            self._clients.discard(client)
            self.changes.tell()

    def _check(self, raw: bytes) -> None:
        """What no client may say ("Message format")."""
        if len(raw) > _LONGEST:
            self.faults.append(f"a line of {len(raw)} bytes")
        if not raw.endswith(b"\r\n") or b"\r" in raw[:-2] or b"\0" in raw:
            self.faults.append(f"a line with a wrong end: {raw!r}")

    def _do(self, client: Client, line: str) -> None:
        head, colon, tail = line.partition(" :")
        words = head.split(" ") + [tail] * bool(colon)
        if words[0] in ("PONG", "QUIT"):
            return
        if not self._register(client, words) and not (client.welcome and self._serve_in(client, words)):
            self.faults.append(f"a line that cannot be now: {line!r}")
            _write(client, f":irc 421 {client.nick or '*'} {words[0]} :Unknown command")

    def _register(self, client: Client, words: list[str]) -> bool:
        """What is said before and while somebody is let in; false for anything else."""
        match words:
            case ["PASS", password]:
                client.password = password
            case ["CAP", *asked]:
                self._negotiate(client, asked)
            case ["AUTHENTICATE", told]:
                self._authenticate(client, told)
            case ["NICK", nick] if nick in self.taken_nicks:
                _write(client, f":irc 433 * {nick} :Nickname is already in use")
            case ["NICK", nick]:
                client.nick = nick
                self._welcome(client)
            case ["USER", _, "0", "*", _]:
                client.user = True
                self._welcome(client)
            case ["PING", token]:
                self._ping(client, token)
            case _:
                return False
        return True

    def _negotiate(self, client: Client, asked: list[str]) -> None:
        match asked:
            case ["LS", "302"]:
                client.negotiating = True
                offered = [f"{one}=PLAIN" if one == "sasl" else one for one in self.offered]
                _write(client, f":irc CAP * LS * :{' '.join(offered[:2])}", f":irc CAP * LS :{' '.join(offered[2:])}")
            case ["REQ", wanted]:
                known = set(wanted.split()) <= set(self.offered)
                client.capabilities |= set(wanted.split()) if known else set()
                _write(client, f":irc CAP * {'ACK' if known else 'NAK'} :{wanted}")
            case ["END"]:
                client.negotiating = False
                self._welcome(client)
            case _:
                self.faults.append(f"CAP {asked}")

    def _authenticate(self, client: Client, told: str) -> None:
        if told == "PLAIN":
            _write(client, "AUTHENTICATE +")
            return
        right = base64.b64decode(told).decode().split("\0") == ["", LOGIN, PASSWORD] and not self.revoked
        _write(client, f":irc {'903' if right else '904'} * :SASL {'succeeded' if right else 'failed'}")

    def _serve_in(self, client: Client, words: list[str]) -> bool:
        """What is said by those who are in; false for what nobody can say."""
        match words:
            case ["JOIN", channel]:
                client.channels.add(channel)
                _write(client, f":{client.nick}!{MASK} JOIN {channel}", *self.playback)
                self.playback.clear()
            case ["NOTICE", _, text]:
                self.notices.append(text)
            case ["WHOIS" | "PRIVMSG", *_] if self.revoked:
                _write(client, f":irc 465 {client.nick} :You are banned from this server", "ERROR :Closing link")
                client.writer.close()
            case ["WHOIS", nick]:
                self._whois(client, nick)
            case ["PRIVMSG", target, text]:
                self._message(client, target, text)
            case _:
                return False
        return True

    def _welcome(self, client: Client) -> None:
        if client.welcome or client.negotiating or not (client.nick and client.user):
            return
        if client.password != SERVER_PASSWORD:
            _write(client, ":irc 464 * :Password incorrect", "ERROR :Closing link")
            client.writer.close()
            return
        client.welcome = True
        me = client.nick
        _write(
            client,
            f":irc 001 {me} :Welcome",
            f":irc 005 {me} CASEMAPPING=ascii CHANTYPES=# :are supported by this server",
            f":irc 422 {me} :No message of the day",
        )

    def _whois(self, client: Client, nick: str) -> None:
        me = client.nick
        if nick in self.holders:
            _write(
                client,
                f":irc 311 {me} {nick} ~{nick} host.example.net * :{nick}",
                f":irc 330 {me} {nick} {self.holders[nick]} :is logged in as",
            )
        else:
            _write(client, f":irc 401 {me} {nick} :No such nick/channel")
        _write(client, f":irc 318 {me} {nick} :End of /WHOIS list")

    def _message(self, client: Client, target: str, text: str) -> None:
        me, trouble = client.nick, self.troubles.pop(0) if self.troubles else None
        match trouble:
            case Flood(seconds):
                _write(client, f":irc 439 {me} {target} :Target change too fast. Please wait {seconds:g} seconds.")
            case ServerError():
                _write(client, f":irc 400 {me} PRIVMSG :Cannot be done now")
            case Reset(accepted=False):
                client.writer.transport.abort()
            case TimeOut(accepted=False):
                client.silent = trouble
            case _ if self.drops:
                return
            case _ if not text:
                _write(client, f":irc 412 {me} :No text to send")
            case _ if target not in self.holders and target not in client.channels:
                code, why = ("404", "Cannot send to channel") if target.startswith("#") else ("401", "No such nick")
                _write(client, f":irc {code} {me} {target} :{why}")
            case _:
                client.silent = trouble
                self._relay(client, target, text)

    def _relay(self, client: Client, target: str, text: str) -> None:
        """Others get a line that is cut where it is too long."""
        relayed = f":{client.nick}!{MASK} PRIVMSG {target} :{text}"
        cut = relayed.encode()[: _LONGEST - 2].decode(errors="ignore")
        number = self.new_id()
        client.said.append((target, cut.partition(" :")[2], number))
        if "echo-message" in client.capabilities and not client.silent:
            _write(client, f"@msgid={number} {cut}")

    def _ping(self, client: Client, token: str) -> None:
        """What was said before it has arrived now."""
        if client.said:
            target, _, number = client.said[0]
            words = "\n".join(_CODES.sub("", text.removesuffix(" ")) for _, text, _ in client.said)
            chat = self.holders.get(target, target)
            self.arrived.append(ArrivedMessage("PRIVMSG", Kind.TEXT, chat, number, text=words))
            client.said.clear()
        silent, client.silent = client.silent, None
        if isinstance(silent, Reset):
            client.writer.transport.abort()
        elif silent is None:
            _write(client, f":irc PONG irc :{token}")


def _write(client: Client, *lines: str) -> None:
    if not client.writer.is_closing():
        client.writer.write("".join(f"{line}\r\n" for line in lines).encode())
