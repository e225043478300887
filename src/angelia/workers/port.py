"""The port of workers: another agent in a model's place, at work in the sandbox of its conversation.

To the engine a worker is a model (`models.port.ProviderSession`): what it says are replies, and what it wants done is
a call, which the broker judges, runs and records like any other. The first reply is the call that starts its program,
so nothing of it runs that was not judged. It never runs outside of the sandbox, and never twice: one whose program has
ended answers with a failure (`FailureKind.WORKER`), whatever it is asked.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from angelia.core.entry import Entry, Usage
from angelia.core.ids import CallId
from angelia.models.port import Price, ProviderSession
from angelia.sandboxes.port import Command, Exit, Reach, Running, StderrMode, StdinMode

START, READ, WRITE, SHELL, PERMISSION, STEP = "start_worker", "read", "write", "shell", "permission", "step"
"""The calls that a worker makes: as those of models are called, where they do the same."""


class WorkerProgram(Struct, frozen=True):
    """A worker as it is started. `env` reads its variables, with their secrets, at the moment they are needed.

    `hosts` are the only ones that it may reach with the reach `network`, empty for all.
    """

    name: str
    argv: tuple[str, ...]
    env: Callable[[], Awaitable[Mapping[str, str]]]
    reach: Reach = Reach.NETWORK
    hosts: tuple[str, ...] = ()

    async def command(self, call: str, cwd: str, reach: Reach) -> Command:
        """What starts it, talked to by its pipes.

        Raises:
            ConfigError: one of its secrets cannot be had.
        """
        return Command(
            argv=self.argv,
            cwd=cwd,
            env=await self.env(),
            reach=reach,
            call=call,
            hosts=self.hosts if reach is Reach.NETWORK else (),
            input=StdinMode.OPEN,
            errors=StderrMode.APART,
        )


class TerminalProcess(Protocol):
    """A command that a worker had started, as it goes on."""

    def shown(self) -> str:
        """Its output so far, both ends of it where it is long."""
        ...

    def ended(self) -> Exit | Exception | None:
        """How it ended, or None while it runs."""
        ...

    async def wait(self) -> None:
        """Wait for its end."""
        ...

    async def kill(self) -> None:
        """End it, with all that it has started."""
        ...


class WorkerContext(Struct, frozen=True):
    """What a worker is opened with: the log of its conversation, where it works, and the commands it had started."""

    program: WorkerProgram
    entries: Callable[[], Sequence[Entry]]
    workspace: Callable[[], Awaitable[str]]
    terminal: Callable[[CallId], TerminalProcess | None]


class Worker(ProviderSession, Protocol):
    """One other agent at work for one conversation."""

    def take(self, running: Running) -> None:
        """Its program has been started, and is its own from now on."""
        ...

    async def price(self, usage: Usage) -> Price:
        """What the last reply cost as the worker tells it, with those before it of which it had told nothing yet."""
        ...

    async def gone(self) -> None:
        """Wait until no answer of ours reaches it any more: its program has ended, or its task, while it asks."""
        ...

    async def close(self) -> None:
        """End its program with all that this has started. Idempotent."""
        ...


class OpenWorker(Protocol):
    """How a worker is opened."""

    def __call__(self, context: WorkerContext) -> Worker:
        """A worker that has not been started."""
        ...
