"""Lines of IRC, read and written, purely (modern.ircdocs.horse, "Message format"; ircv3.net, "Message tags")."""

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from angelia.channels.markup.cut_points import best_place

LINE = 512
"""Bytes of a line with its end, beside its tags."""

MASK = 1 + 12 + 1 + 64
"""Bytes of `!user@host`, which the server puts into our lines, at their longest (USERLEN and HOSTLEN of servers)."""

LONGEST_TARGET = 200
"""Bytes of a nick or channel; servers have shorter ones (NICKLEN, CHANNELLEN)."""

_TAGS = {"\\:": ";", "\\s": " ", "\\r": "\r", "\\n": "\n", "\\\\": "\\"}
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
_UNSAFE = re.compile(r"[\x00\x01\x03-\x10\x12-\x1c\x1f\x7f]")
_COLOUR = re.compile(r"\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04[0-9A-Fa-f]{0,6}")
_TARGET = re.compile(r"[^\s,:\x00-\x1f\x7f][^\s,\x00-\x1f\x7f]*")


class IrcLine(Struct, frozen=True):
    """One line as the server says it. `source` is `nick!user@host` or a server's name; `words` are its parameters."""

    command: str
    words: tuple[str, ...] = ()
    source: str = ""
    tags: Mapping[str, str] = {}

    @property
    def nick(self) -> str:
        """Whose it is."""
        return self.source.partition("!")[0]

    @property
    def last(self) -> str:
        """The last parameter, mostly words for people."""
        return self.words[-1] if self.words else ""


def read(raw: str) -> IrcLine:
    r"""A line without its end; total, an empty one has no command.

    >>> read("@a=x\\sy;b :n!u@h PRIVMSG #c :two words")
    IrcLine(command='PRIVMSG', words=('#c', 'two words'), source='n!u@h', tags={'a': 'x y', 'b': ''})
    """
    tags: dict[str, str] = {}
    source = ""
    if raw.startswith("@"):
        told, _, raw = raw[1:].partition(" ")
        for tag in told.split(";"):
            name, _, value = tag.partition("=")
            tags[name] = re.sub(r"\\(.?)", lambda found: _TAGS.get(found[0], found[1]), value)
    raw = raw.lstrip(" ")
    if raw.startswith(":"):
        source, _, raw = raw[1:].partition(" ")
    head, trailing, tail = raw.partition(" :")
    words = [word for word in head.split(" ") if word] + [tail] * bool(trailing)
    return IrcLine(words[0].upper() if words else "", tuple(words[1:]), source, tags)


def decoded(raw: bytes) -> str:
    """What somebody's client wrote: UTF-8, else as if it were of the Western Europe of old."""
    line = raw.rstrip(b"\r\n")
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("latin-1")


def bare(text: str) -> str:
    r"""Words without colours and control signs; line feeds stay.

    >>> bare("a\x02b\x0304,01c\td\r\n")
    'abc    d\n'
    """
    return _CONTROL.sub("", _COLOUR.sub("", text).replace("\t", "    "))


def is_channel(chat: str) -> bool:
    """Whether it is a channel, not somebody ("CHANTYPES")."""
    return chat.startswith(("#", "&"))


def is_target(chat: str) -> bool:
    """Whether something can stand as the one receiver of a message, and leaves space for words."""
    return _TARGET.fullmatch(chat) is not None and len(chat.encode()) <= LONGEST_TARGET


def messages(nick: str, target: str, text: str) -> tuple[str, ...]:
    """The lines that say a text, each short enough to arrive whole; a blank line is a space.

    No text makes more than these lines, nor any other command: what ends a line or begins a CTCP request is left out.
    """
    head = f"PRIVMSG {target} :"
    space = LINE - len(f":{nick} {head}\r\n".encode()) - MASK
    return tuple(head + piece for line in text.split("\n") for piece in _pieces(_UNSAFE.sub("", line) or " ", space))


def _pieces(line: str, space: int) -> Iterator[str]:
    """A line in pieces of at most `space` bytes, cut between words where there are any, never within a character."""
    while len(line.encode(errors="replace")) > space:
        most = len(line.encode(errors="replace")[:space].decode(errors="ignore"))
        place = best_place(line, most)
        yield line[:place].rstrip() or " "
        line = line[place:].lstrip() or " "
    yield line


def folded(name: str, mapping: str = "rfc1459") -> str:
    r"""A name as the server compares it ("CASEMAPPING").

    >>> folded("Ann[]"), folded("Ann[]", "ascii")
    ('ann{}', 'ann[]')
    """
    lower = "".join(letter.lower() if letter.isascii() else letter for letter in name)
    return lower if mapping == "ascii" else lower.translate(str.maketrans("[]\\~", "{}|^"))
