"""What each role may do: the one table, which every door and the judge ask.

| | owner | admin | member | guest | nobody |
|---|---|---|---|---|---|
| `TALK` | yes | yes | yes | yes | no |
| `ASK` | yes | yes | yes | no | no |
| `LEAD` | yes | yes | no | no | no |
| `LET_IN` | yes | yes | no | no | no |
| `OWN` | yes | no | no | no | no |
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from angelia.core.person_role import PersonRole


class Right(StrEnum):
    """Something that not everybody may do."""

    TALK = "talk"
    """Write, send files, and have it work as far as nothing needs a yes."""
    ASK = "ask"
    """Have the owner asked for a yes, where what they want needs one."""
    LEAD = "lead"
    """In a group: say which conversation it is in and how it works, and end anybody's turn."""
    LET_IN = "let_in"
    """Let others in, as guests and members."""
    OWN = "own"
    """Say yes to what needs one, see what is anybody's, and change everything."""


_GUEST = frozenset({Right.TALK})
_MEMBER = _GUEST | {Right.ASK}
_ADMIN = _MEMBER | {Right.LEAD, Right.LET_IN}

RIGHTS: Mapping[PersonRole, frozenset[Right]] = {
    PersonRole.GUEST: _GUEST,
    PersonRole.MEMBER: _MEMBER,
    PersonRole.ADMIN: _ADMIN,
    PersonRole.OWNER: _ADMIN | {Right.OWN},
}


def may(role: PersonRole | None, right: Right) -> bool:
    """Whether somebody of this role may do it; None, for whoever has no role, may nothing.

    >>> may(PersonRole.ADMIN, Right.LET_IN), may(PersonRole.ADMIN, Right.OWN), may(None, Right.TALK)
    (True, False, False)
    """
    return role is not None and right in RIGHTS[role]


def least(roles: Iterable[PersonRole | None]) -> PersonRole | None:
    """The role of several who have a say in one turn: whoever may least decides, and of nobody it is the owner's.

    >>> least([PersonRole.ADMIN, PersonRole.GUEST]), least([PersonRole.MEMBER, None]), least([])
    (<PersonRole.GUEST: 'guest'>, None, <PersonRole.OWNER: 'owner'>)
    """
    found = list(roles)
    if None in found:
        return None
    return min((one for one in found if one), key=lambda one: len(RIGHTS[one]), default=PersonRole.OWNER)
