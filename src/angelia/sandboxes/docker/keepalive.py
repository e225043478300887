"""Our part in a container: an idle process there for as long as we live, which first shows that it sees our folders."""

import asyncio
from pathlib import Path

from angelia.sandboxes.docker.engine import DockerEngine
from angelia.sandboxes.docker.exec_stream import ContainerExecStream, exec_wire
from angelia.sandboxes.local.process_ledger import unfinished
from angelia.sandboxes.port import AccessRefused, SandboxGone, SandboxMissing, Unreachable

SECONDS = 60.0
"""How long a container may take to say what it sees; the daemon has as long for a call (`engine.SECONDS`)."""
_WAIT = "read -r word"
_TELL = f'if [ -e "$0" ]; then echo seen; else echo not; fi; {_WAIT}'
"""Says whether there is a file $0."""


async def hold(engine: DockerEngine, container: str) -> ContainerExecStream:
    """An idle process: the container takes it for a sign of life."""
    return await exec_wire(engine, container, ("/bin/sh", "-c", _WAIT))


async def hold_bound(engine: DockerEngine, container: str, home: Path, inside: str, state: Path) -> ContainerExecStream:
    """The same, once it has seen `inside` a file that was made in `home`. A daemon may live in another file system, and
    then what is put into a bound folder never arrives. `state` takes the record of the file.

    Raises:
        SandboxMissing: it is not the same folder; says how to mend it.
        SandboxGone: the container has ended.
        Unreachable: nothing comes from there.
        AccessRefused: nothing can be made in `state` or `home`.
    """
    with unfinished(state, home) as name:
        _make(home / name)
        wire = await exec_wire(engine, container, ("/bin/sh", "-c", _TELL, f"{inside}/{name}"))
        try:
            if await _line(wire) != b"seen":
                raise SandboxMissing(
                    f"The container does not see this machine's folders: what is made in {home} is not there.",
                    f"The daemon at {engine.socket} runs on another or a virtual machine, or with other users.",
                    "Share that folder and the workspace with it (Docker Desktop: Settings, Resources, File sharing), "
                    'or set workspace = "tmpfs" under [sandbox.docker].',
                )
        except BaseException:
            await wire.close()
            raise
        finally:
            (home / name).unlink(missing_ok=True)
    return wire


async def said(engine: DockerEngine, container: str, line: str) -> str:
    """Run a short line of the container's shell to its end; its output.

    Raises:
        SandboxGone, Unreachable: nothing comes from there.
    """
    wire = await exec_wire(engine, container, ("/bin/sh", "-c", line))
    output = b""
    try:
        async with asyncio.timeout(SECONDS):
            while chunk := await wire.read():
                output += chunk
    except TimeoutError as error:
        raise Unreachable(f"The container says nothing for {SECONDS:.0f} seconds.", then="Try again.") from error
    finally:
        await wire.close()
    return output.decode(errors="replace")


def _make(path: Path) -> None:
    try:
        path.touch()
    except OSError as error:
        raise AccessRefused(
            f"Nothing can be made in {path.parent}: {error.strerror}.",
            "It is the home of the container's commands.",
            "Make room there, or let Angelia write it.",
        ) from error


async def _line(wire: ContainerExecStream) -> bytes:
    """The first line that it says."""
    said = b""
    try:
        async with asyncio.timeout(SECONDS):
            while b"\n" not in said:
                if not (chunk := await wire.read()):
                    raise SandboxGone("The container has ended.", then="The next command makes a new one.")
                said += chunk
    except TimeoutError as error:
        raise Unreachable(f"The container says nothing for {SECONDS:.0f} seconds.", then="Try again.") from error
    return said.partition(b"\n")[0]
