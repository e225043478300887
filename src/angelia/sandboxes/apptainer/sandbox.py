"""An Apptainer instance as a sandbox: everything that can be written lies on this machine, and is read there."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path

from angelia.core.errors import ConfigError
from angelia.sandboxes.apptainer import program as programs
from angelia.sandboxes.apptainer.exec_stream import ProcessExecStream, process_wire
from angelia.sandboxes.apptainer.instance import LOOK, end_unless_used, ensure, inside, is_idle, stem_of
from angelia.sandboxes.apptainer.layout import Layout, is_elsewhere
from angelia.sandboxes.apptainer.settings import ApptainerSettings
from angelia.sandboxes.apptainer.shell import run_shell
from angelia.sandboxes.by_commands.commands import RunningCommands
from angelia.sandboxes.by_commands.exec_stream import StreamedCommand
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.local import files as local_files
from angelia.sandboxes.local.safe_open import shown
from angelia.sandboxes.port import (
    Command,
    Description,
    ExpectedFile,
    FileStat,
    SandboxClosed,
    SandboxError,
    SandboxGone,
    SandboxMissing,
    StderrMode,
)
from angelia.sandboxes.shared.bound_folders import HOME, BoundFolders
from angelia.sandboxes.shared.idle import Idle
from angelia.sandboxes.shared.leftovers import COUNT, is_quiet
from angelia.sandboxes.shared.network_limit import NetworkLimit
from angelia.sandboxes.shared.persistent import owner
from angelia.sandboxes.shared.probe import LOOK_AROUND, look_around
from angelia.sandboxes.shared.tree_removal import remove_tree
from angelia.sandboxes.shared.volumes import volumes
from angelia.sandboxes.terminal import Terminal

_ENVIRONMENT = {"HOME": HOME, "USER": "angelia", "LANG": "C.UTF-8"}

logger = logging.getLogger("angelia.sandboxes")


class ApptainerSandbox:
    """See `sandboxes.port.Sandbox`. The instance is started by the first that needs it, and shared by all that do.

    It sees of this machine only what is bound in: the workspace at its own path, a home and a /tmp of the
    conversation's own, and volumes; files move directly there. It has the person's own user id, no privileges and no
    way to get any; network or none is its property, not a command's. It lives as long as somebody holds it and
    `idle_minutes` longer, so that a start after a crash finds it again; the last `close` ends it. While it is held and
    nobody uses it for as long, it ends too; the next use starts it again.
    """

    def __init__(self, image: str, place: SandboxContext, *, settings: ApptainerSettings | None = None) -> None:
        """`image` is a .sif file, a sandbox folder (both relative to the workspace), or a `docker://`, … reference.

        Raises:
            NoSuchFile: the workspace is no folder of this machine.
            AccessRefused: it cannot be one.
            SandboxMissing: there is no Apptainer, or no such file.
            ConfigError: a volume is wrong.
        """
        self._settings = settings or ApptainerSettings()
        self._network_limit = NetworkLimit(
            "instance", self._settings.network != "none", 'network = "host" under [sandbox.apptainer]'
        )
        self._bound = BoundFolders(place, "apptainer")
        self._place, self._image = place, image
        self._program = programs.find(self._settings.program)
        self._source = _source(image, self._bound.workspace)
        self._layout = Layout(self._bound, self._settings, volumes(self._settings.volumes))
        self._starting = asyncio.Lock()
        self._instance = ""
        self._keeper: ProcessExecStream | None = None
        self._stays = False
        self._commands = RunningCommands()
        self._idle = Idle(max(self._settings.idle_minutes * 60, LOOK), lambda: self._commands.busy, self._rest)
        self._described: Description | None = None
        self._closed = False

    async def start(self, command: Command) -> StreamedCommand:
        """See the port.

        Raises:
            AccessRefused: it wants the network, or out, and the instance has none of that; nothing ran.
            SandboxMissing: the instance cannot be started; says how to mend it.
        """
        self._network_limit.refuse(command.reach)
        with self._idle.use():
            instance = await self._ready()
            try:
                return await self._commands.start(
                    command,
                    cwd=os.path.join(self._bound.workspace, command.cwd),  # noqa: PTH118 - a path inside: other links
                    env=_ENVIRONMENT | {"TERM": "dumb"},
                    open_wire=lambda line, errors: self._wire(instance, line, errors),
                )
            except SandboxGone:
                self._instance = ""  # said once; the next command starts another
                raise

    async def shell(self, terminal: Terminal) -> int:
        """See `sandboxes.terminal.HasShell`."""
        with self._idle.use():
            instance = await self._ready()
            return await run_shell(self._program, instance, str(self._bound.workspace), _ENVIRONMENT, terminal)

    async def lives_on(self) -> bool:
        """See `sandboxes.shared.leftovers.HasLeftovers`."""
        if not (instance := self._instance):
            return False
        try:
            return not is_quiet(await self._program.said(*inside(instance, "/bin/sh", "-c", COUNT)))
        except OSError:
            return bool(self._instance)

    def get(self, path: str, *, limit: int) -> AsyncIterator[bytes]:
        """See the port."""
        return local_files.read(self._layout.readable(), path, limit)

    async def put(
        self,
        path: str,
        content: AsyncIterator[bytes],
        *,
        size: int,
        sha256: str,
        mode: int = 0o644,
        modified: float | None = None,
    ) -> None:
        """See the port."""
        await local_files.write(self._layout.writable(), path, content, ExpectedFile(size, sha256, mode, modified))

    async def stat(self, path: str) -> FileStat:
        """See the port."""
        return local_files.look(self._layout.readable(), path)

    async def describe(self) -> Description:
        """See the port. The first call starts the instance."""
        if self._described is None:
            seen = await look_around(await self.start(Command(shell=LOOK_AROUND, cwd="/", seconds=30.0)))
            self._described = Description(
                name=f"apptainer:{self._image}",
                system=seen.system,
                workspace=str(self._bound.workspace),
                confined=True,
                network=self._network_limit.network,
                always_networked=self._network_limit.networked,
                notes=(
                    f"This is an Apptainer instance of the image {self._image}.",
                    "Workspace and home can be written and stay; /tmp goes with the instance.",
                    self._layout.elsewhere,
                    self._layout.limits,
                    "What a command leaves in the background ends with it.",
                    f"Programs found: {seen.programs}.",
                ),
            )
        return self._described

    async def close(self) -> None:
        """End what of ours still runs, and let the instance go. Idempotent."""
        self._closed = True
        self._idle.stop()
        await self._commands.end()
        async with self._starting:
            await self._let_go()

    async def _ready(self) -> str:
        """The instance's name; it is started, found or started anew, by one at a time."""
        async with self._starting:
            if self._closed:
                raise SandboxClosed
            if not self._instance:
                if self._keeper is not None:
                    await self._keeper.close()
                self._bound.make()
                plan = self._layout.plan(self._source, stem_of(self._place.id, owner(self._place.state)))
                self._stays = self._place.visit and await is_idle(self._program, plan.name)
                instance = await ensure(self._program, plan, self._place.progress)
                # an idle process, for as long as we live: the instance takes it for a sign of life
                self._keeper = await self._wire(instance, "read -r word")
                self._instance = instance
            return self._instance

    async def _rest(self) -> None:
        """Let the instance go while we do not use it; everything but /tmp stays on this machine."""
        async with self._starting:
            if not self._instance or not self._idle.unused:
                return
            try:
                await self._let_go()
            except SandboxError as error:
                logger.warning("%s: an idle instance stays: %s", self._place.id, error)

    async def _let_go(self) -> None:
        """Hold the instance no more, and end it, unless somebody else uses it, or we only looked in.

        Raises:
            SandboxMissing: the program does not tell who is there.
        """
        instance, self._instance = self._instance, ""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            await keeper.close()
        if instance and not self._stays and await end_unless_used(self._program, instance):
            await asyncio.to_thread(remove_tree, self._layout.scratch)

    async def _wire(self, instance: str, line: str, errors: StderrMode = StderrMode.MERGED) -> ProcessExecStream:
        argv = self._program.line(*inside(instance, "/bin/sh", "-c", line))
        return await process_wire(argv, self._program.env, errors)

    def list(self, path: str) -> AsyncIterator[FileStat]:
        """See the port."""
        return local_files.entries(self._layout.readable(), path)


def _source(image: str, workspace: Path) -> str:
    if is_elsewhere(image):
        return image
    path = workspace / Path(image).expanduser()
    if path.exists():
        return str(path)
    raise SandboxMissing(
        f"There is no image {shown(str(path))}.",
        "Without docker:// or the like an image is a .sif file, or a folder that `apptainer build --sandbox` made.",
        f"Write apptainer:docker://{image.lstrip('/')} for an image of a registry, or name a file that is there.",
    )


def open_sandbox(rest: str, place: SandboxContext, settings: object) -> ApptainerSandbox:
    """See `sandboxes.registry.OpenSandbox`; `rest` is the image.

    Raises:
        ConfigError: no image is named.
    """
    if not rest:
        raise ConfigError(
            "No image is named.",
            then="Write apptainer:IMAGE, such as apptainer:docker://python:3.12 or apptainer:a.sif.",
        )
    return ApptainerSandbox(rest, place, settings=settings if isinstance(settings, ApptainerSettings) else None)
