"""Who is what in a home: by the settings, or as what the owner let them in.

| of several, the first that names somebody counts |
|---|
| `role` in `[people."DOOR:ID"]` |
| `owners` of the channel: an owner |
| what they were let in as with a code, and `allow` of the channel: a member; the higher of both |
| nothing: they have no role, and may do nothing |
"""

from collections.abc import Mapping, Sequence

from angelia.channels.settings import ChannelSettings
from angelia.core.person_role import PersonRole
from angelia.core.principal import ANGELIA, FOLDER, MAIL, OWNER, SIGNAL, Principal
from angelia.policy.roles import least
from angelia.service.settings.config import PersonSettings
from angelia.store.tables.pairings import Pairings

_ARRANGED = frozenset({ANGELIA.door, SIGNAL, MAIL, FOLDER})
"""Doors of what the owner has arranged: nobody speaks there, and what needs a yes is asked of the owner."""

KnownRoles = Mapping[Principal, PersonRole]
"""Those who have a role at some doors."""


class Roles:
    """Who is what, as of now: the settings of this process, and who was let in."""

    def __init__(self, people: Mapping[str, PersonSettings], pairings: Pairings) -> None:
        self._set = {Principal.parse(name): PersonRole(one.role) for name, one in people.items() if one.role}
        self._pairings = pairings

    async def at(self, door: str, settings: ChannelSettings) -> KnownRoles:
        """Everybody who has a role at a channel."""
        found = {Principal(door, own): PersonRole.MEMBER for own in settings.allow}
        for own, role in (await self._pairings.roles(door)).items():
            who = Principal(door, own)
            listed = found.get(who)
            found[who] = role if listed is None or least((role, listed)) is listed else listed
        found |= {Principal(door, own): PersonRole.OWNER for own in settings.owners}
        return found | {who: role for who, role in self._set.items() if who.door == door}

    def set_for(self, who: Principal) -> PersonRole | None:
        """What the settings say that somebody is; None where they say nothing."""
        return self._set.get(who)


def role_of(who: Principal, roles: KnownRoles) -> PersonRole | None:
    """What somebody is; None for whoever has no role."""
    if who == OWNER:
        return PersonRole.OWNER
    return PersonRole.MEMBER if who.door in _ARRANGED else roles.get(who)


def role_of_all(speakers: Sequence[Principal], roles: KnownRoles) -> PersonRole | None:
    """As whose it is judged what several want."""
    return least(role_of(one, roles) for one in speakers)
