"""The system prompt of a turn: its sections in their order, the same bytes for as long as its facts are the same."""

from collections.abc import Sequence

from msgspec import Struct

from angelia.context.prompt.facts import PromptFacts
from angelia.context.prompt.folder_instructions import FolderInstructions
from angelia.context.prompt.how_to_work import HowToWork, HowToWorkBriefly
from angelia.context.prompt.notes import NotesSection
from angelia.context.prompt.place import PlaceSection
from angelia.context.prompt.section import PromptSection, SectionBudget, SectionCut, fitted
from angelia.context.prompt.skills import SkillsSection
from angelia.context.prompt.standing_instructions import StandingInstructions
from angelia.context.prompt.tool_instructions import ToolInstructions

SECTIONS: tuple[PromptSection, ...] = (
    HowToWork(),
    ToolInstructions(),
    PlaceSection(),
    StandingInstructions(),
    FolderInstructions(),
    SkillsSection(),
    NotesSection(),
)
"""In the order in which they stand: what changes seldom comes first, since a provider's cache is one of prefixes."""

SMALL: tuple[PromptSection, ...] = (HowToWorkBriefly(), StandingInstructions())
"""For the embedded model."""

_SHARE, _LEAST = 8, 500
"""A section has at most this part of a model's window, if that is known, and in any case so many tokens."""


class SystemPrompt(Struct, frozen=True):
    """The prompt, and which sections of it were cut."""

    text: str
    cuts: tuple[SectionCut, ...] = ()


def system_prompt(facts: PromptFacts, window: int = 0, sections: Sequence[PromptSection] = SECTIONS) -> SystemPrompt:
    """The prompt of these facts for a model with that window, in tokens (0 for one that is not known)."""
    texts, cuts = [], []
    for section in sections:
        whole = section.text(facts).strip()
        if not whole:
            continue
        text, left_out = fitted(whole, _budget(section, window))
        texts.append(text)
        if left_out:
            cuts.append(SectionCut(section.name, left_out, len(whole)))
    return SystemPrompt("\n\n".join(texts), tuple(cuts))


def _budget(section: PromptSection, window: int) -> SectionBudget:
    if not window:
        return section.budget
    return SectionBudget(min(section.budget.tokens, max(window // _SHARE, _LEAST)), section.budget.bytes)
