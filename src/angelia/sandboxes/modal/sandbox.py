"""A sandbox at Modal: commands and files by its exec, saved as a snapshot when it is let go, and restored from it."""

import asyncio
import hashlib
import logging
import posixpath
import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from msgspec.structs import replace

from angelia.cancellation import cancel_and_wait
from angelia.core.errors import ConfigError, MissingPart
from angelia.sandboxes.by_commands.commands import RunningCommands
from angelia.sandboxes.by_commands.exec_stream import StreamedCommand
from angelia.sandboxes.by_commands.files import FilesByExec
from angelia.sandboxes.by_commands.launcher import quoted
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.modal.exec_stream import ModalExecStream, modal_wire
from angelia.sandboxes.modal.heartbeat import give_signs, watch
from angelia.sandboxes.modal.holder_lock import Hold
from angelia.sandboxes.modal.saved import Note, Saved
from angelia.sandboxes.modal.service import LIFETIME, Service
from angelia.sandboxes.modal.settings import ModalSettings
from angelia.sandboxes.port import (
    AccessRefused,
    Command,
    Description,
    SandboxClosed,
    SandboxError,
    SandboxGone,
    SandboxMissing,
)
from angelia.sandboxes.shared.idle import Idle
from angelia.sandboxes.shared.limits import limits
from angelia.sandboxes.shared.network_limit import NetworkLimit
from angelia.sandboxes.shared.persistent import owner
from angelia.sandboxes.shared.probe import LOOK_AROUND, look_around

if TYPE_CHECKING:
    from modal import Sandbox

HOME = "/root"
TMP = "/tmp"  # noqa: S108 - the sandbox's own
_ENVIRONMENT = {"HOME": HOME, "USER": "root", "LANG": "C.UTF-8", "TERM": "dumb"}
_BEFORE_ITS_END = 3600
"""Seconds before the end of its longest life in which a sandbox is saved and restored when nothing runs in it."""

logger = logging.getLogger("angelia.sandboxes")


def name_of(place: SandboxContext) -> str:
    """How a conversation's sandbox is called at Modal; those of another home have other names."""
    return f"angelia-{place.id}-{hashlib.sha256(owner(place.state).encode()).hexdigest()[:8]}"


class ModalSandbox(FilesByExec):
    """See `sandboxes.port.Sandbox`. Nothing of this machine is seen there; everything inside may be written.

    The sandbox is made by the first that needs it. When it is closed, or nobody has used it for `idle_minutes`, its
    files are saved as a snapshot and it is ended; the next use restores them. What ends otherwise (our own death and
    nobody who comes back in time, a fault at Modal) goes back to the last snapshot, and that is said.
    """

    def __init__(self, image: str, place: SandboxContext, *, settings: ModalSettings | None = None) -> None:
        """`place.workspace` is a folder inside; `place.state` takes what has to be known to have it again.

        Raises:
            AccessRefused: the workspace cannot be one.
        """
        if posixpath.normpath(place.workspace) == "/":
            raise AccessRefused("The whole sandbox cannot be a workspace.", then="Name a folder of it.")
        self._settings = settings or ModalSettings()
        self._network_limit = NetworkLimit(
            "sandbox", self._settings.network != "none", 'network = "on" under [sandbox.modal]'
        )
        self._service = Service(self._settings)
        self._image = image
        self._place = place
        self._workspace = posixpath.normpath(place.workspace)
        self._folder = place.state / "modal" / place.id
        self._note, self._hold = Note(self._folder), Hold(self._folder)
        self._making = asyncio.Lock()
        self._sandbox: Sandbox | None = None
        self._since = 0.0
        self._living: tuple[ModalExecStream, asyncio.Task[None]] | None = None
        self._commands = RunningCommands()
        self._idle = Idle(max(self._settings.idle_minutes * 60, 60), lambda: self._commands.busy, self._rest)
        self._went_back, self._untold = "", False
        self._described: Description | None = None
        self._closed = False

    async def start(self, command: Command) -> StreamedCommand:
        """See the port.

        Raises:
            AccessRefused: it wants the network, or out, and there is none of that; or Modal does not let us in.
            SandboxMissing: the sandbox cannot be made, or not be restored; says how to mend it.
        """
        self._network_limit.refuse(command.reach)
        with self._idle.use():
            sandbox = await self._ready()
            if self._untold:
                self._untold = False
                raise SandboxGone(self._went_back, then="See what is there before you go on.")
            try:
                return await self._commands.start(
                    command,
                    cwd=posixpath.join(self._workspace, command.cwd),
                    env=_ENVIRONMENT,
                    open_wire=lambda line, errors: modal_wire(sandbox, ("/bin/sh", "-c", line), errors),
                )
            except SandboxGone:
                async with self._making:
                    await self._leave(sandbox)  # said once; the next command finds it, or starts another
                raise

    async def roots(self) -> Sequence[str]:
        """The folders that files move in and out of."""
        return (self._workspace, HOME, TMP)

    async def describe(self) -> Description:
        """See the port. The first call makes the sandbox."""
        if self._described is None:
            await self._ready()
            self._untold = False  # for it is told here
            seen = await look_around(await self.start(Command(shell=LOOK_AROUND, cwd="/", seconds=60.0)))
            self._described = Description(
                name=f"modal:{self._image}",
                system=seen.system,
                workspace=self._workspace,
                confined=True,
                network=self._network_limit.network,
                always_networked=self._network_limit.networked,
                notes=(
                    f"This is a sandbox at Modal of the image {self._image}; nothing of the person's machine is there.",
                    "Files stay from one use to the next, by a snapshot; nothing that runs does.",
                    limits(
                        self._settings.memory_mb,
                        self._settings.cpus,
                        nothing="Modal chooses how much memory and how many processor cores there are.",
                    ),
                    *([self._went_back] if self._went_back else ()),
                    "What a command leaves in the background ends with it.",
                    f"Programs found: {seen.programs}.",
                ),
            )
        return self._described

    async def close(self) -> None:
        """End what of ours still runs; save and end the sandbox, unless somebody else holds it. Idempotent."""
        self._closed = True
        self._idle.stop()
        await self._commands.end()
        async with self._making:
            await self._put_away()
            if (others := self._sandbox) is not None:  # who hold it still
                await self._leave(others)
                await self._service.detach(others)
            self._hold.release()

    async def _ready(self) -> "Sandbox":
        """The sandbox; it is made, found or restored by one at a time."""
        async with self._making:
            if self._closed:
                raise SandboxClosed
            if self._sandbox is not None and time.time() > self._since + LIFETIME - _BEFORE_ITS_END:
                await self._put_away(unless_busy=True)
            if self._sandbox is None:
                await self._hold.take()
                self._sandbox = await self._had()
                wire = await modal_wire(self._sandbox, watch(self._commands.life))
                self._living = (wire, asyncio.create_task(give_signs(wire)))
            return self._sandbox

    async def _had(self) -> "Sandbox":
        """The one that runs, or another with its files as they were saved."""
        name, saved = name_of(self._place), self._note.read() or Saved(self._settings.app, self._image)
        sandbox, started = await self._service.find(name), saved.started or time.time()
        if sandbox is None:
            started = time.time()
            self._place.progress(f"a sandbox of {self._image} is being started at Modal")
            try:
                sandbox = await self._service.create(name, self._image, saved.snapshot)
            except SandboxGone as error:  # it runs, though it was not found a moment ago; or the snapshot is no more
                sandbox = await self._service.find(name)
                if sandbox is None:
                    raise self._not_restored(error, saved) from error
            else:
                if saved.running:  # only one that had to be made anew was lost
                    self._tell_of_loss(saved)
        self._since = started
        self._note.write(replace(saved, app=self._settings.app, image=self._image, running=True, started=started))
        made = await modal_wire(sandbox, ("/bin/sh", "-c", f"mkdir -p {quoted(self._workspace)} {HOME}"))
        while await made.read():
            pass
        await made.status()
        return sandbox

    def _tell_of_loss(self, saved: Saved) -> None:
        """It was not saved before it ended: the model and the person are told."""
        when = f"as they were at {time.strftime('%Y-%m-%d %H:%M', time.gmtime(saved.taken))} UTC"
        self._went_back = (
            "The sandbox of this conversation ended without being saved. "
            f"Its files are {when if saved.snapshot else 'those of the image'}; what was changed since is lost."
        )
        self._described, self._untold = None, True
        self._place.progress(self._went_back)

    def _not_restored(self, error: SandboxGone, saved: Saved) -> SandboxError:
        if not saved.snapshot:
            return error
        return SandboxMissing(
            f"The files of this conversation's sandbox cannot be restored: {error.why or error.what}",
            f"Modal keeps a snapshot for as long as snapshot_days said when it was taken ({saved.snapshot}).",
            f"Begin a new conversation; or remove {self._folder} to go on with a fresh image.",
        )

    async def _put_away(self, *, unless_busy: bool = False) -> None:
        """Save and end it. One that cannot be saved runs on for `idle_minutes`, and that is said."""
        sandbox = self._sandbox
        if sandbox is None or (unless_busy and self._commands.busy) or not await self._hold.alone():
            return
        await self._leave(sandbox)
        try:
            before = self._note.read()
            taken = await self._service.save(sandbox)
            self._note.write(Saved(self._settings.app, self._image, taken, time.time()))
            await self._service.end(sandbox)
            if before and before.snapshot:
                await self._service.forget(before.snapshot)
        except SandboxError as error:
            told = f"the sandbox at Modal could not be put away: {error}"
            logger.warning("%s: %s", self._place.id, told)
            self._place.progress(told)
        finally:
            await self._service.detach(sandbox)
            await self._hold.share()

    async def _leave(self, sandbox: "Sandbox") -> None:
        """Use it no more."""
        if self._sandbox is not sandbox:
            return
        self._sandbox = None
        living, self._living = self._living, None
        if living is not None:
            wire, signs = living
            await cancel_and_wait(signs)
            await wire.close()

    async def _rest(self) -> None:
        """Save and end it while nobody uses it."""
        async with self._making:
            if self._idle.unused:
                await self._put_away()


def open_sandbox(rest: str, place: SandboxContext, settings: object) -> ModalSandbox:
    """See `sandboxes.registry.OpenSandbox`; `rest` is the image, and perhaps a folder, which `place` has already.

    Raises:
        ConfigError: no image is named.
        MissingPart: Modal's SDK is not installed.
    """
    image = rest.partition(":/")[0]
    if not image:
        raise ConfigError("No image is named.", then="Write modal:IMAGE, such as modal:python:3.12-slim.")
    if find_spec("modal") is None:
        raise MissingPart(f"The sandbox modal:{rest}", "modal")
    return ModalSandbox(image, place, settings=settings if isinstance(settings, ModalSettings) else None)
