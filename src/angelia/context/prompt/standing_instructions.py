"""The section with the person's own instructions, from the settings."""

from angelia.context.prompt.facts import PromptFacts
from angelia.context.prompt.section import SectionBudget


class StandingInstructions:
    """See `PromptSection`; `context.instructions` as it is written there."""

    name = "your own instructions (context.instructions)"
    budget = SectionBudget(8_000)

    def text(self, facts: PromptFacts) -> str:
        """See `PromptSection`."""
        return facts.standing
