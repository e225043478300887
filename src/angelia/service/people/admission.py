"""Lets people in and out, and says what they are, in the words in which the owner is told before and after."""

from collections.abc import Mapping

from angelia.core.entry import AdminAct
from angelia.core.errors import BadInput, NotFound
from angelia.core.person_role import PersonRole
from angelia.core.principal import OWNER, Principal
from angelia.policy.roles import Right, may
from angelia.service.audit import Audit
from angelia.service.people.roles import Roles
from angelia.service.settings.config import PersonSettings
from angelia.store.tables.pairings import Paired, Pairings

_BY_ADMINS = (PersonRole.MEMBER, PersonRole.GUEST)


class Admission:
    """Who may speak in a home. Each act stands in the audit log before it is done, and what is refused does not."""

    def __init__(self, people: Mapping[str, PersonSettings], pairings: Pairings, audit: Audit) -> None:
        self.pairings, self.roles = pairings, Roles(people, pairings)
        self._audit = audit

    async def approve(self, code: str, role: PersonRole, *, by: Principal = OWNER) -> Paired:
        """Let in whoever was told this code; whoever is not the owner lets in members and guests alone.

        Raises:
            BadInput: they may not let in as this.
            NotFound: nobody was told it, or it has expired or was used.
        """
        if by != OWNER and role not in _BY_ADMINS:
            raise BadInput(f"Only the owner lets in as {role}.", then=f"At their terminal: angelia pair approve {code}")
        asks = await self.pairings.find(code)
        await self._audit.record(AdminAct.LET_IN, by, f"as {role}", asks.principal)
        return await self.pairings.approve(code, by=by, role=role)

    async def approve_person(self, who: Principal) -> Paired:
        """Let in somebody who waits, as a guest; for a button in the owner's chat.

        Raises:
            NotFound: nobody of this id waits, or the code has expired.
        """
        if any(one.principal == who for one in await self.pairings.waiting(OWNER)):
            await self._audit.record(AdminAct.LET_IN, OWNER, f"as {PersonRole.GUEST}", who)
        return await self.pairings.approve_person(who, by=OWNER)

    async def shut_out(self, who: Principal) -> bool:
        """Let somebody in no longer; False if they were not."""
        if await self.pairings.knows(who):
            await self._audit.record(AdminAct.SHUT_OUT, OWNER, person=who)
        return await self.pairings.forget(who)

    async def change(self, who: Principal, role: PersonRole) -> None:
        """Somebody who was let in is something else from now on.

        Raises:
            BadInput: the settings say what they are.
            NotFound: they were not let in with a code.
        """
        if (already := self.roles.set_for(who)) and already is not role:
            raise BadInput(
                f"The settings say that {who} is {an(already)}, which counts.",
                then=f'Change `role` in [people."{who}"] of config.toml, or take it out there.',
            )
        if who.id not in await self.pairings.roles(who.door):
            raise NotFound(
                f"{who} was not let in with a code.",
                then=f'`angelia pair` lists those who were. In the settings: [people."{who}"] role = "{role}"',
            )
        await self._audit.record(AdminAct.ROLE_CHANGED, OWNER, f"is {role}", who)
        await self.pairings.change(who, role)


def an(role: PersonRole) -> str:
    """The role with its article.

    >>> an(PersonRole.OWNER), an(PersonRole.GUEST)
    ('an owner', 'a guest')
    """
    return f"{'an' if role.value[0] in 'aeiou' else 'a'} {role}"


def may_do(role: PersonRole) -> str:
    """What somebody of this role will be able to do, and what not."""
    if role is PersonRole.OWNER:
        return (
            "As an owner they may do what you may do here: what is asked goes to them, and their yes counts, "
            "outside of the confinement too. They let others in."
        )
    asks = "is asked of you, in your own chat" if may(role, Right.ASK) else "is refused"
    more = "They cannot allow anything, nor let others in."
    if may(role, Right.LET_IN):
        more = (
            "They let others in, as members and guests (/admit), and in groups end any turn and say which conversation "
            "the group is in. They cannot allow anything."
        )
    return (
        f"As {an(role)} they may write to Angelia, send files, and have it work for them under your settings, "
        f"with your models and at your cost. What needs a yes {asks}. {more}"
    )
