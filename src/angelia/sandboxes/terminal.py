"""An interactive shell for a person, in sandboxes that can give one: the port for both sides of it."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

SHELL = "if [ -x /bin/bash ]; then exec /bin/bash; else exec /bin/sh; fi"
"""What a person gets where nobody has chosen a shell."""


class Terminal(Protocol):
    """The person's side: a terminal that hands on each key as it is pressed."""

    @property
    def kind(self) -> str:
        """What it is called (`TERM`)."""
        ...

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns now."""
        ...

    async def read(self) -> bytes:
        """What was typed since, at least one byte; nothing once nobody types any more."""
        ...

    def write(self, data: bytes) -> None:
        """Show what the shell writes."""
        ...

    def on_resize(self, act: Callable[[], None]) -> None:
        """Call `act` whenever the size has changed, in place of what was to be called before."""
        ...


@runtime_checkable
class HasShell(Protocol):
    """A sandbox that can give a person a shell."""

    async def shell(self, terminal: Terminal) -> int:
        """Run one in the workspace until it ends; its status, 128 and more for a signal.

        It sees what commands see. It ends with our own process's death.

        Raises:
            SandboxMissing, SandboxGone, Unreachable, AccessRefused: as `start` does.
        """
        ...
