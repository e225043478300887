"""Reads one folder of a mailbox by IMAP4rev1 (RFC 3501), changing nothing, and hears of new mail by IDLE (RFC 2177).

The folder is opened by EXAMINE, and mails are read by BODY.PEEK: not even a mark as read is left. It is spoken here and
not by a library, since those at hand block a thread for each mailbox, which nothing can cancel, and read answers of any
length. EXISTS may come at any time: what came since the last search is remembered, or a mail that arrives between the
search and IDLE would wait for the next one.
"""

import asyncio
import base64
import re
import ssl
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

from msgspec import Struct

from angelia.cancellation import cancel_and_wait
from angelia.core.errors import AngeliaError, ConfigError
from angelia.core.text import clean, one_line
from angelia.deadline import within
from angelia.service.settings.config import MailboxSettings

MOST_MAIL = 25_000_000
"""Bytes of a mail that is read whole, as Gmail takes them; of a larger one its head is."""
MOST_HEAD = 65_536
"""Bytes of a mail's head that are read where its rest is not."""
ANSWER_S = 60.0
"""How long a server may take to answer."""
_SLOWEST = 25_000
"""Bytes a second that a mail may take longer by."""
IDLE_S = 540.0
"""How long IDLE goes on before the server has to answer: a connection that is lost is noticed then. RFC 2177 has 29
minutes as the most; routers forget connections sooner."""
POLL_S = 60.0
"""How often a server without IDLE is asked."""
_LONGEST_LINE = 1_000_000
_LITERAL = re.compile(rb"\{(\d{1,10})\}\r\n\Z")
_HERE = ("localhost", "127.0.0.1", "::1")


class MailboxLost(AngeliaError):
    """The server cannot be reached, or does not answer as IMAP has it; it may do later."""


class MailboxRefused(MailboxLost):
    """The server refuses the name, the password or the folder."""


class Selected(Struct, frozen=True):
    """Where a folder stands: numbers hold as long as its `validity` does, and the next mail has at least `next_uid`."""

    validity: int
    next_uid: int


class MailAbout(Struct, frozen=True):
    """What is known of a mail before it is read: its size in bytes, and its header `From` as it lies there."""

    uid: int
    arrived: datetime
    size: int
    sender: bytes


class Mail(Struct, frozen=True):
    """One mail as it lies there; `whole` is false for one that is too large, of which `data` is the head."""

    about: MailAbout
    data: bytes
    whole: bool


class _Answer(Struct, frozen=True):
    """A line of the server's, with the literals cut out of it."""

    line: bytes
    literals: Sequence[bytes]


class Imap:
    """One connection. `close` it; nothing is sent at once by two."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._sent = 0
        self._grew = False
        self._can: frozenset[str] = frozenset()

    @classmethod
    async def open(cls, settings: MailboxSettings, password: str) -> "Imap":
        """Connect, log in.

        Raises:
            ConfigError: it would send a password over a network unencrypted.
            MailboxRefused, MailboxLost: it cannot be had.
        """
        if settings.tls == "none" and settings.host not in _HERE:
            raise ConfigError(
                f"The mailbox of {settings.user} at {settings.host} would be read without TLS.",
                "A password would go over the network for all to read.",
                'Use tls = "tls" or "starttls"; "none" is for a server on this machine.',
            )
        context = ssl.create_default_context() if settings.tls == "tls" else None
        port = settings.port or (993 if settings.tls == "tls" else 143)
        try:
            async with asyncio.timeout(ANSWER_S):
                reader, writer = await asyncio.open_connection(settings.host, port, ssl=context, limit=_LONGEST_LINE)
        except (OSError, TimeoutError) as error:
            why = one_line(str(error) or type(error).__name__, 200)
            raise MailboxLost(f"{settings.host}:{port} cannot be reached: {why}.") from error
        connection = cls(reader, writer)
        try:
            await connection._begin(settings, password)
        except BaseException:
            await connection.close()
            raise
        return connection

    async def examine(self, folder: str) -> Selected:
        """Open a folder for reading.

        Raises:
            MailboxRefused: there is none of that name.
        """
        said = await self._ask(b"EXAMINE " + _quoted(_utf7(folder)))
        text = b"\n".join(one.line for one in said)
        validity = re.search(rb"\[UIDVALIDITY (\d+)\]", text)
        following = re.search(rb"\[UIDNEXT (\d+)\]", text)
        if validity is None or following is None:
            raise MailboxLost(f"The server numbers no mails in {folder} (UIDVALIDITY, UIDNEXT).")
        return Selected(int(validity[1]), int(following[1]))

    async def uids_after(self, uid: int) -> list[int]:
        """The numbers of the mails after one, in order."""
        self._grew = False
        return [found for found in await self._search(f"UID {uid + 1}:*") if found > uid]  # `*` is the last one always

    async def uids_since(self, moment: datetime) -> list[int]:
        """The numbers of mails that came after a moment, as the server has their times, in order."""
        before = moment - timedelta(days=1)  # SINCE goes by the day of a zone that nobody names (RFC 3501, 6.4.4)
        day = f"{before.day}-{_MONTHS[before.month - 1]}-{before.year}"
        found = [await self.about(uid) for uid in await self._search(f"SINCE {day}")]
        return [one.uid for one in found if one and one.arrived > moment]

    async def about(self, uid: int) -> MailAbout | None:
        """What is known of a mail; None if it is not there any more."""
        asked = b"UID FETCH %d (UID RFC822.SIZE INTERNALDATE BODY.PEEK[HEADER.FIELDS (FROM)]<0.%d>)"
        for one in await self._ask(asked % (uid, MOST_HEAD)):
            size, date = _number(rb"RFC822\.SIZE", one.line), re.search(rb'INTERNALDATE "([^"]+)"', one.line)
            if _number(rb"UID", one.line) == uid and size is not None and date:
                return MailAbout(uid, _date(date[1]), size, b"".join(one.literals))
        return None

    async def fetch(self, about: MailAbout) -> Mail | None:
        """The mail itself; None if it is not there any more."""
        whole = about.size <= MOST_MAIL  # as the server says: no more than that is read in any case
        part = b"BODY.PEEK[]<0.%d>" % MOST_MAIL if whole else b"BODY.PEEK[HEADER]<0.%d>" % MOST_HEAD
        seconds = ANSWER_S + min(about.size, MOST_MAIL) / _SLOWEST
        for one in await self._until(self._send(b"UID FETCH %d (UID %b)" % (about.uid, part)), seconds=seconds):
            if one.literals and _number(rb"UID", one.line) == about.uid:
                return Mail(about, one.literals[0], whole and len(one.literals[0]) < MOST_MAIL)
        return None

    async def wait_for_mail(self, woken: asyncio.Event, seconds: float) -> None:
        """Until there may be new mail, `woken` is set, or so many seconds are over.

        Raises:
            MailboxLost: the connection is.
        """
        idles = "IDLE" in self._can
        if self._grew:
            return
        if not idles:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(seconds, POLL_S)):
                    await woken.wait()
            await self._ask(b"NOOP")
            return
        tag = self._send(b"IDLE")
        await self._until(tag, go_on=True)
        hearing = asyncio.create_task(self._growth())
        waking = asyncio.create_task(woken.wait())
        try:
            await asyncio.wait({hearing, waking}, timeout=min(seconds, IDLE_S), return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_and_wait(hearing, waking)
        if not hearing.cancelled():
            hearing.result()
        self._writer.write(b"DONE\r\n")
        await self._until(tag)

    async def close(self) -> None:
        """Let go of it."""
        self._writer.close()
        with suppress(OSError, TimeoutError):
            await within(1, self._writer.wait_closed())

    # -- what is said -------------------------------------------------------------------------------------------------

    async def _begin(self, settings: MailboxSettings, password: str) -> None:
        greeting = await self._answer()
        if not greeting.line.startswith(b"* OK"):
            raise MailboxLost(f"{settings.host} does not want us now: {_shown(greeting.line)}")
        await self._learn()
        if settings.tls == "starttls":
            if "STARTTLS" not in self._can:
                raise MailboxLost(f"{settings.host} offers no STARTTLS.", then='Try tls = "tls".')
            await self._ask(b"STARTTLS")
            try:
                async with asyncio.timeout(ANSWER_S):
                    await self._writer.start_tls(ssl.create_default_context(), server_hostname=settings.host)
            except (OSError, TimeoutError) as error:
                raise MailboxLost(f"{settings.host} cannot encrypt: {one_line(str(error), 200)}.") from error
            await self._learn()  # what was said before may have been anybody's
        await self._log_in(settings, password)
        await self._learn()

    async def _learn(self) -> None:
        self._can = frozenset()
        for one in await self._ask(b"CAPABILITY"):
            if one.line.upper().startswith(b"* CAPABILITY "):
                self._can = frozenset(one.line.decode("ascii", "replace").upper().split()[2:])

    async def _log_in(self, settings: MailboxSettings, password: str) -> None:
        user = settings.user
        if settings.login == "oauth":
            await self._authenticate("XOAUTH2", f"user={user}\x01auth=Bearer {password}\x01\x01")
        elif "AUTH=PLAIN" in self._can:
            await self._authenticate("PLAIN", f"\0{user}\0{password}")
        elif "LOGINDISABLED" in self._can:
            raise MailboxRefused(f"{settings.host} takes no password.", then='Try login = "oauth", or tls.')
        else:
            await self._ask(b"LOGIN " + _quoted(user.encode()) + b" " + _quoted(password.encode()))

    async def _authenticate(self, mechanism: str, response: str) -> None:
        tag = self._send(f"AUTHENTICATE {mechanism}".encode())
        await self._until(tag, go_on=True)
        self._writer.write(base64.b64encode(response.encode()) + b"\r\n")
        await self._until(tag, on_more=b"\r\n")  # an error may come as a question, which has to be answered

    async def _search(self, words: str) -> list[int]:
        said = await self._ask(f"UID SEARCH {words}".encode())
        found = [one.line.split()[2:] for one in said if one.line.upper().startswith(b"* SEARCH")]
        return sorted(int(number) for numbers in found for number in numbers if number.isdigit())

    async def _ask(self, command: bytes) -> list[_Answer]:
        return await self._until(self._send(command))

    def _send(self, command: bytes) -> bytes:
        self._sent += 1
        tag = b"a%d" % self._sent
        self._writer.write(tag + b" " + command + b"\r\n")
        return tag

    async def _until(
        self, tag: bytes, go_on: bool = False, on_more: bytes = b"", seconds: float = ANSWER_S
    ) -> list[_Answer]:
        """What is said up to the answer to a command, or, to `go_on`, up to where the server asks for more."""
        said: list[_Answer] = []
        try:
            async with asyncio.timeout(seconds):
                await self._writer.drain()
                while True:
                    one = await self._answer()
                    if one.line.startswith(tag + b" "):
                        _must_be_ok(one.line.removeprefix(tag + b" "))
                        if go_on:
                            raise MailboxLost(f"The server does not go on: {_shown(one.line)}")
                        return said
                    if one.line.startswith(b"+"):
                        if go_on:
                            return said
                        self._writer.write(on_more)
                    said.append(one)
        except TimeoutError as error:
            raise MailboxLost(f"The server has not answered for {seconds:.0f} seconds.") from error
        except OSError as error:
            raise MailboxLost(f"The connection is lost: {one_line(str(error), 200)}.") from error

    async def _growth(self) -> None:
        while not self._grew:
            await self._answer()

    async def _answer(self) -> _Answer:
        """The next line whole. Cancelled between two lines it loses nothing."""
        line, literals, size = b"", [], 0
        try:
            while True:
                line += await self._reader.readuntil(b"\r\n")
                literal = _LITERAL.search(line)
                size += int(literal[1]) if literal else 0
                if size > MOST_MAIL or len(line) > _LONGEST_LINE:
                    raise MailboxLost(f"The server sent more than {MOST_MAIL:,} bytes at once.")
                if literal is None:
                    break
                line = line[: literal.start()]
                literals.append(await self._reader.readexactly(int(literal[1])))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError) as error:
            raise MailboxLost("The server has ended the connection.") from error
        if line.upper().startswith(b"* BYE"):
            raise MailboxLost(f"The server says goodbye: {_shown(line)}")
        self._grew = self._grew or line.rstrip().upper().endswith(b" EXISTS")
        return _Answer(line.strip(), literals)


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _must_be_ok(line: bytes) -> None:
    status = line.split(b" ", 1)[0].upper()
    if status == b"NO":
        raise MailboxRefused(f"The server refuses: {_shown(line)}", then="Are user, password and folder right?")
    if status != b"OK":
        raise MailboxLost(f"The server does not understand: {_shown(line)}")


def _shown(line: bytes) -> str:
    return one_line(clean(line.decode("utf-8", "replace")).strip(), 200)


def _number(name: bytes, line: bytes) -> int | None:
    found = re.search(rb"\b" + name + rb" (\d{1,19})\b", line)
    return int(found[1]) if found else None


def _date(text: bytes) -> datetime:
    """An INTERNALDATE, such as `17-Jul-1996 02:44:25 -0700`."""
    try:
        found = parsedate_to_datetime(text.decode("ascii", "replace").strip())
    except ValueError as error:
        raise MailboxLost(f"The server names a time that is none: {_shown(text)}") from error
    return found.astimezone()


def _quoted(text: bytes) -> bytes:
    """A quoted string (RFC 3501, 4.3); what cannot be in one is left to AUTHENTICATE."""
    if re.search(rb"[\r\n\x00\x80-\xff]", text):
        raise ConfigError("A name or a password has letters that this server takes in no form.")
    return b'"' + text.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def _utf7(name: str) -> bytes:
    """A folder's name in modified UTF-7 (RFC 3501, 5.1.3).

    >>> _utf7("Entwürfe & mehr")
    b'Entw&APw-rfe &- mehr'
    """

    def coded(run: re.Match[str]) -> str:
        if run[0] == "&":
            return "&-"
        return "&" + base64.b64encode(run[0].encode("utf-16-be")).decode().rstrip("=").replace("/", ",") + "-"

    return re.sub(r"&|[^\x20-\x7e]+", coded, name).encode("ascii")
