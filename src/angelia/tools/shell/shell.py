"""The tool `shell`: run a command line in the sandbox, to its end or in the background."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Protocol

from msgspec import UNSET, Meta, Struct, UnsetType

from angelia.core.content import Text
from angelia.core.errors import BadInput
from angelia.policy.egress import named_hosts
from angelia.policy.verdict import Effect, RunCommand
from angelia.sandboxes.port import Command, Reach, reach_here
from angelia.tools.files.paths import led
from angelia.tools.port import ProgressAccess, SandboxAccess, ToolOutcome, Traits
from angelia.tools.shell.background import BackgroundCommands, BackgroundContext, Process, outcome_of

SECONDS = 120
"""How long a command may run when the call does not say."""

ENVIRONMENT = {"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "TERM": "dumb", "NO_COLOR": "1"}
"""Nothing may wait for a key, and colours would be taken out again."""

MOST_RUNNING = 20
"""Background processes of one conversation at a time."""


class ShellArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What to run, where, and how far it reaches."""

    command: Annotated[str, Meta(min_length=1)]
    seconds: (
        Annotated[int, Meta(ge=1, le=3600, description="Time-out: 120, or none in the background.")] | UnsetType
    ) = UNSET
    background: Annotated[bool, Meta(description="Return at once; `process` polls, waits and kills.")] = False
    reach: Annotated[
        Literal["confined", "network", "outside"],
        Meta(description="confined: the workspace, no network. The others may need the user's yes."),
    ] = "confined"
    hosts: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=253)], ...],
        Meta(
            max_length=20,
            description="With reach network: the only hosts it may reach, such as pypi.org. None is all, a larger yes.",
        ),
    ] = ()
    cwd: Annotated[str, Meta(description="Folder to run in; the workspace if not given.")] = ""


class ShellWithSecrets(ShellArguments, frozen=True, forbid_unknown_fields=True):
    """What to run, where, how far it reaches, and with which secrets."""

    secrets: Annotated[
        tuple[str, ...],
        Meta(max_length=20, description="Secrets of the person's that it finds in its environment, by handle. Asks."),
    ] = ()


class ShellContext(BackgroundContext, SandboxAccess, ProgressAccess, Protocol):
    """What `shell` uses of its call."""


class Shell:
    """Runs what the policy allowed; the result says plainly how the command ended."""

    name = "shell"
    description = (
        "Run a shell command. Returns stdout and stderr together and the exit status; of long output both ends "
        "are shown and the whole is kept. Stdin is empty: use flags that need no answer."
    )
    arguments: type[Struct] = ShellArguments
    traits = Traits()

    def __init__(self, background: BackgroundCommands) -> None:
        self._background = background

    async def effects(self, arguments: ShellArguments, context: SandboxAccess) -> Sequence[Effect]:
        """One command, in its folder with links followed."""
        if "\x00" in arguments.command:
            raise BadInput("A command cannot hold a NUL character.")
        if arguments.hosts and arguments.reach != "network":
            raise BadInput("`hosts` holds for the reach `network` alone.", then="Say reach=network, or name no hosts.")
        cwd = await led(context, arguments.cwd or ".")
        return (RunCommand(arguments.command, cwd, arguments.reach, named_hosts(arguments.hosts)),)

    async def environment(self, arguments: ShellArguments) -> Mapping[str, str]:
        """What a command finds in its environment beside what the sandbox gives.

        Raises:
            AngeliaError: something of it cannot be had now; says why.
        """
        return ENVIRONMENT

    async def run(self, arguments: ShellArguments, context: ShellContext) -> ToolOutcome:
        """Run it to its end or its time-out, or start it and name it.

        Raises:
            SandboxMissing, SandboxGone, Unreachable, AccessRefused: it could not be started.
            BadInput: too many background processes run already.
        """
        alive = [process for process in self._background.known.values() if process.ended() is None]
        if arguments.background and len(alive) >= MOST_RUNNING:
            raise BadInput(f"{len(alive)} background processes run already.", then="End one with `process` first.")
        seconds = arguments.seconds
        limit = (0 if arguments.background else SECONDS) if isinstance(seconds, UnsetType) else seconds
        command = Command(
            shell=arguments.command,
            cwd=await led(context, arguments.cwd or "."),
            env=await self.environment(arguments),
            seconds=float(limit),
            reach=await reach_here(context.sandbox, Reach(arguments.reach)),
            call=context.call,
            hosts=named_hosts(arguments.hosts),
        )
        running = await context.sandbox.start(command)
        show = None if arguments.background else context.progress
        process = Process(running, command, context.blobs.scratch, show)
        if arguments.background:
            self._background.keep(process, context)
            said = f"Started in the background; you will be told when it has ended; its id is {context.call}"
            return ToolOutcome((Text(said),), goes_on=process.work)
        try:
            await process.wait()
            return await outcome_of(process, context)
        finally:
            if process.ended() is None:  # the call was cancelled: nothing of it goes on running
                await process.kill()
            process.whole.close()
