"""The port of chat networks: a channel connects, hands in what it hears, and sends one message at a time.

A channel holds no queue and retries no send: `service` decides what goes out when, and how often. Ids of people, chats
and messages are the network's own immutable ones. Failures are drawn in `channels/failures.py`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from angelia.channels.capabilities import Capabilities, Kind
from angelia.channels.health import Health
from angelia.channels.incoming import Hear, OfferedFile
from angelia.channels.markup.dialect import Dialect
from angelia.channels.outgoing import OutAlbum, Outgoing, OutText
from angelia.channels.settings import ChannelSettings, Secret
from angelia.core.entry import Address
from angelia.core.ids import Clock, steady_clock


class Channel(Protocol):
    """One connection to one network under one account; `door` is its name in addresses.

    Every send is one message and one call of the network's, under the `key` that names it where it is idempotent.
    """

    door: str
    capabilities: Capabilities
    dialect: Dialect

    async def run(self, hear: Hear) -> None:
        """Stay connected until cancelled; reconnect with jitter, notice within 90 s that nothing comes any more.

        What a network sends in order for one chat is handed in in order; chats do not wait for each other. A network
        with a history is asked for what was missed. How it goes is told to `ChannelContext.report`.

        Raises:
            LoginFailed: the network will not have us.
        """
        ...

    def fetch(self, offer: OfferedFile) -> AsyncIterator[bytes]:
        """The bytes of something that came in, in pieces.

        Raises:
            CannotFetch: they cannot be had; says why.
            NotSent: not now; another try may succeed.
        """
        ...

    async def send(self, to: Address, outgoing: Outgoing, key: str) -> str:
        """Send one message; returns the network's id of it.

        Raises:
            Later, NotSent, Unsure, Rejected and its kinds, LoginFailed: as their docstrings say.
        """
        ...

    async def edit(self, to: Address, message: str, text: OutText) -> None:
        """Give a message of ours other words; the same words again are no error.

        Raises:
            MessageGone: it is not there, or cannot be changed any more; and as `send`.
        """
        ...

    async def delete(self, to: Address, message: str) -> None:
        """Take a message of ours back. Raises as `edit`."""
        ...

    async def typing(self, to: Address) -> None:
        """Show that an answer is being worked on, for `capabilities.typing_seconds`; raises as `send`."""
        ...

    async def react(self, to: Address, message: str, emoji: str) -> None:
        """Mark somebody's message; raises as `send`."""
        ...

    async def close(self) -> None:
        """Let go of connections and helpers; after `run` was cancelled."""
        ...


@runtime_checkable
class HasLimitsByChat(Protocol):
    """A channel whose network takes more in some chats than in others; `capabilities` is what holds as a rule."""

    def abilities_in(self, to: Address) -> Capabilities:
        """What holds in one chat, as far as it is known now."""
        ...


def abilities_for(channel: Channel, to: Address) -> Capabilities:
    """What holds in one chat of any channel."""
    return channel.abilities_in(to) if isinstance(channel, HasLimitsByChat) else channel.capabilities


@runtime_checkable
class HasAlbums(Protocol):
    """A channel that shows several files together; its table has a row for `Kind.ALBUM`, with the `most` of them."""

    async def send_album(self, to: Address, album: OutAlbum, key: str) -> Sequence[str]:
        """Send all or none; returns the network's id of each file's message, in order: where the album is one message,
        the same for each. Raises as `Channel.send`.
        """
        ...


def albums_in(channel: Channel, to: Address) -> HasAlbums | None:
    """What sends albums in one chat; None where there are none."""
    if isinstance(channel, HasAlbums) and abilities_for(channel, to).can(Kind.ALBUM):
        return channel
    return None


@runtime_checkable
class HasDrafts(Protocol):
    """A channel whose network shows words for a while that are no message: an answer that is being written, say."""

    async def draft(self, to: Address, text: OutText, key: str) -> None:
        """Show words for `draft_seconds`, or until a message of ours comes there; under the same `key` in the
        place of those before. Nothing of it stays, so that a repeat does no harm.

        Raises:
            Rejected: there are no drafts in this chat, and from now on `abilities_for` says so; and as `send`.
        """
        ...


def drafts_in(channel: Channel, to: Address) -> HasDrafts | None:
    """What shows drafts in one chat; None where there are none."""
    if isinstance(channel, HasDrafts) and abilities_for(channel, to).can(Kind.DRAFT):
        return channel
    return None


@runtime_checkable
class HasProbe(Protocol):
    """A channel that can ask whether its network works, before what may have arrived already is sent once more."""

    async def probe(self) -> None:
        """Make a call that changes nothing and that nobody sees.

        Raises:
            ChannelError: calls do not work now; as `send`.
        """
        ...


class AccountIdentity(Struct, frozen=True):
    """Who we are in a network: the `name` that people see, and a `link` that opens a chat with us, empty for none."""

    name: str
    link: str = ""


@runtime_checkable
class HasIdentity(Protocol):
    """A channel that can ask its network who it is, without being connected."""

    async def identify(self) -> AccountIdentity:
        """Who we are: the proof that what is configured lets us in.

        Raises:
            ChannelError: it does not, or cannot be asked now; as `Channel.send`.
        """
        ...


@runtime_checkable
class HasLinking(Protocol):
    """A channel that somebody has to link to an account before it can run: by a code that their phone scans, say."""

    async def link(self, show: Callable[[str], None]) -> str:
        """Link it; `show` is handed what the person has to see, lines that a terminal can draw. Returns the account.

        Raises:
            AngeliaError: it was not linked; says how to go on.
        """
        ...


class ChannelContext(Struct, frozen=True):
    """What a channel is handed. `folder` is its own and private, for what its library keeps (sessions, keys).

    `recall` and `remember` keep a few short values durably, such as a cursor. `report` is told how the connection is.
    `commands` are our verbs and what each does, for a network that shows a menu of them. `clock` tells the time, which
    may be set; spans are measured by `steady`.
    """

    door: str
    folder: Path
    clock: Clock
    secret: Callable[[Secret], Awaitable[str]]
    recall: Callable[[str], Awaitable[str]]
    remember: Callable[[str, str], Awaitable[None]]
    report: Callable[[Health], None]
    commands: Mapping[str, str]
    steady: Clock = steady_clock


class ChannelProvider(Struct, frozen=True):
    """What a network's module, or a third-party entry point in `angelia.channels`, offers as `CHANNEL`: the type of its
    settings, and what opens a channel by settings of that type. Nothing has to be reached yet.
    """

    settings: type[ChannelSettings]
    open: Callable[[Any, ChannelContext], Channel]
