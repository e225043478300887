"""What moving a large file takes of memory, in a process of its own that does nothing else."""

import asyncio
import hashlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.docker.sandbox import DockerSandbox
from angelia.sandboxes.docker.settings import DockerSettings
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import Command, Sandbox
from angelia.sandboxes.ssh.sandbox import SshSandbox
from angelia.testing.memory import Peak
from bench.runs import ROOT, environment, python, run

CHUNK = 1 << 20


def opened(name: str, folder: Path, socket: str, image: str) -> Sandbox:
    """A sandbox that works in `folder`, beneath which its records lie: local, bound, in memory, or ssh (as `box`)."""
    place = SandboxContext("bench", str(folder / "work"), folder / "own", folder / "own/run", confine="off")
    match name:
        case "local":
            return LocalSandbox(folder / "work", home=folder / "own", state=folder / "own/run")
        case "ssh":
            return SshSandbox("box", place)
        case _:
            in_memory = DockerSettings(workspace="tmpfs" if name == "in memory" else "bind", tmp_mb=3000)
            return DockerSandbox(image, place, settings=in_memory, socket=socket)


async def ran(sandbox: Sandbox, line: str) -> None:
    """Run a line to its end.

    Raises:
        AssertionError: it ended otherwise than with 0.
    """
    running = await sandbox.start(Command(shell=line))
    async for _ in running.output():
        pass
    ended = await running.wait()
    assert ended.status == 0, (line, ended)


async def zeros(size: int) -> AsyncIterator[bytes]:
    """So many of them, in chunks."""
    piece = bytes(CHUNK)
    for at in range(0, size, CHUNK):
        yield piece[: size - at]


def memory(folder: Path, words: tuple[str, str, str], way: str, size: int) -> int:
    """Bytes by which a process grows at most, beyond what it has after a small transfer; `words` are `opened`'s."""
    name, socket, image = words
    argv = python("-m", "bench.file_transfer", name, str(folder), socket, image, way, str(size))
    return int(run(argv, env=environment(HOME=str(folder)), cwd=ROOT).stdout)


async def _grown(sandbox: Sandbox, way: str, size: int) -> int:
    await _move(sandbox, way, CHUNK)
    peak = Peak()
    await _move(sandbox, way, size)
    grown = peak.grown()
    await sandbox.close()
    return grown


async def _move(sandbox: Sandbox, way: str, size: int) -> None:
    if way == "put":
        digest = hashlib.sha256()
        async for chunk in zeros(size):
            digest.update(chunk)
        await sandbox.put("there", zeros(size), size=size, sha256=digest.hexdigest())
        return
    await ran(sandbox, f"rm -f sparse; truncate -s {size} sparse")
    came = 0
    async for chunk in sandbox.get("sparse", limit=size):
        came += len(chunk)
    assert came == size, (came, size)


async def _measured(words: list[str]) -> int:
    name, folder, socket, image, way, size = words
    return await _grown(opened(name, Path(folder), socket, image), way, int(size))


if __name__ == "__main__":
    sys.stdout.write(str(asyncio.run(_measured(sys.argv[1:]))))
