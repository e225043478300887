"""The tool `process`: look at, wait for or end what `shell` runs in the background."""

from collections.abc import Sequence
from typing import Annotated, Literal, Protocol

from msgspec import Meta, Struct
from msgspec.structs import replace

from angelia.core.content import Text
from angelia.core.entry import WorkEnded
from angelia.core.errors import NotFound
from angelia.core.ids import CallId
from angelia.core.text import one_line
from angelia.policy.verdict import Effect, NoEffect
from angelia.tools.port import BlobAccess, LogAccess, ToolOutcome, Traits
from angelia.tools.shell.background import BackgroundCommands, Process, outcome_of

A_MOMENT = 0.1
"""Seconds that `poll` gives a process to say something or to end."""


class ProcessArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """Which process, and what to do with it."""

    action: Literal["poll", "wait", "kill"]
    id: str
    seconds: Annotated[int, Meta(ge=1, le=3600, description="How long `wait` waits at most.")] = 60


class ProcessContext(BlobAccess, LogAccess, Protocol):
    """What `process` uses of its call."""


class ProcessTool:
    """Shows what a background process wrote since the last look, and how it ended."""

    name = "process"
    description = "A background process: `poll` shows new output and status, `wait` waits for its end, `kill` ends it."
    arguments: type[Struct] = ProcessArguments
    traits = Traits()

    def __init__(self, background: BackgroundCommands) -> None:
        self._background = background

    async def effects(self, arguments: ProcessArguments, context: object) -> Sequence[Effect]:
        """None: the command was judged when it was started."""
        return (NoEffect(),)

    async def run(self, arguments: ProcessArguments, context: ProcessContext) -> ToolOutcome:
        """Do it.

        Raises:
            NotFound: no such process in this life; processes end when Angelia ends.
        """
        if _told(arguments.id, context):
            return ToolOutcome((Text(f"{arguments.id} has ended; a note tells you how, with what it wrote."),))
        process = _known(arguments.id, self._background.known)
        async with process.looked_at:
            match arguments.action:
                case "poll":
                    await process.wait(A_MOMENT)
                case "wait":
                    await process.wait(arguments.seconds)
                case "kill":
                    await process.kill()
            outcome = await outcome_of(process, context, fresh=process.take_fresh())
            if process.ended() is None:
                return outcome
            del self._background.known[arguments.id]  # told now, and its output is kept with this call's result
            return replace(outcome, ended=CallId(arguments.id))


def _told(name: str, context: LogAccess) -> bool:
    """Whether its end was handed in while nobody looked."""
    ends = (entry.fact for entry in context.entries if isinstance(entry.fact, WorkEnded))
    return any(fact.call == name and not fact.told_by for fact in ends)


def _known(name: str, known: dict[str, Process]) -> Process:
    process = known.get(name)
    if process is None:
        raise NotFound(
            f"There is no background process {name!r}.",
            why=_others(known) or "Its end was told already, or it ended together with Angelia.",
        )
    return process


def _others(kept: dict[str, Process]) -> str:
    running = [f"{name} ({one_line(process.command.shell, 40)})" for name, process in kept.items()]
    return f"There are: {', '.join(running)}." if running else ""
