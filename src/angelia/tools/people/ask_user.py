"""The tool `ask_user`: put a question to the person, and wait for the answer."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from angelia.core.content import Text
from angelia.policy.verdict import AskPerson, Effect
from angelia.tools.port import PeopleAccess, ToolOutcome, Traits

MOST_CHOICES = 6


class AskUserArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The question, and answers to choose from."""

    question: Annotated[str, Meta(min_length=1)]
    choices: Annotated[tuple[str, ...], Meta(max_length=MOST_CHOICES)] = ()


class AskUser:
    """Asks, and tells the model what the person said."""

    name = "ask_user"
    description = "Ask the user and wait for the answer. Only when you cannot go on well without it."
    arguments: type[Struct] = AskUserArguments
    traits = Traits(replayable=True)

    async def effects(self, arguments: AskUserArguments, context: object) -> Sequence[Effect]:
        """The question; the policy parks it until somebody answers."""
        return (AskPerson(arguments.question, arguments.choices),)

    async def run(self, arguments: AskUserArguments, context: PeopleAccess) -> ToolOutcome:
        """Runs once there is an answer."""
        if not context.answer.strip():
            return ToolOutcome(
                (Text("The user gave no answer in words. Go on as seems best, and say what you assumed."),)
            )
        return ToolOutcome((Text(f"The user answered: {context.answer}"),))
