"""Who somebody at a door is to us."""

from msgspec import Struct
from msgspec.structs import replace

from angelia.channels.incoming import Envelope
from angelia.channels.settings import ChannelSettings
from angelia.core.entry import Address
from angelia.core.principal import OWNER, Principal
from angelia.policy.access import admit
from angelia.policy.verdict import Allow
from angelia.service.chats.open_channel import OpenChannel
from angelia.store.tables.pairings import Pairings


class ChatKey(Struct, frozen=True):
    """What a conversation is bound to: an address, and a person where everybody in a group has their own."""

    address: Address
    person: Principal | None = None


def principal_of(envelope: Envelope) -> Principal:
    """Whoever it came from, as their network knows them.

    Raises:
        BadInput: the network gave no id, or one that names nobody.
    """
    return Principal.parse(f"{envelope.address.door}:{envelope.sender.id}")


def person_of(principal: Principal, settings: ChannelSettings) -> Principal:
    """Who somebody at a door is to us: an owner of the channel is the owner of this home."""
    return OWNER if principal.id in settings.owners else principal


def chat_key_of(envelope: Envelope, settings: ChannelSettings) -> ChatKey:
    """Which conversation is meant, as far as an envelope tells."""
    own = settings.per_person and not envelope.private
    return ChatKey(envelope.address, principal_of(envelope) if own else None)


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
    verdict = admit(principal, {Principal(principal.door, one) for one in known})
    return isinstance(verdict, Allow)
