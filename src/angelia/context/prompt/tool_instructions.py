"""The section with what toolsets say of their tools, beyond each tool's description."""

from angelia.context.prompt.facts import PromptFacts
from angelia.context.prompt.section import SectionBudget
from angelia.context.prompt.visible_text import visible


class ToolInstructions:
    """See `PromptSection`; one paragraph for each toolset that says something."""

    name = "instructions of toolsets"
    budget = SectionBudget(4_000)

    def text(self, facts: PromptFacts) -> str:
        """See `PromptSection`."""
        return "\n\n".join(f"About the tools of {visible(one.name)}:\n{visible(one.text)}" for one in facts.tools)
