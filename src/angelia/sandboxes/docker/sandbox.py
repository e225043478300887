"""A container as a sandbox: the workspace bound in and read from outside, everything else by commands."""

import asyncio
import hashlib
import logging
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from angelia.core.errors import ConfigError
from angelia.sandboxes.by_commands.commands import RunningCommands
from angelia.sandboxes.by_commands.exec_stream import StreamedCommand
from angelia.sandboxes.by_commands.files import FilesByExec
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.docker.build import built, is_folder
from angelia.sandboxes.docker.container import LOOK, TMP, ContainerPlan, ensure, remove, workplace
from angelia.sandboxes.docker.engine import DockerEngine
from angelia.sandboxes.docker.exec_stream import ContainerExecStream, exec_wire
from angelia.sandboxes.docker.keepalive import hold, hold_bound, said
from angelia.sandboxes.docker.persistent import in_use, is_idle
from angelia.sandboxes.docker.settings import DockerSettings, socket_of
from angelia.sandboxes.docker.shell import run_shell
from angelia.sandboxes.local import files as local_files
from angelia.sandboxes.local.safe_open import AllowedRoots
from angelia.sandboxes.port import (
    Command,
    Description,
    ExpectedFile,
    FileStat,
    SandboxClosed,
    SandboxError,
    SandboxGone,
    SandboxMissing,
    Unreachable,
)
from angelia.sandboxes.shared.bound_folders import HOME, BoundFolders
from angelia.sandboxes.shared.idle import Idle
from angelia.sandboxes.shared.leftovers import COUNT, is_quiet
from angelia.sandboxes.shared.limits import limits, processes
from angelia.sandboxes.shared.network_limit import NetworkLimit
from angelia.sandboxes.shared.persistent import owner
from angelia.sandboxes.shared.probe import LOOK_AROUND, look_around
from angelia.sandboxes.shared.volumes import refuse_within, volumes
from angelia.sandboxes.terminal import Terminal

_ENVIRONMENT = {"HOME": HOME, "USER": "angelia", "LANG": "C.UTF-8"}

_DYING_S, _LOOKS = 2.0, 20
"""Seconds in which what was killed is gone from a container, also on a machine that is busy; and how often we look."""

logger = logging.getLogger("angelia.sandboxes")


class DockerSandbox(FilesByExec):
    """See `sandboxes.port.Sandbox`. The container is made by the first that needs it, and shared by all that do.

    Its root is read-only; the workspace (at its own path), a home and /tmp can be written. It has no capabilities, the
    person's own user id, and limits; network or none is its property, not a command's. It lives as long as somebody
    holds it and `idle_minutes` longer, so that a start after a crash finds it again; the last `close` removes it. While
    it is held and nobody uses it for as long, it ends too, unless what was written goes with it; the next use makes it
    again.

    With `workspace = "image"` it is the image as it is meant to run: its user, its folder, a root that can be written.
    """

    trusted = True

    def __init__(
        self, image: str, place: SandboxContext, *, settings: DockerSettings | None = None, socket: str = ""
    ) -> None:
        """`image` is a name, or a folder of this machine with a `Dockerfile` (`/path`). `place.state` takes the
        conversation's home in the container; `socket` is the daemon's, found if not given.

        Raises:
            NoSuchFile: the workspace is no folder of this machine.
            AccessRefused: it cannot be one.
            SandboxMissing: there is no daemon.
            ConfigError: a volume or `DOCKER_HOST` is wrong.
        """
        self._settings = settings or DockerSettings()
        self._network_limit = NetworkLimit(
            "container", self._settings.network != "none", 'network = "bridge" under [sandbox.docker]'
        )
        self._bound = BoundFolders(place, "docker")
        self._image, self._place = image, place
        self._engine = DockerEngine(socket or socket_of(self._settings))
        self._volumes = volumes(self._settings.volumes)
        if self._settings.outlives_container:
            for volume in self._volumes:
                refuse_within(volume, (str(self._bound.workspace), HOME))
        self._inside = str(self._bound.workspace)
        self._making = asyncio.Lock()
        self._container = ""
        self._keeper: ContainerExecStream | None = None
        self._stays = False
        self._commands = RunningCommands()
        self._idle = Idle(max(self._settings.idle_minutes * 60, LOOK), lambda: self._commands.busy, self._rest)
        self._described: Description | None = None
        self._closed = False

    async def start(self, command: Command) -> StreamedCommand:
        """See the port.

        Raises:
            AccessRefused: it wants the network, or out, and the container has none of that; nothing ran.
            SandboxMissing: the container cannot be made; says how to mend it.
        """
        self._network_limit.refuse(command.reach)
        with self._idle.use():
            container = await self._ready()
            try:
                return await self._commands.start(
                    command,
                    cwd=os.path.join(self._inside, command.cwd),  # noqa: PTH118 - a path inside: other links
                    env=self._environment | {"TERM": "dumb"},
                    open_wire=lambda line, errors: exec_wire(self._engine, container, ("/bin/sh", "-c", line), errors),
                )
            except SandboxGone:
                self._container = ""  # said once; the next command makes another
                raise

    async def shell(self, terminal: Terminal) -> int:
        """See `sandboxes.terminal.HasShell`."""
        with self._idle.use():
            container = await self._ready()
            return await run_shell(self._engine, container, self._inside, self._environment, terminal)

    @property
    def _environment(self) -> dict[str, str]:
        """What all commands have beside what the image gives."""
        return {} if self._settings.workspace == "image" else _ENVIRONMENT

    async def lives_on(self) -> bool:
        """See `sandboxes.shared.leftovers.HasLeftovers`."""
        if not self._container:
            return False
        try:
            return not is_quiet(await said(self._engine, self._container, COUNT))
        except SandboxError:
            return bool(self._container)

    async def roots(self) -> Sequence[str]:
        """The folders that can be written."""
        if self._settings.workspace == "image":
            await self._ready()
            return (self._inside, "/")
        return (str(self._bound.workspace), HOME, TMP, *(volume.inside for volume in self._volumes))

    def get(self, path: str, *, limit: int) -> AsyncIterator[bytes]:
        """See the port."""
        roots = self._roots(path)
        return local_files.read(roots, path, limit) if roots else super().get(path, limit=limit)

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
        if roots := self._roots(path):
            await local_files.write(roots, path, content, ExpectedFile(size, sha256, mode, modified))
        else:
            await super().put(path, content, size=size, sha256=sha256, mode=mode, modified=modified)

    async def stat(self, path: str) -> FileStat:
        """See the port."""
        roots = self._roots(path)
        return local_files.look(roots, path) if roots else await super().stat(path)

    async def describe(self) -> Description:
        """See the port. The first call makes the container."""
        if self._described is None:
            seen = await look_around(await self.start(Command(shell=LOOK_AROUND, cwd="/", seconds=30.0)))
            self._described = Description(
                name=f"docker:{self._image}",
                system=seen.system,
                workspace=self._inside,
                confined=True,
                network=self._network_limit.network,
                always_networked=self._network_limit.networked,
                notes=(
                    f"This is a container of the image {self._image}.",
                    self._written(),
                    self._limits(),
                    "What a command leaves in the background ends with it.",
                    f"Programs found: {seen.programs}.",
                ),
            )
        return self._described

    def _written(self) -> str:
        only = f"Only the workspace, the home and {TMP} can be written; the first two"
        match self._settings.workspace:
            case "bind":
                return f"{only} stay."
            case "tmpfs":
                return f"{only} last as long as the container."
            case "image":
                return "All of it can be written, as far as its user may; what is written lasts as long as it does."

    def _limits(self) -> str:
        settings = self._settings
        own_tmp = settings.tmp_mb and settings.workspace != "image"
        memory = f"{settings.tmp_mb:,} MB in {TMP}" if own_tmp else ""
        if memory and settings.workspace == "tmpfs":
            memory = f"{settings.tmp_mb:,} MB in each of {TMP}, the workspace and the home"
        parts = (processes(settings.processes), memory)
        nothing = "There is no limit but this machine's on memory, processors and processes."
        return limits(settings.memory_mb, settings.cpus, *parts, nothing=nothing)

    async def close(self) -> None:
        """End what of ours still runs, and let the container go. Idempotent."""
        self._closed = True
        self._idle.stop()
        await self._commands.end()  # while somebody is there who can tell how they ended
        async with self._making:
            with suppress(Unreachable, SandboxGone):  # a daemon that is down has no containers running
                await self._let_go()
        await self._engine.close()

    async def _ready(self) -> str:
        """The container's id; it is made, found or made anew, by one at a time."""
        async with self._making:
            if self._closed:
                raise SandboxClosed
            if not self._container:
                if self._keeper is not None:
                    await self._keeper.close()
                self._bound.make()
                if is_folder(self._image):
                    self._image = await built(self._engine, self._image, self._place.progress)
                if self._settings.workspace == "image":
                    self._inside = await workplace(self._engine, self._image, self._place.progress)
                plan = self._plan()
                self._stays = self._place.visit and await self._stays_as_found(plan.name)
                container = await ensure(self._engine, plan, self._place.progress)
                self._keeper = await self._hold(container)
                self._container = container
            return self._container

    async def _hold(self, container: str) -> ContainerExecStream:
        if not self._settings.outlives_container:
            return await hold(self._engine, container)
        try:
            return await hold_bound(self._engine, container, self._bound.home, HOME, self._place.state)
        except SandboxMissing:
            if not await in_use(self._engine, container):
                await remove(self._engine, container)
            raise

    async def _rest(self) -> None:
        """Let the container go while we do not use it; everything but /tmp lies on this machine."""
        async with self._making:
            if not self._container or not self._idle.unused or not self._settings.outlives_container:
                return
            try:
                await self._let_go()
            except SandboxError as error:
                logger.warning("%s: an idle container stays: %s", self._place.id, error)

    async def _stays_as_found(self, name: str) -> bool:
        """Whether a visitor leaves the container there: one that is idle, and one whose files would go with it."""
        if not self._settings.outlives_container:
            return not await in_use(self._engine, name)
        return await is_idle(self._engine, name)

    async def _let_go(self) -> None:
        """Hold the container no more, and remove it, unless somebody else uses it, or we only looked in.

        Raises:
            Unreachable, SandboxGone: the daemon does not say who is there.
        """
        container, self._container = self._container, ""
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            await keeper.close()
            await keeper.status()
        if container and not self._stays and not await self._stays_in_use(container):
            await remove(self._engine, container)

    async def _stays_in_use(self, container: str) -> bool:
        """Whether somebody else uses it, and goes on: what a life held that was killed ends by itself in a moment."""
        for _ in range(_LOOKS):
            if not await in_use(self._engine, container):
                return False
            await asyncio.sleep(_DYING_S / _LOOKS)
        return True

    def _plan(self) -> ContainerPlan:
        bound = self._bound
        folders, files = bound.hidden()
        where = hashlib.sha256(str(bound.home).encode()).hexdigest()[:12]
        return ContainerPlan(
            name=f"angelia-{self._place.id}-{where}",
            place=self._place.id,
            image=self._image,
            settings=self._settings,
            workspace=str(bound.workspace),
            home=str(bound.home.resolve()),
            nothing=str(bound.nothing.resolve()),
            owner=owner(self._place.state),
            uid=os.getuid(),
            gid=os.getgid(),
            volumes=self._volumes,
            guarded=tuple(bound.guarded()),
            hidden_folders=folders,
            hidden_files=files,
        )

    def _roots(self, path: str) -> AllowedRoots | None:
        """Where a path is looked for on this machine; None where only the container knows."""
        ours = not path.startswith("/") or f"{path}/".startswith((f"{self._bound.workspace}/", f"{HOME}/"))
        return self._bound.roots() if ours and self._settings.outlives_container else None

    def list(self, path: str) -> AsyncIterator[FileStat]:
        """See the port."""
        roots = self._roots(path)
        return local_files.entries(roots, path) if roots else super().list(path)


def open_sandbox(rest: str, place: SandboxContext, settings: object) -> DockerSandbox:
    """See `sandboxes.registry.OpenSandbox`; `rest` is the image.

    Raises:
        ConfigError: no image is named.
    """
    if not rest:
        raise ConfigError(
            "No image is named.", then="Write docker:IMAGE, such as docker:python:3.12, or the folder of a Dockerfile."
        )
    return DockerSandbox(rest, place, settings=settings if isinstance(settings, DockerSettings) else None)
