"""What the writer of a channel brings to its conformance checks: a fake of its network on loopback."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.channels.outgoing import Button
from angelia.channels.port import Channel, ChannelContext
from angelia.core.entry import Address

PLACE = (48.2082, 16.3738)
"""Latitude and longitude of every location that a `Thing` shares."""

CONTACT = ("Ann Example", "+4312345678")
"""Name and number of every contact that a `Thing` shares."""


class ChannelTimeouts(Struct, frozen=True):
    """Seconds that an opened channel waits: for the `answer` to one send, counted from when its bytes have left; in
    `silence` until it takes the connection for dead; and as a `pause` before it tries again (connecting, or handing in
    what could not be taken in). Tests give small ones, so that nobody waits.
    """

    answer: float = 60.0
    silence: float = 60.0
    pause: float = 0.01


class Flood(Struct, frozen=True):
    """Flood control, which asks for so many seconds (429 and the like)."""

    seconds: float


class ServerError(Struct, frozen=True):
    """The server says that it failed (500)."""


class TimeOut(Struct, frozen=True):
    """No answer comes. When `accepted`, what was sent has arrived all the same."""

    accepted: bool


class Reset(Struct, frozen=True):
    """The connection is reset instead of an answer. When `accepted`, what was sent has arrived all the same."""

    accepted: bool


Trouble = Flood | ServerError | TimeOut | Reset


class Sample(Struct, frozen=True):
    """A file."""

    kind: Kind
    name: str
    mime: str
    data: bytes


class ArrivedMessage(Struct, frozen=True):
    """What reached the far end, as a person has it there. `method` is the network's own, as `NativeMethod` has it.

    `text` is without markup, of a file its caption. `name` is empty where the network keeps none. The parts of one
    album have the same `album`, which is empty elsewhere. For an edit, a deletion or a reaction (`text` is the emoji),
    `message` is the one that it is about; for a draft it is the network's name of it, which is the same while it grows.
    """

    method: str
    kind: Kind
    chat: str
    message: str = ""
    thread: str = ""
    text: str = ""
    name: str = ""
    mime: str = ""
    data: bytes = b""
    reply_to: str = ""
    album: str = ""
    buttons: tuple[Button, ...] = ()


class Who(StrEnum):
    """Who does something on the fake network."""

    FRIEND = "friend"
    BOT = "bot"
    OURSELVES = "ourselves"
    """The very account that the channel is logged in with."""


class Thing(Struct, frozen=True):
    """Something that somebody does on the fake network, in `where` (a chat and thread; the door is of no meaning).

    `files` are several for an album. `about` is the message that is edited, deleted, reacted to, or whose button is
    pressed; `value` the button's. `answers` is the message that this one replies to. `to_us`: in a group, whether it
    mentions us, in the network's way. `text` of a reaction is its emoji. `forwarded`: words and files are somebody
    else's, passed on with the network's own means; only asked for where the network tells it (`forwards`).
    """

    heard: IncomingKind
    where: Address
    text: str = ""
    files: tuple[Sample, ...] = ()
    who: Who = Who.FRIEND
    about: str = ""
    value: str = ""
    answers: str = ""
    to_us: bool = False
    forwarded: bool = False


class FakeNetwork(Protocol):
    """One fake network on loopback, with people on it. It checks each request by the network's published rules, and
    answers with the network's own errors.

    `secrets` are the credentials by the `env` that the settings name them with. `here` is a private chat with a
    friend, `group` a group that the friend and we are in, `topic` a thread (each with an empty chat where there is
    none), `nowhere` a chat that is not there. `broken` is markup that it refuses, empty where it takes any. `keeps`
    says whether it brings later what it could not bring while we were away, `takes_empty` whether a file may be empty,
    `forwards` whether it tells what is forwarded.
    """

    secrets: Mapping[str, str]
    here: Address
    group: Address
    topic: Address
    nowhere: Address
    broken: str
    keeps: bool
    takes_empty: bool
    forwards: bool

    @property
    def arrived(self) -> list[ArrivedMessage]:
        """What has arrived, in that order; written before the answer goes out."""
        ...

    def open(self, context: ChannelContext, patience: ChannelTimeouts) -> Channel:
        """The channel under test, with settings that lead here."""
        ...

    def called(self, name: str) -> str:
        """How a document of that name is called at the far end: the same, but for what the network cannot have."""
        ...

    def lower(self, limits: Mapping[Kind, int]) -> None:
        """Take no file above so many bytes, of these kinds; the checks lower the channel's own table alike."""
        ...

    def misbehave(self, *troubles: Trouble) -> None:
        """Meet the next requests with these, one each, in place of what was scripted before.

        Only requests count that make something visible to people (or, of `fetch`, that bring bytes): not those that
        wait for news, and not what leads up to a message.
        """
        ...

    async def bring(self, *things: Thing) -> tuple[str, ...]:
        """Let things happen, in this order; their messages' ids."""
        ...

    async def repeat(self) -> None:
        """Bring everything that was brought so far once more, the last first, as if it had never been acknowledged."""
        ...

    async def down(self) -> None:
        """End every connection by a reset, and refuse new ones."""
        ...

    async def up(self) -> None:
        """Be as at the start again, after `down` or `swallow`."""
        ...

    async def swallow(self) -> None:
        """Keep connections open, and say nothing on them any more."""
        ...

    def revoke(self) -> None:
        """Refuse our credentials from now on."""
        ...

    async def when(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; looked at whenever something arrived."""
        ...
