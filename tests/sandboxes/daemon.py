"""A container daemon of the tests' own, with an image made here, so that no registry is needed."""

import contextlib
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from .rootfs import make_root

IMAGE = "angelia-test:1"
_OPTIONS = (
    *("--iptables=false", "--ip6tables=false", "--bridge=none", "--ip-forward=false", "--ip-masq=false"),
    "--userland-proxy=false",
)


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


@contextmanager
def daemon() -> Iterator[Daemon]:
    """Start it, make the image, and end it by its own process number."""
    folder = Path(tempfile.mkdtemp(prefix="dk", dir="/tmp"))  # a socket's path is 107 bytes long at most
    socket = folder / "d.sock"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                "dockerd",
                *_OPTIONS,
                f"--data-root={folder}/root",
                f"--exec-root={folder}/exec",
                f"--pidfile={folder}/pid",
                "-H",
                f"unix://{socket}",
            ],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        _until_it_answers(process, socket, folder / "log")
        one = Daemon(str(socket))
        _make_image(one, folder / "rootfs")
        yield one
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


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
    raise AssertionError(f"dockerd did not start: {said[-2000:]}")


def _make_image(one: Daemon, root: Path) -> None:
    make_root(root)
    packed = subprocess.run(["tar", "-C", str(root), "-c", "."], capture_output=True, check=True).stdout
    subprocess.run(
        ["docker", "-H", f"unix://{one.socket}", "import", "-c", 'CMD ["sh"]', "-", IMAGE],
        input=packed,
        capture_output=True,
        check=True,
    )
