"""The connection to a host: one, kept alive, for everybody who works there; another only when that one is full."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar
from weakref import WeakValueDictionary

import asyncssh

from angelia.sandboxes.port import AccessRefused, SandboxError, Unreachable

T = TypeVar("T")

CONNECT_SECONDS = 20.0
KEEP_ALIVE_SECONDS = 15.0
"""Between two signs of life; after four without an answer the connection counts as lost."""
QUICK = "^aes256-gcm@openssh.com,aes128-gcm@openssh.com"
"""Ciphers that are tried first: processors have instructions for AES, and asyncssh moves twice as much by it."""


class Host(str):
    """`[user@]name[:port]`; name may be one of `~/.ssh/config`."""

    __slots__ = ()

    def parts(self) -> tuple[str, str, int]:
        """User (empty for the configured one), name and port (0 for the configured one)."""
        user, _, place = self.rpartition("@")
        name, colon, port = place.rpartition(":")
        return (user, name, int(port)) if colon and port.isdigit() else (user, place, 0)


class SshConnection:
    """All connections to one host. Host keys, `~/.ssh/config`, agent, key files and jump hosts are as for `ssh`.

    A connection that is lost is made again by the next who needs it; whoever was using it is told.
    """

    def __init__(self, host: Host) -> None:
        self.host = host
        self._open: list[asyncssh.SSHClientConnection] = []
        self._opening = asyncio.Lock()
        self._holders = 0

    async def use(self, deed: Callable[[asyncssh.SSHClientConnection], Awaitable[T]]) -> T:
        """Do something with a connection that takes one more session (sshd_config(5), `MaxSessions`).

        Raises:
            AccessRefused: the host's key is not the known one, or it does not let us in.
            Unreachable: it does not answer.
        """
        full: list[asyncssh.SSHClientConnection] = []
        while True:
            connection, fresh = await self._connection(full)
            try:
                return await deed(connection)
            except asyncssh.ChannelOpenError as error:
                if fresh:
                    raise Unreachable(f"{self.host} opens no session: {error.reason}.") from error
                full.append(connection)  # or lost meanwhile
            except asyncssh.DisconnectError as error:
                raise Unreachable(
                    f"The connection to {self.host} was cut: {error.reason}.", then="Try again."
                ) from error

    def hold(self) -> None:
        """One more works here."""
        self._holders += 1

    async def let_go(self) -> None:
        """One less; the last one closes the connections."""
        self._holders -= 1
        if not self._holders:
            async with self._opening:
                connections, self._open = self._open, []
            for connection in connections:
                connection.close()
            await asyncio.gather(*(connection.wait_closed() for connection in connections))

    async def _connection(self, full: list[asyncssh.SSHClientConnection]) -> tuple[asyncssh.SSHClientConnection, bool]:
        """One that is not full, and whether it is new."""
        async with self._opening:
            self._open = [connection for connection in self._open if not connection.is_closed()]
            for connection in self._open:
                if connection not in full:
                    return connection, False
            self._open.append(await _connected(self.host))
            return self._open[-1], True


_LINKS: WeakValueDictionary[tuple[int, str], SshConnection] = WeakValueDictionary()
"""Those of this process, by event loop and host."""


def link_to(host: str) -> SshConnection:
    """The link that everybody in this process shares."""
    key = (id(asyncio.get_running_loop()), host)
    link = _LINKS.get(key)
    if link is None:
        link = _LINKS[key] = SshConnection(Host(host))
    return link


async def _connected(host: Host) -> asyncssh.SSHClientConnection:
    user, name, port = host.parts()
    try:
        asked = asyncssh.SSHClientConnectionOptions.construct
        wanted = await asked(config=(), host=name, port=port or (), username=user or ())
        return await asyncssh.connect(
            name,
            port or (),
            username=user or (),
            encryption_algs=() if wanted.config.get("Ciphers") else QUICK,
            connect_timeout=CONNECT_SECONDS,
            login_timeout=CONNECT_SECONDS,
            keepalive_interval=KEEP_ALIVE_SECONDS,
            keepalive_count_max=4,
        )
    except asyncssh.HostKeyNotVerifiable as error:
        raise AccessRefused(
            f"The host key of {host} is not trusted: {error.reason}.",
            "Either nobody has ever confirmed it, or it is not the machine that it was.",
            f"Run `ssh {host}` by hand, and confirm the key if it is the right one.",
        ) from error
    except asyncssh.PermissionDenied as error:
        raise AccessRefused(
            f"{host} does not let us in: {error.reason}.",
            "Only keys are used, from files, from an agent, or named in ~/.ssh/config; no password is asked for.",
            f"See that `ssh -o BatchMode=yes {host} true` works; `ssh-add` unlocks a key.",
        ) from error
    except (OSError, asyncssh.DisconnectError) as error:  # a time-out is an OSError too
        raise Unreachable(
            f"{host} does not answer: {str(error) or f'nothing within {CONNECT_SECONDS:g} s'}.",
            then=f"See that `ssh {host}` works; the host's name, port and jump hosts come from ~/.ssh/config.",
        ) from error
    except (asyncssh.Error, asyncssh.ConfigParseError, asyncssh.KeyImportError) as error:
        raise SandboxError(f"The connection to {host} cannot be made: {error}.") from error
