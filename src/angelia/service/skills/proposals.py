"""Skills that models have proposed: they stand in the log, wait for their person, and become folders with a yes."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from angelia.context.in_view import InViewFold
from angelia.core import entry as e
from angelia.core.content import ToolCall
from angelia.core.crash import crash_point
from angelia.core.errors import UNREADABLE, BadInput, NotFound
from angelia.core.ids import CallId, Clock, ConversationId
from angelia.core.principal import Principal
from angelia.service.skills.long_turn import last_turn
from angelia.service.skills.seen import Skills
from angelia.service.skills.write_skill import write_skill
from angelia.skills.proposed import proposed_skill
from angelia.skills.skill import Skill
from angelia.store.tables.proposed_skills import ProposedCall, ProposedSkills
from angelia.tools.skills.propose_skill import ProposeSkillArguments

MOST_WAITING = 10
"""Proposals that wait for one person; no more are taken until some were looked at."""

ReadEntries = Callable[[ConversationId], Awaitable[list[e.Entry]]]
"""The entries of a conversation; raises NotFound where there is none."""


class WaitingProposal(Struct, frozen=True):
    """A proposal with where it comes from: `words` began the turn before it, which made `calls` calls that succeeded.

    `outside`: words that nobody answers for were in view when it was written.
    """

    proposed: ProposedCall
    skill: Skill
    words: str
    calls: int
    outside: bool


class ProposalBox:
    """Those of one home."""

    def __init__(
        self, table: ProposedSkills, skills: Skills, own_home: Path, clock: Clock, entries: ReadEntries
    ) -> None:
        """`own_home` is Angelia's own: what is kept lies in its `skills`. `entries` are those of a conversation."""
        self._table = table
        self._skills = skills
        self._folder = own_home / "skills"
        self._clock = clock
        self._entries = entries

    async def propose(
        self, owner: Principal, conversation: ConversationId, call: CallId, given: ProposeSkillArguments
    ) -> None:
        """See `SkillProposals`."""
        skill = self._made(given)
        waiting = await self._table.list(owner)
        known = ProposedCall(conversation, call, self._clock())
        if len(waiting) >= MOST_WAITING:
            raise BadInput(
                f"{len(waiting)} proposals wait for the person already; no more are taken before they looked."
            )
        if any(one.skill.called == skill.name for one in await self._skills.look(owner, None)):
            raise BadInput(f"There is a skill {skill.name} already.", then="Take another name, or leave it.")
        await self._table.put(owner, known)

    async def look(self, owner: Principal) -> list[WaitingProposal]:
        """Those that wait for this person, oldest first; what was erased or is there by now waits no more."""
        found = []
        for proposed in await self._table.list(owner):
            waiting = await self._waiting(owner, proposed)
            if waiting is None or await asyncio.to_thread(Path(waiting.skill.path).exists):
                await self._table.forget(owner, proposed)
            else:
                found.append(waiting)
        return found

    async def keep(self, owner: Principal, waiting: WaitingProposal) -> Path:
        """A yes: the skill is written, whole or not at all, and pinned as it was shown.

        Raises:
            BadInput: something stands there by now.
        """
        folder = Path(waiting.skill.path)
        await asyncio.to_thread(write_skill, folder, waiting.skill)
        crash_point("skill.written")
        await self._skills.pin(owner, waiting.skill)
        await self._table.forget(owner, waiting.proposed)
        return folder

    async def drop(self, owner: Principal, waiting: WaitingProposal) -> None:
        """A no: it waits no more; the log keeps what was said."""
        await self._table.forget(owner, waiting.proposed)

    async def _waiting(self, owner: Principal, proposed: ProposedCall) -> WaitingProposal | None:
        try:
            entries = await self._entries(proposed.conversation)
        except NotFound:  # the conversation was erased, and what it taught with it
            return None
        for at, entry in enumerate(entries):
            parts = entry.fact.parts if isinstance(entry.fact, e.ModelSaid) else ()
            call = next((one for one in parts if isinstance(one, ToolCall) and one.id == proposed.call), None)
            if call is None:
                continue
            try:
                given = msgspec.json.decode(call.arguments, type=ProposeSkillArguments)
                skill = self._made(given)
            except (*UNREADABLE, BadInput):
                return None
            words, calls = last_turn(entries[:at])
            outside = InViewFold(owner).advance(entries[:at]).untrusted
            return WaitingProposal(proposed, skill, words, calls, outside)
        return None

    def _made(self, given: ProposeSkillArguments) -> Skill:
        return proposed_skill(str(self._folder / given.name), given.name, given.description, given.body, given.files)
