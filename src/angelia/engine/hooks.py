"""What the broker knows of the person's programs: they may refuse a call or have it asked about, and are told of it."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import ToolCall


class GuardAnswer(Struct, frozen=True):
    """What all guards said to one call. `refused` and `asks` are why, empty where none did; `runs` is what was run."""

    runs: tuple[e.HookRan, ...] = ()
    refused: str = ""
    asks: str = ""


class CallHooks(Protocol):
    """The programs that are run at calls. They never fail: what went wrong is in what they return."""

    async def before(self, call: ToolCall) -> GuardAnswer:
        """Every guard of this call; one that cannot be run, or answers nothing that can be read, refuses."""
        ...

    async def after(self, call: ToolCall, result: e.ToolFinished) -> Sequence[e.HookRan]:
        """Tell whoever wants to know what came of a call."""
        ...


class NoHooks:
    """There are none. See `CallHooks`."""

    async def before(self, call: ToolCall) -> GuardAnswer:
        """Nobody objects."""
        return GuardAnswer()

    async def after(self, call: ToolCall, result: e.ToolFinished) -> Sequence[e.HookRan]:
        """Nobody is told."""
        return ()
