"""The section that says where the model works, and what there is to be known of that place."""

from angelia.context.prompt.facts import PromptFacts
from angelia.context.prompt.folder_instructions import remark_on
from angelia.context.prompt.section import SectionBudget


class PlaceSection:
    """See `PromptSection`."""

    name = "place"
    budget = SectionBudget(1_500)

    def text(self, facts: PromptFacts) -> str:
        """See `PromptSection`."""
        lines = [
            f"Workspace: {facts.workspace}",
            f"System: {facts.system}",
            f"Network: {facts.network}",
            f"This conversation began on {facts.today}.",
            *facts.notes,
            remark_on(facts.folder),
        ]
        return "\n".join(line for line in lines if line)
