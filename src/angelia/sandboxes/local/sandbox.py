"""The machine itself as a sandbox: commands confined to a workspace, files beneath it."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from angelia.core.errors import ConfigError
from angelia.path_queries import is_folder
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.egress.addresses import Addresses, no_addresses
from angelia.sandboxes.local import confinement as confining
from angelia.sandboxes.local import files as local_files
from angelia.sandboxes.local.confinement import (
    READ_ONLY,
    SANDBOX_EXEC,
    Confined,
    ConfinedView,
    Share,
    Unconfined,
    bubblewrap_program,
)
from angelia.sandboxes.local.description import describe
from angelia.sandboxes.local.kept_changes import KeptChanges
from angelia.sandboxes.local.process_ledger import Life
from angelia.sandboxes.local.resource_limits import USUAL, LocalSettings, in_words
from angelia.sandboxes.local.safe_open import AllowedRoot, AllowedRoots, shown
from angelia.sandboxes.local.secret_places import secret_places
from angelia.sandboxes.local.startup_guard import only_read
from angelia.sandboxes.local.toolchains import enterable, inner_path, tool_roots
from angelia.sandboxes.own_code import own_code
from angelia.sandboxes.port import (
    AccessRefused,
    Command,
    Description,
    Exit,
    ExpectedFile,
    FileStat,
    NoSuchFile,
    Reach,
    Running,
    SandboxClosed,
    SandboxError,
    SandboxMissing,
)
from angelia.sandboxes.terminal import Terminal
from angelia.sandboxes.undo import seccomp
from angelia.sandboxes.undo.store import UndoStore

if TYPE_CHECKING:
    from angelia.sandboxes.egress.namespace import HeldCommand
    from angelia.sandboxes.egress.proxy import EgressProxy
    from angelia.sandboxes.local.bubblewrap import Fixed
    from angelia.sandboxes.local.command import LocalRunning, Start
    from angelia.sandboxes.undo.supervision import Supervision, Watch

_READ_ONLY_NAME = "read-only"
_TMP = "/tmp"  # noqa: S108 - the confined command's own, a folder of this sandbox


class LocalSandbox:
    """See `sandboxes.port.Sandbox`. Make it and use it on the event loop's thread: a confined command dies with it.

    A confined command sees the system's folders read-only, its `workspace` read-write at its own path (Git's hooks and
    settings in it read-only), the toolchains on the person's PATH read-only, an empty home, a /tmp of its own, and no
    network. Home and /tmp last as long as this object, all its commands share them, and `get` and `put` know /tmp.
    Credentials, `home` and `hidden` places are covered wherever they would show through.

    With reach NETWORK it has a network of its own, in which there is its own loopback and our proxy
    (`egress.namespace`, `egress.proxy`): HTTP and HTTPS, to addresses that were judged.

    A command that reaches OUTSIDE is an ordinary process of the person, with an environment of our making.
    """

    def __init__(
        self,
        workspace: Path,
        *,
        home: Path,
        state: Path,
        confine: Literal["auto", "off"] = "auto",
        hidden: Sequence[Path] = (),
        shares: Sequence[Share] = (),
    ) -> None:
        """`home` is Angelia's own; `state` takes the records of what runs (see `process_ledger.reap_leftovers`).

        Raises:
            NoSuchFile: `workspace` is no folder.
            AccessRefused: `workspace` is the whole machine, or Angelia's own home.
        """
        self._workspace = workspace.resolve()
        if not is_folder(self._workspace):
            raise NoSuchFile(
                f"The workspace {shown(str(workspace))} is not a folder.", then="Make it, or name another."
            )
        if self._workspace in (Path("/"), home.resolve()):
            raise AccessRefused(
                f"{shown(str(workspace))} cannot be a workspace.", then="Name a folder of your project."
            )
        self._person = Path.home().resolve()
        self._asked_to_hide = tuple(path.absolute() for path in (home, *hidden))
        self._shares = tuple(Share(share.path.resolve(), share.writable) for share in shares)
        self._state, self._off = state, confine == "off"
        self._addresses: Addresses = no_addresses
        self.limits = USUAL
        """What a confined command may use up; set before the first."""
        self._kept: KeptChanges | None = None
        self._ends: set[asyncio.Task[Exit]] = set()
        self._life: Life | None = None
        self._running: list[LocalRunning] = []
        self._started = 0
        self._closed = False

    def judged_by(self, addresses: Addresses) -> "LocalSandbox":
        """Let confined commands that have the network connect to what `addresses` allows; until then it is nothing."""
        self._addresses = addresses
        return self

    def kept_in(self, undo: UndoStore, conversation: str) -> "LocalSandbox":
        """Keep what confined commands change in the workspace, where this machine offers it; until then nothing is."""
        if undo.settings.enabled and seccomp.can_be_asked():
            self._kept = KeptChanges(undo, conversation)
        return self

    def confinement(self) -> Confined | Unconfined:
        """Whether commands are confined, or why not and how to mend it. The first call tries it, in a few ms."""
        if self._off:
            return Unconfined('confine = "off" is set', 'set confine = "auto"')
        return confining.confinement()

    async def start(self, command: Command) -> Running:
        """See the port. A command that names no program there is gets status 127, as in a shell.

        Raises:
            AccessRefused: it is to be confined, or to get a network of its own, and this machine cannot do that;
                nothing ran.
            NoSuchFile: its working folder does not exist.
            SandboxGone: the sandbox was closed.
        """
        confined = self._to_be_confined(command.reach)
        life = self._alive()
        watch = await self._kept.watch(command, self._supervision) if confined and self._kept else None
        if not watch:
            return await self._start_inner(command, life, None, confined=confined)
        try:
            inner = await self._start_inner(command, life, watch, confined=True)
        except BaseException:
            await asyncio.shield(asyncio.to_thread(watch.end))
            raise
        from angelia.sandboxes.local.watched_command import WatchedCommand

        running = WatchedCommand(inner, watch)
        self._ends.add(running.end)
        running.end.add_done_callback(self._ends.discard)
        return running

    async def _start_inner(self, command: Command, life: Life, watch: "Watch | None", *, confined: bool) -> Running:
        if confined and command.reach is Reach.NETWORK:
            if sys.platform == "darwin":
                return await self._on_loopback(command, life)
            return await self._in_namespace(command, life, watch)
        start = self._confined(command, life, watch=watch) if confined else self._plain(command, life)
        return self._begun(start, command, life)

    def _begun(self, start: "Start", command: Command, life: Life) -> "LocalRunning":
        from angelia.sandboxes.local.command import LocalRunning

        start = replace(start, input=command.input, errors=command.errors)
        self._started += 1
        with life.recording() as note:
            running = LocalRunning(f"p{self._started}", start, seconds=command.seconds, begun=note)
        self._running = [*(other for other in self._running if not other.ended), running]
        return running

    async def _in_namespace(self, command: Command, life: Life, watch: "Watch | None") -> Running:
        """A network of its own, with our proxy in it; the command itself begins when that listens."""
        try:
            return await self._held_back(command, life, watch)
        except OSError as error:
            raise SandboxError(f"This command cannot get a network of its own: {error.strerror or error}.") from error

    @cached_property
    def _proxy(self) -> "EgressProxy":
        """Made with the first command that has the network; most conversations have none."""
        from angelia.sandboxes.egress.proxy import EgressProxy

        return EgressProxy(lambda origin, host, port: self._addresses(origin, host, port))  # whoever judges then

    async def _held_back(self, command: Command, life: Life, watch: "Watch | None") -> Running:
        from angelia.sandboxes.egress.namespace import PORT, HeldCommand
        from angelia.sandboxes.egress.proxied_command import ProxiedCommand

        with HeldCommand() as held:
            start = self._confined(command, life, PORT, held, watch)
            running = self._begun(start, command, life)
            network = None
            try:
                network = await self._proxy.serve(await held.listen(start.mark), command.hosts)
            finally:
                if network is None:
                    await running.kill()  # while it is still held back: nothing of it ran
            return ProxiedCommand(running, network)

    async def _on_loopback(self, command: Command, life: Life) -> Running:
        """One port of this machine's own loopback, and nothing else: macOS has no such namespaces."""
        from angelia.sandboxes.egress.proxied_command import ProxiedCommand

        listening = socket.create_server(("127.0.0.1", 0))
        network = await self._proxy.serve(listening, command.hosts)
        try:
            start = self._confined(command, life, listening.getsockname()[1])
            return ProxiedCommand(self._begun(start, command, life), network)
        except SandboxError:
            await network.close()
            raise

    async def shell(self, terminal: Terminal) -> int:
        """See `sandboxes.terminal.HasShell`."""
        words = ("/bin/bash",) if os.access("/bin/bash", os.X_OK) else ("/bin/sh",)
        command = Command(argv=words, env={"TERM": terminal.kind})
        confined = self._to_be_confined(command.reach)
        from angelia.sandboxes.local.local_pty import in_terminal  # most commands run in none

        life = self._alive()
        start = self._confined(command, life) if confined else self._plain(command, life)
        with life.recording() as note:
            return await in_terminal(start, terminal, note)

    def get(self, path: str, *, limit: int) -> AsyncIterator[bytes]:
        """See the port."""
        return local_files.read(self._roots(path), path, limit)

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
        """See the port. Git's hooks and settings are refused, as they are to commands."""
        await local_files.write(self._roots(path), path, content, ExpectedFile(size, sha256, mode, modified))

    async def stat(self, path: str) -> FileStat:
        """See the port."""
        return local_files.look(self._roots(path), path)

    def list(self, path: str) -> AsyncIterator[FileStat]:
        """See the port."""
        return local_files.entries(self._roots(path), path)

    async def describe(self) -> Description:
        """See the port."""
        kept = self._kept is not None and self._kept.offered and isinstance(self.confinement(), Confined)
        return replace(self._description, keeps_changes=kept)

    async def close(self) -> None:
        """End what still runs, and remove the private home and /tmp. Idempotent."""
        self._closed = True
        await asyncio.gather(*(running.kill() for running in self._running))
        await asyncio.gather(*self._ends, return_exceptions=True)
        if "_supervision" in self.__dict__:
            await asyncio.to_thread(self._supervision.close)
        if "_proxy" in self.__dict__:
            await self._proxy.close()
        life, self._life = self._life, None
        if life is not None:
            await asyncio.to_thread(life.close)

    def _to_be_confined(self, reach: Reach) -> bool:
        if self._off or reach is Reach.OUTSIDE:
            return False
        state = self.confinement()
        if isinstance(state, Unconfined):
            raise AccessRefused(
                f"This machine cannot confine commands: {state.why}.",
                "Without confinement each command needs a person's yes.",
                f'To mend it, {state.mend}. Setting confine = "off" runs everything unconfined.',
            )
        return True

    def _alive(self) -> Life:
        if self._closed:
            raise SandboxClosed
        if self._life is None:
            self._life = Life(self._state)
        return self._life

    def _roots(self, path: str) -> AllowedRoots:
        roots = [AllowedRoot(str(self._workspace), self._workspace)]
        if isinstance(self.confinement(), Confined) and (self._life or path.startswith(_TMP)):
            private = self._alive().private("tmp")
            roots.append(AllowedRoot(_TMP if sys.platform == "linux" else str(private), private))
        if self._description.read_only and path.startswith(f"{READ_ONLY}/"):
            roots.append(AllowedRoot(READ_ONLY, self._alive().private(_READ_ONLY_NAME)))
        return AllowedRoots(tuple(roots), self._state, self._hidden, self._startup)

    def _plain(self, command: Command, life: Life) -> "Start":
        from angelia.sandboxes.local.command import Start

        return Start(
            argv=_words(command),
            env=self._environment(_path(), self._person) | dict(command.env),
            mark=life.next_mark(),
            cwd=self._workspace / command.cwd,
            confined=False,
            stdin=command.stdin,
        )

    def _confined(
        self,
        command: Command,
        life: Life,
        proxy: int = 0,
        held: "HeldCommand | None" = None,
        watch: "Watch | None" = None,
    ) -> "Start":
        """`proxy` is the port of the loopback where it finds one, 0 for no network; `held` is what holds it back."""
        from angelia.sandboxes.local.command import OPTIONS, Start, at_once

        view = self._view
        network = _proxy_variables(proxy) if proxy else {}
        if sys.platform == "darwin":
            from angelia.sandboxes.local.seatbelt import profile

            own = {"TMPDIR": str(view.private_tmp)}
            return Start(
                argv=[SANDBOX_EXEC, "-p", profile(view, proxy=proxy), *_words(command)],
                env={**self._environment(self._inner_path, view.private_home), **own, **network, **command.env},
                mark=life.next_mark(),
                cwd=self._workspace / command.cwd,
                confined=False,  # it replaces itself by the command: an ordinary tree, to be ended as one
                stdin=command.stdin,
            )
        from angelia.sandboxes.local.bubblewrap import options
        from angelia.sandboxes.local.setuid_filter import setuid_filter

        program = bubblewrap_program()
        if not program:
            raise SandboxMissing("bubblewrap was here and is gone.", then="Install it again, or start Angelia anew.")
        home = self._person if self._person != Path("/") else Path(_TMP)
        mark = life.next_mark()
        return Start(
            argv=[program, "--args", OPTIONS, *(held.options if held else ()), "--", *_words(command)],
            options=options(
                self._watched if watch else self._fixed,
                cwd=self._inner_folder(command.cwd, view),
                env={**self._environment(self._inner_path, home), **network, **command.env},
            ),
            seccomp=setuid_filter(),
            descriptors=held.descriptors if held else (),
            env={},
            mark=mark,
            cwd=Path("/"),
            confined=True,
            stdin=command.stdin,
            limits=self.limits,
            writes_to=(self._workspace, view.private_tmp),
            launch=watch.launch if watch else at_once,
        )

    def _inner_folder(self, cwd: str, view: ConfinedView) -> str:
        """The working folder as bubblewrap is told it, looked at beforehand where we can, for a better message."""
        folder = self._workspace / cwd
        for inside, outside in ((self._workspace, self._workspace), (Path(_TMP), view.private_tmp)):
            if folder.is_relative_to(inside):
                if not is_folder(outside / folder.relative_to(inside)):
                    raise NoSuchFile(f"There is no folder {shown(str(folder))} to work in.")
                break
        return str(folder)

    def _environment(self, path: str, home: Path) -> dict[str, str]:
        """All a command inherits: nothing of ours but where programs are and which language to speak."""
        language = os.environ.get("LANG", "")
        return {
            "PATH": path,
            "HOME": str(home),
            "USER": os.environ.get("USER", "") or self._person.name,
            "LANG": language if language.upper().endswith(("UTF-8", "UTF8")) else "C.UTF-8",
            "TERM": "dumb",
        }

    @cached_property
    def _description(self) -> Description:
        state = self.confinement()
        path = self._inner_path if isinstance(state, Confined) else _path()
        described = describe(self._workspace, state, path, in_words(self.limits) if sys.platform == "linux" else "")
        shown = isinstance(state, Confined) and sys.platform == "linux"
        apart = not Path(
            READ_ONLY
        ).exists()  # a folder of this machine's would be covered, the workspace itself perhaps
        ours = ", ".join(str(path.relative_to(self._workspace)) for path in own_code(self._workspace))
        why = f"Angelia runs from {ours}, which is read-only here: install packages elsewhere."
        told = (f"{why} To have it changed, a person installs Angelia in an environment of its own.",) if ours else ()
        return replace(described, read_only=READ_ONLY if shown and apart else "", notes=(*described.notes, *told))

    @cached_property
    def _view(self) -> ConfinedView:
        life = self._alive()
        return ConfinedView(
            workspace=self._workspace,
            home=self._person,
            private_home=life.private("home"),
            private_tmp=life.private("tmp"),
            read_only=life.folder / _READ_ONLY_NAME if self._description.read_only else None,
            tools=self._tools,
            shares=self._shares,
            hidden=self._hidden,
            fixed=self._startup,
        )

    @cached_property
    def _hidden(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys((*self._asked_to_hide, *secret_places(self._person))))

    @cached_property
    def _startup(self) -> tuple[Path, ...]:
        return only_read(self._person, self._workspace)

    @cached_property
    def _tools(self) -> tuple[Path, ...]:
        return tool_roots(_path(), self._person, self._workspace)

    @cached_property
    def _inner_path(self) -> str:
        return inner_path(_path(), self._tools, self._shares, self._workspace)

    @cached_property
    def _fixed(self) -> "Fixed":
        from angelia.sandboxes.local.bubblewrap import look_up

        return look_up(self._view)

    @cached_property
    def _watched(self) -> "Fixed":
        from angelia.sandboxes.local.bubblewrap import look_up

        return look_up(replace(self._view, watched=True))

    @cached_property
    def _supervision(self) -> "Supervision":
        """What makes the changes of commands; never those of places that they only see, or do not see."""
        from angelia.sandboxes.undo.supervision import Supervision

        read = [share.path for share in self._shares if not share.writable]
        places = (*self._startup, *self._tools, *read, *self._hidden)
        real = [Path(os.path.realpath(place)) for place in places]
        inside = {place for place in (*places, *real) if place != self._workspace}
        fixed = sorted(
            str(place.relative_to(self._workspace)) for place in inside if place.is_relative_to(self._workspace)
        )
        return Supervision(self._workspace, bubblewrap_program(), tuple(fixed))


def open_sandbox(rest: str, place: SandboxContext, settings: object) -> LocalSandbox:
    """See `sandboxes.registry.OpenSandbox`; nothing is to be said about this machine, but what may be used up on it.

    Raises:
        ConfigError: something was said.
    """
    if rest:
        raise ConfigError(f"The sandbox local:{rest} does not exist.", then="Write local.")
    sandbox = LocalSandbox(Path(place.workspace), home=place.home, state=place.state, confine=place.confine)
    sandbox.limits = settings if isinstance(settings, LocalSettings) else USUAL
    if place.undo is not None:
        sandbox.kept_in(place.undo, place.id)
    return sandbox.judged_by(place.addresses)


def _proxy_variables(port: int) -> Mapping[str, str]:
    from angelia.sandboxes.egress.namespace import proxy_variables

    return proxy_variables(port)


def _words(command: Command) -> tuple[str, ...]:
    """What to execute; `argv` goes through a shell, which says as shells do when there is no such program."""
    if bool(command.argv) == bool(command.shell):
        raise ValueError("a command has either argv or shell")
    if command.argv:
        return ("/bin/sh", "-c", 'exec "$@"', "sh", *command.argv)
    return ("/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh", "-c", command.shell)


def _path() -> str:
    return enterable(os.environ.get("PATH") or os.defpath)
