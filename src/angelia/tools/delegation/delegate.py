"""The tool `delegate`: opens child conversations that work side by side."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from angelia.core.content import Text
from angelia.policy.verdict import Effect, NoEffect
from angelia.tools.delegation.access import ChildrenAccess, DelegatedTask
from angelia.tools.port import CallAccess, ToolOutcome, Traits


class DelegateArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be done, one helper for each."""

    tasks: tuple[DelegatedTask, ...]


class Delegate:
    """Gives tasks to helpers. They are opened once its result is committed, so that a crash opens none twice."""

    name = "delegate"
    description = "Give larger tasks to helpers, who know nothing of this."
    arguments: type[Struct] = DelegateArguments
    traits = Traits(replayable=True, spare=True)

    def __init__(self, children: Callable[[], ChildrenAccess]) -> None:
        self._children = children

    async def effects(self, arguments: DelegateArguments, context: object) -> Sequence[Effect]:
        """None: each call of a helper is judged as this conversation's would be."""
        return (NoEffect(),)

    async def run(self, arguments: DelegateArguments, context: CallAccess) -> ToolOutcome:
        """Plan them.

        Raises:
            BadInput: they cannot be opened; says why and what can be.
        """
        opens = await self._children().planned(context.call, arguments.tasks)
        told = [f"{child.terms.name}: {child.task[:80]}" for child in opens]
        said = "\n".join([*told, "[they work now; each end is told once, and `helper` waits for it]"])
        return ToolOutcome((Text(said),), opens=opens)
