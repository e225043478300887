"""What a person does at the prompt, and what the prompt needs to know of the conversation."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from msgspec import Struct

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


Act = Typed | Pasted | StopKey | BreakKey | EndKey


class PromptFrame(Struct, frozen=True):
    """What stands around the input: `above` it (columns, rows), `before` it on its line, `below` it."""

    above: Callable[[int, int], list[tuple[str, str]]]
    before: Callable[[], str]
    below: Callable[[int], str]


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

    def refresh(self) -> None:
        """Something around the input has changed."""
        ...

    async def still(self) -> None:
        """Wait until the size of the window stands: what is printed before may end up somewhere else."""
        ...

    def write(self, text: Painted) -> None:
        """Print whole lines above the input, and flush them."""
        ...
