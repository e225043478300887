"""Who lends a sandbox to this process: a harness says what can be run there, and gets the name to call it by."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from angelia.core.ids import sortable_id
from angelia.sandboxes.port import SandboxMissing


class ExecResult(Protocol):
    """How a command ended, and what it wrote; None for nothing."""

    @property
    def stdout(self) -> str | None: ...

    @property
    def stderr(self) -> str | None: ...

    @property
    def return_code(self) -> int: ...


class HarnessEnvironment(Protocol):
    """A sandbox of a harness. All that it certainly can is to run a line in a shell, and tell once that has ended."""

    async def exec(self, command: str, /) -> ExecResult:
        """Run a line in its working folder, as the task's user."""
        ...


_LENT: dict[str, HarnessEnvironment] = {}


@contextmanager
def lent(environment: HarnessEnvironment, folder: str) -> Iterator[str]:
    """The spec by which conversations of this process work in that sandbox, in `folder` there, until it is taken back.

    >>> class Nowhere: ...
    >>> with lent(Nowhere(), "/app") as spec:
    ...     print(spec.startswith("harness:"), spec.endswith(":/app"))
    True True
    """
    name = sortable_id()
    _LENT[name] = environment
    try:
        yield f"harness:{name}:{folder}"
    finally:
        del _LENT[name]


def borrowed(name: str) -> HarnessEnvironment:
    """What is lent under that name.

    Raises:
        SandboxMissing: nothing is, any more.
    """
    try:
        return _LENT[name]
    except KeyError:
        raise SandboxMissing(
            "The sandbox was lent by a harness, whose task has ended.",
            then="Read the conversation with `angelia show`; its work is where the harness has put it.",
        ) from None
