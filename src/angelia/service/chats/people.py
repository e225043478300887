"""Who somebody at a door is to us."""

from msgspec import Struct
from msgspec.structs import replace

from angelia.channels.incoming import Envelope
from angelia.channels.registry import find_channel, read_settings
from angelia.channels.settings import ChannelSettings
from angelia.core.entry import Address
from angelia.core.person_role import PersonRole
from angelia.core.principal import OWNER, Principal
from angelia.service.chats.open_channel import OpenChannel
from angelia.service.people.roles import KnownRoles
from angelia.service.settings.config import Config


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


def settings_of(config: Config, door: str) -> ChannelSettings:
    """What is set of a channel, open or not; the usual where there is none of this name.

    Raises:
        ConfigError, MissingPart: it is not set as its network needs it, or that is not known here.
    """
    section = config.channels.get(door)
    return read_settings(door, section, find_channel(door, section)) if section is not None else ChannelSettings()


def with_owners(line: OpenChannel, roles: KnownRoles) -> OpenChannel:
    """A channel whose owners are those who have that role there, however they came by it."""
    return replace(line, settings=replace(line.settings, owners=owners_among(roles)))


def owners_among(roles: KnownRoles) -> tuple[str, ...]:
    """The ids of the owners."""
    return tuple(sorted(who.id for who, role in roles.items() if role is PersonRole.OWNER))
