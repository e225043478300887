"""The tool `helper`: wait for, speak to or stop helpers that run."""

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from angelia.core.content import Text
from angelia.core.errors import BadInput
from angelia.policy.verdict import Effect, NoEffect
from angelia.tools.delegation.access import ChildrenAccess
from angelia.tools.port import CallAccess, ToolOutcome, Traits

_LONGEST_S = 900.0
"""Seconds that one call waits: whoever waits longer says so, and sees how far they are."""


class RunningArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What to do with which helpers; `wait` waits for all if none is named."""

    action: Literal["wait", "tell", "stop"]
    names: tuple[str, ...] = ()
    text: str = ""


class RunningChildren:
    """What can be done with helpers that run; what each said stands in the note that its end leaves."""

    name = "helper"
    description = "Wait for helpers (notes tell their ends), tell or stop them."
    arguments: type[Struct] = RunningArguments
    traits = Traits(replayable=True, spare=True)

    def __init__(self, children: Callable[[], ChildrenAccess]) -> None:
        self._children = children

    async def effects(self, arguments: RunningArguments, context: object) -> Sequence[Effect]:
        """None: the words stay in this home, and what is stopped is our own."""
        return (NoEffect(),)

    async def run(self, arguments: RunningArguments, context: CallAccess) -> ToolOutcome:
        """Do it.

        Raises:
            NotFound, BadInput: there is no such helper, it has ended, or there is nothing to tell.
        """
        children, names = self._children(), arguments.names
        if arguments.action == "wait":
            said = [await children.wait(names, _LONGEST_S)]
        elif not names:
            raise BadInput(f"Which helper is to be {_DONE[arguments.action]}?", then="Say it in `names`.")
        elif arguments.action == "stop":
            said = [await children.stop(name) for name in names]
        elif not arguments.text.strip():
            raise BadInput("There is nothing to tell.", then="Say it in `text`.")
        else:
            said = [await children.tell(context.call, name, arguments.text) for name in names]
        return ToolOutcome((Text("\n".join(said)),))


_DONE = {"tell": "told", "stop": "stopped"}
