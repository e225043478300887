"""What a person does at the prompt, and what the prompt needs to know of the conversation."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from angelia.faces.words.call_output import WholeOutput
from angelia.faces.words.output import Painted


class Typed(Struct, frozen=True):
    """A line was entered; it may hold newlines."""

    text: str


class Pasted(Struct, frozen=True):
    """Files were dropped on the terminal."""

    paths: tuple[Path, ...]


class StopKey(Struct, frozen=True):
    """Esc."""


class BreakKey(Struct, frozen=True):
    """Ctrl-C; `again` is set if nothing was typed since the last one."""

    again: bool


class EndKey(Struct, frozen=True):
    """Ctrl-D at an empty prompt."""


class OutputKey(Struct, frozen=True):
    """Ctrl-O: the whole of what was shown cut; once more, in a window of its own."""


class PlanKey(Struct, frozen=True):
    """Ctrl-T: the plan opened, or folded."""


class QueueKey(Struct, frozen=True):
    """Alt-Q: what is typed is read after this turn."""

    text: str


class TakeBackKey(Struct, frozen=True):
    """Alt-Up: the newest message that waits to be read is typed on."""


Act = Typed | Pasted | StopKey | BreakKey | EndKey | OutputKey | PlanKey | QueueKey | TakeBackKey


class PromptFrame(Struct, frozen=True):
    """What stands around the input: `above` it (columns, rows), `before` it on its line, `below` it.

    `busy`: a turn runs, and nothing is asked.
    """

    above: Callable[[int, int], list[tuple[str, str]]]
    before: Callable[[], str]
    below: Callable[[int], str]
    busy: Callable[[], bool]


class Input(Protocol):
    """Where people type. One for each kind of terminal."""

    async def run(self) -> None:
        """Hear what is typed until `leave`.

        Raises:
            AngeliaError: what `leave` was given.
        """
        ...

    async def shown(self) -> None:
        """Wait until the person can type."""
        ...

    def leave(self, error: Exception | None = None) -> None:
        """End `run`, with this error if there is one."""
        ...

    def pick(self, command: str) -> bool:
        """Let the person pick what `command` is given, which ends with a space; False where that cannot be shown, or
        they type something else.
        """
        ...

    def put_back(self, text: str) -> None:
        """Let the person go on typing this; what they have typed meanwhile comes after it."""
        ...

    async def view(self, whole: WholeOutput) -> bool:
        """Show it in a window of its own until the person has read it; False where there can be none. What is printed
        meanwhile waits.
        """
        ...

    def refresh(self) -> None:
        """Something around the input has changed."""
        ...

    async def still(self) -> None:
        """Wait until the size of the window stands: what is printed before may end up somewhere else."""
        ...

    def write(self, text: Painted) -> None:
        """Print whole lines above the input, and flush them."""
        ...
