"""A person's shell in a container: a terminal of the container's own, joined to theirs by one connection."""

import asyncio

from angelia.core.ids import sortable_id
from angelia.sandboxes.docker.engine import Engine, Refused
from angelia.sandboxes.docker.execwire import exec_wire
from angelia.sandboxes.launcher import quoted
from angelia.sandboxes.port import SandboxGone
from angelia.sandboxes.terminal import SHELL, Terminal

_CHUNK = 64 * 1024
_TRIES = 100
_PAUSE = 0.02
"""Seconds between two questions to the daemon, which knows of a beginning and of an end a moment later."""


async def run_shell(engine: Engine, container: str, workspace: str, env: dict[str, str], terminal: Terminal) -> int:
    """Run one until it ends; its status.

    The daemon would let it run on when we die, so somebody inside waits for that and ends it.

    Raises:
        SandboxGone: there is no such container, or it ended meanwhile.
        Unreachable: the daemon does not answer.
    """
    note = f"/tmp/.shell-{sortable_id()}"  # noqa: S108 - the container's own
    rows, columns = terminal.size
    wanted = {
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": True,
        "Cmd": ["/bin/sh", "-c", f"echo $$ >{note}; cd -- {quoted(workspace)}; {SHELL}"],
        "Env": [f"{name}={value}" for name, value in (env | {"TERM": terminal.kind}).items()],
        "ConsoleSize": [rows, columns],
    }
    guard = f"read -r word; p=$(cat {note}) && rm {note} && kill -HUP $p && sleep 2 && kill -KILL $p"
    watch = await exec_wire(engine, container, ("/bin/sh", "-c", f"{{ {guard}; }} 2>/dev/null"))
    try:
        made = await engine.call("POST", f"/containers/{container}/exec", wanted, deed="open a shell")
        start = {"Detach": False, "Tty": True, "ConsoleSize": [rows, columns]}
        stream = await engine.take_over(f"/exec/{made['Id']}/start", start, deed="open a shell")
    except Refused as error:
        await watch.close()
        raise SandboxGone(f"The container is not there any more: {error.said}.") from error
    resizing: set[asyncio.Task[bool]] = set()

    async def fit() -> bool:
        rows, columns = terminal.size
        size = {"h": str(rows), "w": str(columns)}
        try:
            await engine.call("POST", f"/exec/{made['Id']}/resize", query=size, deed="fit the terminal")
        except Refused:  # it does not run yet, or has just ended
            return False
        return True

    def resize() -> None:
        task = asyncio.get_running_loop().create_task(fit())
        resizing.add(task)
        task.add_done_callback(resizing.discard)

    async def typed() -> None:
        while data := await terminal.read():
            await stream.write(data)

    for _ in range(_TRIES):  # before anything is typed, its terminal has the right size
        if await fit():
            break
        await asyncio.sleep(_PAUSE)
    terminal.on_resize(resize)
    typing = asyncio.create_task(typed())
    try:
        while data := await stream.read(_CHUNK):
            terminal.write(data)
    except Exception as error:  # the transport's own errors have no public name; each is a cut
        raise SandboxGone("The connection to the container daemon was cut; the shell ends there.") from error
    finally:
        terminal.on_resize(lambda: None)
        typing.cancel()
        await asyncio.gather(typing, *resizing, return_exceptions=True)
        await stream.aclose()
        await watch.close()
    return await _status(engine, str(made["Id"]))


async def _status(engine: Engine, shell: str) -> int:
    """Its status; a container that was removed beneath it has none to tell."""
    try:
        for _ in range(_TRIES):
            told = await engine.call("GET", f"/exec/{shell}/json", deed="tell how the shell ended")
            if not told["Running"]:
                return int(told["ExitCode"] or 0)
            await asyncio.sleep(_PAUSE)
    except Refused as error:
        raise SandboxGone("The container ended beneath the shell.") from error
    return 0
