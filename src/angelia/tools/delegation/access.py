"""What calls may do with child conversations, as a service of `tools.port.ConversationContext`."""

from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

from angelia.core.entry import Child
from angelia.core.ids import CallId


class DelegatedTask(Struct, frozen=True, forbid_unknown_fields=True):
    """One task, complete in itself: a helper knows nothing of this conversation.

    `files` are paths that it needs. `helper` names one of those that are set up. `tools` narrows what it may call.
    `max_cost` is US dollars. With `workspace` "copy" it works in a copy of the folder, and what it changed there comes
    back as a patch.
    """

    task: str
    helper: str = ""
    files: tuple[str, ...] = ()
    model: str = ""
    tools: tuple[str, ...] = ()
    max_cost: float = 0.0
    max_steps: int = 0
    workspace: Literal["same", "copy"] = "same"


class ChildrenAccess(Protocol):
    """The child conversations of the running one."""

    async def look(self) -> None:
        """See which helpers are set up now; a turn begins."""
        ...

    def offered(self) -> str:
        """What is set up to be delegated to, for the prompt; empty where nothing may be delegated."""
        ...

    async def planned(self, call: CallId, tasks: Sequence[DelegatedTask]) -> tuple[Child, ...]:
        """What would be opened for these tasks, with what is reserved for each.

        Raises:
            BadInput: too many, too deep, too expensive, or a model, helper, tool or file that there is not.
        """
        ...

    async def wait(self, names: Sequence[str], seconds: float) -> str:
        """Wait until these have ended, all that run if none is named; returns how each stands, in lines.

        It returns early when somebody writes.

        Raises:
            NotFound: there is no such helper; says which there are.
        """
        ...

    async def tell(self, call: CallId, name: str, text: str) -> str:
        """Say something to one that runs; once for a call, however often it is run.

        Raises:
            NotFound, BadInput: there is none of this name, or it has ended.
        """
        ...

    async def stop(self, name: str) -> str:
        """End one that runs, with its own children.

        Raises:
            NotFound, BadInput: as `tell`.
        """
        ...
