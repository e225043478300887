"""Who somebody at a door is to us."""

from msgspec import Struct
from msgspec.structs import replace

from angelia.channels.incoming import Envelope
from angelia.channels.settings import ChannelSettings
from angelia.core.entry import Address
from angelia.policy.access import Principal, admit
from angelia.policy.verdict import Allow
from angelia.service.chats.open_channel import OpenChannel
from angelia.service.conversation.judging import OWNER
from angelia.store.tables.pairings import Pairings


class ChatKey(Struct, frozen=True):
    """What a conversation is bound to: an address, and a person where everybody in a group has their own."""

    address: Address
    person: str = ""


def principal_of(envelope: Envelope) -> Principal:
    """The platform's id of whoever it came from."""
    return Principal(envelope.address.door, envelope.sender.id, envelope.sender.name)


def person_of(principal: Principal, settings: ChannelSettings) -> str:
    """How the log names somebody: `owner`, or their door and id."""
    return OWNER if principal.id in settings.owners else str(principal)


def chat_key_of(envelope: Envelope, settings: ChannelSettings) -> ChatKey:
    """Which conversation is meant, as far as an envelope tells."""
    own = settings.per_person and not envelope.private
    return ChatKey(envelope.address, str(principal_of(envelope)) if own else "")


async def with_owners(line: OpenChannel, pairings: Pairings) -> OpenChannel:
    """A channel with those among its owners who were let in as one with a code."""
    paired = await pairings.owners(line.channel.door)
    if not paired:
        return line
    owners = tuple(sorted({*line.settings.owners, *paired}))
    return replace(line, settings=replace(line.settings, owners=owners))


async def may_speak(principal: Principal, settings: ChannelSettings, pairings: Pairings) -> bool:
    """Whether somebody is on the list, or was let in. An empty list means nobody."""
    known = {*settings.allow, *settings.owners, *await pairings.admitted(principal.door)}
    verdict = admit(principal, {str(Principal(principal.door, one)) for one in known})
    return isinstance(verdict, Allow)
