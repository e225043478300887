"""A person's shell in a container: a terminal of the container's own, joined to theirs by one connection."""

import asyncio
from collections.abc import Coroutine, Mapping

from angelia.cancellation import cancel_and_wait
from angelia.core.ids import sortable_id
from angelia.sandboxes.by_commands.launcher import quoted
from angelia.sandboxes.docker.engine import DaemonRefused, DockerEngine
from angelia.sandboxes.docker.exec_stream import exec_wire
from angelia.sandboxes.docker.hijacked_stream import Stream
from angelia.sandboxes.port import SandboxGone
from angelia.sandboxes.terminal import SHELL, Terminal

_CHUNK = 64 * 1024
_TRIES = 100
_PAUSE = 0.02
"""Seconds between two questions to the daemon, which knows of a beginning and of an end a moment later."""


async def run_shell(
    engine: DockerEngine, container: str, workspace: str, env: Mapping[str, str], terminal: Terminal
) -> int:
    """Run one until it ends; its status.

    The daemon would let it run on when we die, so somebody inside waits for that and ends it.

    Raises:
        SandboxGone: there is no such container, or it ended meanwhile.
        Unreachable: the daemon does not answer.
    """
    note = f"/tmp/.shell-{sortable_id()}"  # noqa: S108 - the container's own
    end = f"p=$(cat {note}) && rm {note} && kill -HUP $p && sleep 2 && kill -KILL $p"
    watch = await exec_wire(engine, container, ("/bin/sh", "-c", f"{{ read -r word; {end}; }} 2>/dev/null"))
    try:
        line = f"echo $$ >{note}; cd -- {quoted(workspace)}; {SHELL}"
        shell = await _Shell.open(engine, container, line, env, terminal)
        try:
            await shell.join()
        finally:
            await shell.close()
        return await shell.status()
    except DaemonRefused as error:
        raise SandboxGone(f"The container is not there any more: {error.said}.") from error
    finally:
        await watch.close()


class _Shell:
    """A command of the container with a terminal, and the connection that it has become."""

    def __init__(self, engine: DockerEngine, name: str, stream: Stream, terminal: Terminal) -> None:
        self._engine = engine
        self._name = name
        self._stream = stream
        self._terminal = terminal
        self._tasks: set[asyncio.Task[object]] = set()

    @classmethod
    async def open(
        cls, engine: DockerEngine, container: str, line: str, env: Mapping[str, str], terminal: Terminal
    ) -> "_Shell":
        """Start it, in a terminal of the right size."""
        wanted = {
            **dict.fromkeys(("AttachStdin", "AttachStdout", "AttachStderr", "Tty"), True),
            "Cmd": ["/bin/sh", "-c", line],
            "Env": [f"{name}={value}" for name, value in {**env, "TERM": terminal.kind}.items()],
        }
        made = await engine.call("POST", f"/containers/{container}/exec", wanted, deed="open a shell")
        engine.begun.add(made["Id"])
        path = f"/exec/{made['Id']}/start"
        stream = await engine.take_over(path, {"Detach": False, "Tty": True}, deed="open a shell")
        shell = cls(engine, str(made["Id"]), stream, terminal)
        for _ in range(_TRIES):  # before anything is typed
            if await shell._fit():
                break
            await asyncio.sleep(_PAUSE)
        return shell

    async def join(self) -> None:
        """Hand keys and words over until it ends.

        Raises:
            SandboxGone: the connection was cut.
        """
        self._terminal.on_resize(lambda: self._do(self._fit()))
        self._do(self._type())
        try:
            while data := await self._stream.read(_CHUNK):
                self._terminal.write(data)
        except OSError as error:
            raise SandboxGone("The connection to the container daemon was cut; the shell ends there.") from error

    async def status(self) -> int:
        """Its status, once the daemon knows it."""
        for _ in range(_TRIES):
            told = await self._engine.call("GET", f"/exec/{self._name}/json", deed="tell how the shell ended")
            if not told["Running"]:
                return int(told["ExitCode"] or 0)
            await asyncio.sleep(_PAUSE)
        raise SandboxGone("The container daemon does not tell how the shell ended.")

    async def close(self) -> None:
        """Let go."""
        self._terminal.on_resize(lambda: None)
        await cancel_and_wait(*self._tasks)
        await self._stream.aclose()

    async def _type(self) -> None:
        while data := await self._terminal.read():
            await self._stream.write(data)

    async def _fit(self) -> bool:
        rows, columns = self._terminal.size
        size = {"h": str(rows), "w": str(columns)}
        try:
            await self._engine.call("POST", f"/exec/{self._name}/resize", query=size, deed="fit the terminal")
        except DaemonRefused:  # it does not run yet, or has just ended
            return False
        return True

    def _do(self, deed: Coroutine[object, object, object]) -> None:
        task = asyncio.get_running_loop().create_task(deed)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
