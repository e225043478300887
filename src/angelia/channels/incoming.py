"""What comes in from a chat network: an envelope for each thing that somebody did."""

from collections.abc import Awaitable, Callable
from enum import StrEnum

from msgspec import Struct

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.core.entry import Address


class OfferedFile(Struct, frozen=True):
    """A file that somebody sent and nobody has fetched yet. `size` is bytes, -1 when the network does not say.

    `handle` is the channel's own, for `Channel.fetch`; `seconds` is a recording's length, 0 when unknown.
    """

    kind: Kind
    handle: str
    name: str = ""
    mime: str = ""
    size: int = -1
    seconds: float = 0.0


class IncomingSender(Struct, frozen=True):
    """Who it came from: the network's immutable id, and a name for people to read. Bots are never heard."""

    id: str
    name: str = ""
    bot: bool = False


class IncomingMessage(Struct, frozen=True):
    """Words and files. `quoted` is the text of the message that this one answers, where the network tells it.

    Places and contacts are words. A command of the network's own kind is its text, `/status` and the like.
    `edits` is the id of the earlier message that these words replace, empty for a new message.

    `text` holds the sender's own words and nothing else. What they pass on of others is in `shared`, and `forwarded`
    says that the whole message is such a one, its files too: it has no `text` then. So no verb stands in a forward.
    """

    text: str = ""
    offers: tuple[OfferedFile, ...] = ()
    quoted: str = ""
    edits: str = ""
    shared: str = ""
    forwarded: bool = False


class Pressed(Struct, frozen=True):
    """A button of ours was pressed. `value` is what we gave it, `message` the id of the message it stands on."""

    value: str
    message: str = ""


class Noticed(Struct, frozen=True):
    """Something that opens no turn: a reaction, a deletion. `text` tells it in a sentence."""

    heard: IncomingKind
    text: str
    message: str = ""


class ReachedUpdate(StrEnum):
    """How far a message of ours came."""

    DELIVERED = "delivered"
    """It is on the person's device."""
    READ = "read"
    FAILED = "failed"
    """The network took it, and has given it up."""
    TOO_LATE = "too_late"
    """The same, since free text was not allowed any more (`WindowClosed`)."""


class Confirmed(Struct, frozen=True):
    """What became of a message of ours, told by the network after it had taken it. `why` explains a failure.

    Nobody says it, so it is heard without asking whether its `Envelope.sender`, whom it was for, may speak.
    """

    message: str
    reached: ReachedUpdate
    why: str = ""


class Envelope(Struct, frozen=True):
    """One thing that came in. `key` names it uniquely for this door: a repeat has the same key.

    `message` is the network's id of the message, for replies and reactions. `private` is a chat with one person;
    elsewhere `addressed` says that we were mentioned or answered. `sent_at` is the network's time, Unix milliseconds,
    0 when unknown.
    """

    address: Address
    key: str
    sender: IncomingSender
    what: IncomingMessage | Pressed | Noticed | Confirmed
    message: str = ""
    private: bool = True
    addressed: bool = True
    sent_at: int = 0


Hear = Callable[[Envelope], Awaitable[str]]
"""Takes one envelope in. When it returns, the envelope is stored or turned away for good, and the network may be told;
the result is a short word for a button's or command's own acknowledgement, mostly empty. If it raises, the envelope is
not stored, and the network should bring it again."""
