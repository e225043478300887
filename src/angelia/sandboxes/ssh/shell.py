"""A person's shell on another machine: a terminal over there, joined to theirs by a session of the connection."""

import asyncio

import asyncssh

from angelia.cancellation import cancel_and_wait
from angelia.sandboxes.by_commands.launcher import quoted
from angelia.sandboxes.port import Unreachable
from angelia.sandboxes.ssh.connection import SshConnection
from angelia.sandboxes.terminal import Terminal

_CHUNK = 64 * 1024
_LOGIN = 'exec "${SHELL:-/bin/sh}" -l'


async def run_shell(link: SshConnection, workspace: str, terminal: Terminal) -> int:
    """Run one until it ends; its status. When the connection breaks, its terminal hangs up over there.

    Raises:
        AccessRefused, Unreachable: there is no connection, or it was cut.
    """

    async def begin(connection: asyncssh.SSHClientConnection) -> "asyncssh.SSHClientProcess[bytes]":
        rows, columns = terminal.size
        return await connection.create_process(
            f"cd -- {quoted(workspace)} && {_LOGIN}",
            term_type=terminal.kind,
            term_size=(columns, rows),
            encoding=None,
        )

    process = await link.use(begin)

    def resize() -> None:
        rows, columns = terminal.size
        process.change_terminal_size(columns, rows)

    async def typed() -> None:
        while data := await terminal.read():
            process.stdin.write(data)

    terminal.on_resize(resize)
    typing = asyncio.create_task(typed())
    try:
        while data := await process.stdout.read(_CHUNK):
            terminal.write(data)
        ended = await process.wait()
    except (OSError, asyncssh.Error) as error:
        raise Unreachable(f"The connection to {link.host} was cut; the shell ends there.") from error
    finally:
        terminal.on_resize(lambda: None)
        await cancel_and_wait(typing)
        process.close()
    if ended.returncode is None:
        raise Unreachable(f"The connection to {link.host} was cut; the shell ends there.")
    return ended.returncode if ended.returncode >= 0 else 128 - ended.returncode
