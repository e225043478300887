"""Who somebody at a door is to us."""

from msgspec import Struct
from msgspec.structs import replace

from angelia.channels.incoming import Envelope
from angelia.channels.settings import ChannelSettings
from angelia.core.entry import Address
from angelia.policy.access import Principal, admit
from angelia.policy.verdict import Allow
from angelia.service.judging import OWNER
from angelia.service.line import Line
from angelia.store.pairings import Pairings


class Spot(Struct, frozen=True):
    """What a conversation is bound to: an address, and a person where everybody in a group has their own."""

    address: Address
    person: str = ""


def principal_of(envelope: Envelope) -> Principal:
    """The platform's id of whoever it came from."""
    return Principal(envelope.address.door, envelope.sender.id, envelope.sender.name)


def person_of(principal: Principal, settings: ChannelSettings) -> str:
    """How the log names somebody: `owner`, or their door and id."""
    return OWNER if principal.id in settings.owners else str(principal)


def spot_of(envelope: Envelope, settings: ChannelSettings) -> Spot:
    """Which conversation is meant, as far as an envelope tells."""
    own = settings.per_person and not envelope.private
    return Spot(envelope.address, str(principal_of(envelope)) if own else "")


async def with_owners(line: Line, pairings: Pairings) -> Line:
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
