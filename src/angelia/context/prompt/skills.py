"""The section with the skills that the model may take: a name and what it is for, each in one line."""

from angelia.context.prompt.facts import OfferedSkill, PromptFacts
from angelia.context.prompt.section import SectionBudget
from angelia.context.prompt.visible_text import visible
from angelia.context.tokens import text_tokens

MOST_TOKENS = 60
"""Of one skill's line."""

_HEAD = (
    "Skills: how some kinds of tasks are done here, in words that the person has read. Where one fits, take it with "
    "use_skill before you begin. A skill permits nothing that asks."
)
_TAIL = 60
"""Tokens of the line about those that are not named."""


class SkillsSection:
    """See `PromptSection`."""

    name = "skills"
    budget = SectionBudget(3_000)

    def text(self, facts: PromptFacts) -> str:
        """See `PromptSection`; as many lines as fit, and how many did not."""
        offered = facts.skills
        if not offered.listed and not offered.unused:
            return ""
        lines, left = [_HEAD], self.budget.tokens - text_tokens(_HEAD) - _TAIL
        for skill in offered.listed:
            line = _line(skill)
            if (left := left - text_tokens(line) - 1) < 0:
                break
            lines.append(line)
        if rest := _rest(len(offered.listed) - len(lines) + 1, offered.unused):
            lines.append(rest)
        return "\n".join(lines)


def _line(skill: OfferedSkill) -> str:
    """A skill in at most `MOST_TOKENS`; what is cut is seen."""
    whole = f"- {skill.name}: {visible(skill.description)}"
    if text_tokens(whole) <= MOST_TOKENS:
        return whole
    low, high = 0, len(whole)
    while low < high:  # more characters are never fewer tokens
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text_tokens(f"{whole[:middle]}…") <= MOST_TOKENS else (low, middle - 1)
    return f"{whole[:low].rstrip()}…"


def _rest(did_not_fit: int, unused: int) -> str:
    told = [f"{did_not_fit} more do not fit here"] if did_not_fit else []
    told += [f"{unused} that were not used for 60 days are not named"] if unused else []
    return f"{' and '.join(told).capitalize()}: use_skill with the name `?` tells all names." if told else ""
