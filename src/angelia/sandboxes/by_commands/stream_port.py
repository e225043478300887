"""The port of streams to a place: what a room gives, so that a launcher can run there."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from angelia.sandboxes.port import StderrMode


class ExecStream(Protocol):
    """A launcher's input and output, and the status it ended with."""

    async def read(self) -> bytes:
        """Some output, nothing at its end.

        Raises:
            SandboxGone, Unreachable: the stream was cut.
        """
        ...

    async def write(self, data: bytes) -> None:
        """Send input; waits while the far side takes none.

        Raises:
            SandboxGone, Unreachable: the stream was cut.
        """
        ...

    async def end_input(self) -> None:
        """Let the input end after what was sent.

        Raises:
            SandboxGone, Unreachable: the stream was cut.
        """
        ...

    @property
    def last_errors(self) -> bytes:
        """The end of what came by its second output, if it was opened with `StderrMode.APART`."""
        ...

    async def status(self) -> int:
        """The launcher's status, 0 to 255, after the output's end."""
        ...

    async def close(self) -> None:
        """Let go. Idempotent."""
        ...


OpenWire = Callable[[str, StderrMode], Awaitable[ExecStream]]
"""Starts `/bin/sh -c LINE` at the place, and gives its input and outputs; a second output is apart or merged."""
