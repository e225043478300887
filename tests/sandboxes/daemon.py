"""A container daemon of the tests' own, with an image made here, so that no registry is needed; and a life in it."""

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from angelia.sandboxes.docker.engine import DaemonRefused, DockerEngine

from .rootfs import make_root

IMAGE = "angelia-test:1"
_OPTIONS = (
    *("--iptables=false", "--ip6tables=false", "--bridge=none", "--ip-forward=false", "--ip-masq=false"),
    "--userland-proxy=false",
)
_PODMAN = """
[containers]
default_ulimits = []
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "{folder}/tmp"
"""
_STORAGE = """
[storage]
driver = "overlay"
graphroot = "{folder}/root"
runroot = "{folder}/run"
"""
_KERNEL_REFUSES = ("not permitted", "ermission denied", "not supported", "no such device", "must be root")


class KernelRefuses(Exception):
    """No daemon can run on this machine, whoever installs it; holds what it said."""


class Daemon(Struct, frozen=True):
    """It listens on `socket`."""

    socket: str

    def docker(self, *words: str) -> str:
        """What Docker's own command says."""
        ended = subprocess.run(["docker", "-H", f"unix://{self.socket}", *words], capture_output=True, check=False)
        assert ended.returncode == 0, ended.stderr.decode()
        return ended.stdout.decode().strip()

    def containers(self) -> list[str]:
        """The names of all there are, running or not."""
        return self.docker("ps", "-a", "--format", "{{.Names}}").split()

    async def removed(self) -> None:
        """Until every container that there is now is removed, which those that nobody needs do by themselves.

        Raises:
            TimeoutError: one stays.
        """
        engine = DockerEngine(self.socket)
        async with asyncio.timeout(60):
            for name in self.containers():
                try:
                    query = {"condition": "removed"}
                    await engine.call("POST", f"/containers/{name}/wait", query=query, deed="wait for its end")
                except DaemonRefused as error:
                    if error.status != 404:
                        raise
        await engine.close()


@contextmanager
def daemon() -> Iterator[Daemon]:
    """Docker's."""
    with _folder() as folder:
        options = (f"--data-root={folder}/root", f"--exec-root={folder}/exec", f"--pidfile={folder}/pid")
        with _serving(folder, ("dockerd", *_OPTIONS, *options, "-H", f"unix://{folder}/d.sock"), {}) as one:
            yield one


@contextmanager
def podman() -> Iterator[Daemon]:
    """Podman's, which speaks Docker's API."""
    with _folder() as folder:
        (folder / "containers.conf").write_text(_PODMAN.format(folder=folder))
        (folder / "storage.conf").write_text(_STORAGE.format(folder=folder))
        settings = {
            "CONTAINERS_CONF": f"{folder}/containers.conf",
            "CONTAINERS_STORAGE_CONF": f"{folder}/storage.conf",
        }
        words = ("podman", "system", "service", "--time=0", f"unix://{folder}/d.sock")
        with _serving(folder, words, settings) as one:
            yield one


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="dk", dir="/tmp"))  # a socket's path is 107 bytes long at most
    try:
        yield folder
    finally:
        _leave_nothing(folder)


def _leave_nothing(folder: Path) -> None:
    """Podman leaves a process for each command, for five minutes, and mounts; each names the folder."""
    for words in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if f"{folder}/".encode() in words.read_bytes():
                os.kill(int(words.parent.name), signal.SIGKILL)
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for mount in reversed([mount for mount in mounts if mount.startswith(f"{folder}/")]):
        subprocess.run(["umount", "-l", mount], check=False, capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _serving(folder: Path, words: Sequence[str], settings: Mapping[str, str]) -> Iterator[Daemon]:
    """Start it, make the image, and end it by its own process number."""
    socket = folder / "d.sock"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            words, stdout=log, stderr=log, start_new_session=True, env={**os.environ, **settings}
        )
    try:
        _until_it_answers(process, socket, folder / "log")
        one = Daemon(str(socket))
        _make_image(one, folder / "rootfs")
        yield one
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _until_it_answers(process: "subprocess.Popen[bytes]", socket: Path, log: Path) -> None:
    for _ in range(600):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
            break
        with contextlib.suppress(AssertionError):
            Daemon(str(socket)).docker("version")
            return
    said = log.read_text()
    if any(word in said for word in _KERNEL_REFUSES):
        raise KernelRefuses(said[-600:])
    raise AssertionError(f"the daemon did not start: {said[-2000:]}")


def _make_image(one: Daemon, root: Path) -> None:
    make_root(root)
    packed = subprocess.run(["tar", "-C", str(root), "-c", "."], capture_output=True, check=True).stdout
    subprocess.run(
        ["docker", "-H", f"unix://{one.socket}", "import", "-c", 'CMD ["sh"]', "-", IMAGE],
        input=packed,
        capture_output=True,
        check=True,
    )


LIFE = """
import asyncio, pathlib, sys
from angelia.sandboxes.docker.sandbox import DockerSandbox
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.port import Command

async def main(folder, socket, image, line):
    place = SandboxContext("one", str(folder / "work"), folder / "own", folder / "own/run")
    sandbox = DockerSandbox(image, place, socket=socket)
    running = await sandbox.start(Command(shell=line))
    async for chunk in running.output():
        print(chunk.decode(), end="", flush=True)

asyncio.run(main(pathlib.Path(sys.argv[1]), *sys.argv[2:]))
"""


async def live_and_be_killed(folder: Path, docker: Daemon, line: str) -> None:
    """A process of ours runs `line` in the container, and is killed once the command has said `ready`."""
    words = (sys.executable, "-c", LIFE, str(folder), docker.socket, IMAGE, line)
    life = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    assert life.stdout is not None
    assert await life.stdout.readline() == b"ready\n"
    life.send_signal(signal.SIGKILL)
    await life.wait()
