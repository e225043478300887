"""What the tools of skills use of a conversation."""

from typing import Protocol

from angelia.tools.skills.opened_skill import SkillSource
from angelia.tools.skills.propose_skill import SkillProposals


class ConversationSkillsPort(SkillSource, SkillProposals, Protocol):
    """What both tools use."""
