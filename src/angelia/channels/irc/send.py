"""How one message goes out on IRC: to whom it is meant for, at a pace that servers bear, and seen to have arrived."""

import asyncio
import re
from collections.abc import Sequence

from angelia.channels.failures import ChannelError, Later, LoginFailed, NotSent, Rejected, Unsure
from angelia.channels.irc.capabilities import TEXT
from angelia.channels.irc.connection import IrcLink
from angelia.channels.irc.pace import IrcPace
from angelia.channels.irc.settings import IrcSettings, IrcWaits
from angelia.channels.irc.wire import IrcLine, bare, is_channel, is_target, messages
from angelia.channels.outgoing import OutText
from angelia.channels.port import ChannelContext
from angelia.core.entry import Address

WINDOW = 5
"""Lines that go out before the server has proved that it took them, so that the queue of no server overflows."""

AGAIN = 60.0
"""Seconds to wait where a server says "too fast" and no number."""

_TOO_FAST = ("263", "439", "707")
_IGNORED = "716"


class IrcWriter:
    """What we say, one message after another; `pace` counts every line."""

    def __init__(self, settings: IrcSettings, context: ChannelContext, timeouts: IrcWaits) -> None:
        self._settings = settings
        self._context = context
        self._timeouts = timeouts
        self.pace = IrcPace(settings.line_seconds, context.steady)
        self._nicks: dict[str, str] = {}
        self._one = asyncio.Lock()

    async def met(self, person: str, nick: str) -> None:
        """Under which nick somebody is reached; it outlives a restart."""
        if self._nicks.get(person) != nick:
            await self._context.remember(_nick_of(person), nick)
            self._nicks[person] = nick

    def renamed(self, before: str, after: str) -> None:
        """Somebody has another nick now."""
        self._nicks |= {person: after for person, nick in self._nicks.items() if nick == before}

    async def say(self, link: IrcLink, to: Address, text: OutText, key: str) -> str:
        """Say a text: the server's id of it, else `key`.

        Raises:
            Later, NotSent, Unsure, Rejected, LoginFailed: as `Channel.send`.
        """
        words = text.marked or bare(text.plain)
        if (size := len(words.encode(errors="replace"))) > TEXT:
            raise Rejected(f"The message is {size} bytes long, and here one takes at most {TEXT}.")
        async with self._one:
            lines = messages(link.nick, target := await self._target(to), words)
            if seconds := self.pace.wait_for(len(lines)):
                raise Later(seconds, f"Lines go out one in {self._settings.line_seconds:g} s.")
            if not is_channel(to.chat) and self._settings.identity != "nick":
                await self._is_still(link, to.chat, target)
            self.pace.add(len(lines))
            echoes: list[IrcLine] = []
            for begin in range(0, len(lines), WINDOW):
                echoes += await self._said(link, lines[begin : begin + WINDOW], begin)
        return echoes[0].tags.get("msgid", key) if echoes else key

    async def _target(self, to: Address) -> str:
        """Where a chat is reached now: an account under the nick that was heard last."""
        nick = to.chat
        if not is_channel(to.chat):
            known = self._nicks.get(to.chat) or await self._context.recall(_nick_of(to.chat))
            nick = known or to.chat.partition("!")[0]
        if not is_target(nick):
            raise Rejected(f"Nobody on IRC can be called {nick!r}.")
        return nick

    async def _is_still(self, link: IrcLink, person: str, nick: str) -> None:
        """Ask whose nick it is now: whoever takes it meanwhile must not read what is meant for another ("WHOIS")."""
        try:
            said = await link.ask(f"WHOIS {nick}", seconds=None)
        except LoginFailed:
            raise
        except ChannelError as lost:
            raise NotSent(lost.what) from lost
        found = {line.command: line.words for line in said}
        if "263" in found:
            raise Later(AGAIN, "The IRC server does not tell now who somebody is.")
        if "311" not in found:
            raise Rejected(f"Nobody called {nick} is on IRC now, and IRC keeps nothing for later.")
        account, mask = found.get("330", ("", "", ""))[2], f"{found['311'][1]}!{found['311'][2]}@{found['311'][3]}"
        if person not in (account, mask):
            raise Rejected(f"{nick} is somebody else on IRC now, not {person}.")

    async def _said(self, link: IrcLink, lines: Sequence[str], earlier: int) -> list[IrcLine]:
        """Say lines: their echoes, where the server has them. `earlier` lines of the same message have arrived."""
        try:
            said = await link.ask(*lines, seconds=self._timeouts.answer)
        except TimeoutError as silent:
            raise Unsure(f"The IRC server did not answer for {self._timeouts.answer:g} s.") from silent
        except LoginFailed:
            raise
        except ChannelError as lost:
            raise Unsure(lost.what) from lost
        echoes = [line for line in said if line.command == "PRIVMSG"]
        if refusals := [line for line in said if _is_refusal(line)]:
            error = _refusal(refusals[0])
            in_part = earlier or len(refusals) < len(lines)
            raise Unsure(f"Only some lines arrived: {error}") if in_part and not isinstance(error, Rejected) else error
        if not echoes and "echo-message" in link.capabilities:
            raise Rejected("The IRC server took the message and gave it to nobody.")
        return echoes


def _nick_of(account: str) -> str:
    return f"nick of {account}"


def _is_refusal(line: IrcLine) -> bool:
    code = line.command
    return code in (*_TOO_FAST, _IGNORED, "FAIL") or (code.isdecimal() and "400" <= code < "600")


def _refusal(line: IrcLine) -> ChannelError:
    """What a server says instead of passing a message on ("Numerics"; "Standard replies")."""
    if line.command in _TOO_FAST:
        told = re.search(r"(\d+) sec", line.last)
        return Later(float(told[1]) if told else AGAIN, line.last)
    if line.command == "400":
        return NotSent(f"The IRC server failed: {line.last}.")
    return Rejected(f"The IRC server does not take it: {line.last} ({line.command}).")
