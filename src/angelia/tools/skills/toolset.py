"""The toolset of skills: one tool, where there is a skill that the person has seen."""

from collections.abc import Sequence

from angelia.tools.port import ConversationContext, Tool
from angelia.tools.skills.opened_skill import SkillSource
from angelia.tools.skills.use_skill import UseSkill


class SkillTools:
    """See `tools.port.Toolset`."""

    name = "skills"

    def __init__(self, skills: SkillSource) -> None:
        self._skills = skills
        self._use = (UseSkill(skills),)

    async def open(self, conversation: ConversationContext) -> None:
        """Look for the first time."""
        await self._skills.look()

    async def ready(self) -> None:
        """What lies there may have changed since the last turn."""
        await self._skills.look()

    def tools(self) -> Sequence[Tool]:
        """None where there is no skill to take: a tool that can do nothing only costs words."""
        return self._use if self._skills.names else ()

    def instructions(self) -> str:
        """The prompt has a section of its own for them."""
        return ""

    async def close(self) -> None:
        """Nothing was begun."""
