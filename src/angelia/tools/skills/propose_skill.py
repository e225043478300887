"""The tool `propose_skill`: a way of working that took many calls, written down for the person to keep or not."""

from collections.abc import Sequence
from typing import Annotated, Protocol

from msgspec import Meta, Struct

from angelia.core.content import Text
from angelia.core.ids import CallId
from angelia.policy.verdict import Effect, NoEffect
from angelia.tools.port import CallAccess, ToolOutcome, Traits

NAME = "propose_skill"


class ProposeSkillArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """A skill: `body` says how the task is done, `files` are further ones by their paths."""

    name: Annotated[str, Meta(description="Small letters, digits and hyphens.")]
    description: Annotated[str, Meta(description="What it does and when to use it, for whoever sees nothing else.")]
    body: str
    files: dict[str, str] = {}


class SkillProposals(Protocol):
    """Who takes what is proposed."""

    async def propose(self, call: CallId, arguments: ProposeSkillArguments) -> None:
        """Let it wait for the person.

        Raises:
            BadInput: it breaks a rule, its name is taken, or too many wait already.
        """
        ...


class ProposeSkill:
    """Proposes a skill; nothing is written, and nobody uses it, before the person has read it."""

    name = NAME
    description = (
        "The turn before took many calls. If its way of working will be needed again, propose it as a skill, without "
        "secrets and in general words; the person reads it and decides. If not, do nothing."
    )
    arguments: type[Struct] = ProposeSkillArguments
    traits = Traits(housekeeping=True, replayable=True)

    def __init__(self, proposals: SkillProposals) -> None:
        self._proposals = proposals

    async def effects(self, arguments: ProposeSkillArguments, context: object) -> Sequence[Effect]:
        """None: it waits in the log."""
        return (NoEffect(),)

    async def run(self, arguments: ProposeSkillArguments, context: CallAccess) -> ToolOutcome:
        """Let it wait.

        Raises:
            BadInput: as `SkillProposals.propose`.
        """
        await self._proposals.propose(context.call, arguments)
        told = f"A skill was proposed: {arguments.name}. Nobody uses it before you have read it: angelia skills review"
        return ToolOutcome((Text("Proposed. The person decides; it cannot be used before."),), notices=(told,))
