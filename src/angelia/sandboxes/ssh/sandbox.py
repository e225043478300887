"""A machine over SSH as a sandbox: commands and files over one connection."""

import asyncio
import posixpath
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncssh

from angelia.core.errors import ConfigError
from angelia.sandboxes.by_commands.commands import RunningCommands
from angelia.sandboxes.by_commands.exec_stream import StreamedCommand
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.local.safe_open import shown
from angelia.sandboxes.port import (
    AccessRefused,
    Command,
    Description,
    ExpectedFile,
    FileStat,
    NoSuchFile,
    Reach,
    SandboxClosed,
    Unreachable,
)
from angelia.sandboxes.shared.probe import LOOK_AROUND, look_around
from angelia.sandboxes.ssh import files
from angelia.sandboxes.ssh.connection import link_to
from angelia.sandboxes.ssh.errors import plain_words
from angelia.sandboxes.ssh.exec_stream import session_wire
from angelia.sandboxes.ssh.shell import run_shell
from angelia.sandboxes.ssh.unfinished_files import Drafts
from angelia.sandboxes.terminal import Terminal

_ENVIRONMENT = {"TERM": "dumb", "SHLVL": "1"}
"""Besides what a login has over there. Bash reads `~/.bashrc` at level 0 of an SSH login, once: not again each time."""


class SshSandbox:
    """See `sandboxes.port.Sandbox`. Over there only a POSIX shell is needed, and the SFTP that comes with SSH.

    Commands run as whoever logs in, unconfined. When the connection breaks they are ended over there, whoever waits
    for them is told, and the next command connects anew.
    """

    def __init__(self, host: str, place: SandboxContext) -> None:
        """`place.workspace` is a folder over there; `~` or empty: where a login begins. Nothing is asked yet."""
        self._link, self._place = link_to(host), place
        self._link.hold()
        self._workspace = ""
        self._sftp: asyncssh.SFTPClient | None = None
        self._under: asyncssh.SSHClientConnection | None = None
        self._opening = asyncio.Lock()
        self._drafts = Drafts(place.state, host)
        self._commands = RunningCommands()
        self._described: Description | None = None
        self._closed = False

    async def start(self, command: Command) -> StreamedCommand:
        """See the port.

        Raises:
            AccessRefused: it is to be confined, which cannot be done there; or we are not let in.
        """
        if command.reach is not Reach.OUTSIDE and self._place.confine != "off":
            raise AccessRefused(
                f"{self._link.host} cannot confine commands.",
                "Without confinement each command needs a person's yes.",
                'Setting confine = "off" runs everything unconfined.',
            )
        await self._session()
        return await self._commands.start(
            command,
            cwd=posixpath.join(self._workspace, command.cwd),
            env=_ENVIRONMENT,
            open_wire=lambda line, errors: session_wire(self._link, line, errors),
        )

    async def shell(self, terminal: Terminal) -> int:
        """See `sandboxes.terminal.HasShell`; it is the shell of whoever logs in there."""
        await self._session()
        return await run_shell(self._link, self._workspace, terminal)

    async def get(self, path: str, *, limit: int) -> AsyncIterator[bytes]:
        """See the port."""
        async with self._files() as sftp:
            async for chunk in files.read(sftp, self._workspace, path, limit, self._link):
                yield chunk

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
        async with self._files() as sftp:
            promise = ExpectedFile(size, sha256, mode, modified)
            await files.write(sftp, self._workspace, path, content, promise, self._drafts)

    async def stat(self, path: str) -> FileStat:
        """See the port."""
        async with self._files() as sftp:
            return await files.look(sftp, self._workspace, path)

    async def list(self, path: str) -> AsyncIterator[FileStat]:
        """See the port."""
        async with self._files() as sftp:
            async for entry in files.entries(sftp, self._workspace, path):
                yield entry

    async def describe(self) -> Description:
        """See the port. The first call connects."""
        if self._described is None:
            seen = await look_around(
                await self.start(Command(shell=LOOK_AROUND, seconds=30.0, reach=Reach.OUTSIDE)),
            )
            self._described = Description(
                name=f"ssh:{self._link.host}",
                system=seen.system,
                workspace=self._workspace,
                confined=False,
                network="on",
                always_networked=True,
                notes=(
                    f"Everything runs on the machine {self._link.host}, over SSH; commands are not confined there.",
                    "What a command leaves in the background ends with it.",
                    f"Programs found: {seen.programs}.",
                ),
            )
        return self._described

    async def close(self) -> None:
        """End what still runs; the last sandbox of a host closes the connection. Idempotent."""
        if self._closed:
            return
        self._closed = True
        await self._commands.end()
        if self._sftp is not None:
            self._drop(self._sftp)
        self._drafts.close()
        await self._link.let_go()

    @asynccontextmanager
    async def _files(self) -> AsyncIterator[asyncssh.SFTPClient]:
        """The session for one deed; one that is cut, or hangs, is not used again."""
        sftp = await self._session()
        try:
            yield sftp
        except (Unreachable, files.Stuck):
            self._drop(sftp)
            raise

    async def _session(self) -> asyncssh.SFTPClient:
        """The SFTP session; it is opened by one at a time, and again when it was lost."""
        async with self._opening:
            if self._closed:
                raise SandboxClosed
            if self._sftp is not None and self._under is not None and not self._under.is_closed():
                return self._sftp
            sftp, self._under = await self._link.use(_open_sftp)
            await self._find_workspace(sftp)
            with plain_words(self._workspace):
                await self._drafts.sweep(sftp)  # a cut has ended their puts as well
            self._sftp = sftp
            return sftp

    def _drop(self, sftp: asyncssh.SFTPClient) -> None:
        sftp.exit()
        if self._sftp is sftp:
            self._sftp = None

    async def _find_workspace(self, sftp: asyncssh.SFTPClient) -> None:
        asked = self._place.workspace if self._place.workspace not in ("", "~") else "."
        with plain_words(asked):
            if not await sftp.isdir(asked):
                raise NoSuchFile(f"{self._link.host} has no folder {shown(asked)}.", then="Make it, or name another.")
            found = str(await sftp.realpath(asked))
        if found == "/":
            raise AccessRefused("The whole machine cannot be a workspace.", then="Name a folder of your project.")
        self._workspace = found


async def _open_sftp(
    connection: asyncssh.SSHClientConnection,
) -> tuple[asyncssh.SFTPClient, asyncssh.SSHClientConnection]:
    try:
        return await connection.start_sftp_client(path_errors="surrogateescape"), connection
    except asyncssh.SFTPError as error:
        raise Unreachable(
            f"SFTP cannot be had there: {error.reason}.", then="Its SSH server needs `Subsystem sftp internal-sftp`."
        ) from error


def open_sandbox(rest: str, place: SandboxContext, settings: object) -> SshSandbox:
    """See `sandboxes.registry.OpenSandbox`; `rest` is the host, and perhaps a folder, which `place` has already.

    Raises:
        ConfigError: no host is named.
    """
    host = rest.partition(":/")[0]
    if not host:
        raise ConfigError("No host is named.", then="Write ssh:HOST or ssh:HOST:/folder.")
    return SshSandbox(host, place)
