"""What somebody said on IRC, as an envelope: pure."""

import re
from collections.abc import Collection
from datetime import datetime
from typing import Literal

from msgspec import Struct

from angelia.channels.incoming import Envelope, IncomingMessage, IncomingSender
from angelia.channels.irc.wire import IrcLine, bare, folded, is_channel
from angelia.core.entry import Address

_ACTION = re.compile(r"\x01ACTION (.*?)\x01?")
_ABOVE = re.compile(r"[~@%+]+(?=[#&])")
"""What stands before a channel when only some of its people are spoken to (STATUSMSG)."""

_LETTER = r"[\w\[\]\\`^{}|-]"
"""What nicks are made of."""


class IrcSpoken(Envelope, frozen=True, kw_only=True):
    """An envelope that can be written down and read again: on IRC people say things, and do nothing else."""

    what: IncomingMessage


class IrcReader(Struct, frozen=True):
    """How lines are read. `commands` are our verbs: `!status` is `/status`, which programs keep to themselves."""

    door: str
    identity: Literal["account", "mask", "nick"]
    commands: Collection[str]

    def person(self, line: IrcLine, mapping: str) -> str:
        """Who says it, as the settings want people to be known; empty where the server does not vouch for them."""
        match self.identity:
            case "account":
                return line.tags.get("account", "")
            case "mask":
                return line.source
            case "nick":
                return folded(line.nick, mapping)

    def envelope(self, line: IrcLine, me: str, mapping: str) -> IrcSpoken | None:
        """A PRIVMSG with a `msgid` tag; None for what nobody said to us: of servers, to masks, CTCP, nobody known."""
        if len(line.words) < 2 or "!" not in line.source:
            return None
        chat = _ABOVE.sub("", folded(line.words[0], mapping))
        private = chat == folded(me, mapping)
        person, text = self.person(line, mapping), _words(line)
        if not person or not text or not (private or is_channel(chat)):
            return None
        mention = re.search(rf"(?<!{_LETTER}){re.escape(me)}(?!{_LETTER})", text, re.IGNORECASE)
        told = re.sub(rf"^{re.escape(me)}[:,]\s*", "", text, flags=re.IGNORECASE)
        return IrcSpoken(
            address=Address(self.door, person if private else chat),
            key=line.tags["msgid"],
            sender=IncomingSender(person, line.nick, bot="bot" in line.tags),
            what=IncomingMessage(self._command(told)),
            message=line.tags["msgid"],
            private=private,
            addressed=private or mention is not None,
            sent_at=_milliseconds(line.tags.get("time", "")),
        )

    def _command(self, text: str) -> str:
        return f"/{text[1:]}" if text.startswith("!") and text[1:].split(" ")[0] in self.commands else text


def _words(line: IrcLine) -> str:
    """What is said or done, without colours; empty for every other request between programs (CTCP)."""
    if action := _ACTION.fullmatch(line.last):
        return f"* {line.nick} {bare(action[1])}"
    return "" if line.last.startswith("\x01") else bare(line.last)


def _milliseconds(time: str) -> int:
    """The time of a server; 0 for none ("server-time")."""
    try:
        return int(datetime.fromisoformat(time).timestamp() * 1000)
    except ValueError:
        return 0
