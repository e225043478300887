"""An OpenSSH server of the tests' own on loopback, and a person who may log in."""

import contextlib
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from msgspec import Struct

from angelia.sandboxes.local.processes import ProcessFacts, end, everybody

_CONFIG = """
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/person.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 100
SetEnv HOME={folder}/home
Subsystem sftp internal-sftp
"""


class Server(Struct, frozen=True):
    """It listens on `port`; `folder` holds its keys and the person's; `pid` is its process."""

    port: int
    folder: Path
    pid: int

    def introduce(self, home: Path, more: str = "") -> None:
        """Write a `~/.ssh` beneath `home` in which this server is called `box`, and known."""
        ssh = home / ".ssh"
        ssh.mkdir(mode=0o700, parents=True, exist_ok=True)
        (ssh / "config").write_text(
            f"{more}\nHost box\n  HostName 127.0.0.1\n  Port {self.port}\n  IdentityFile {self.folder}/person\n"
        )
        key = (self.folder / "host.pub").read_text()
        (ssh / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {key}")

    async def kill_sessions(self) -> None:
        """Kill the processes that serve connections, and wait until they are dead."""

        def serving() -> set[int]:
            table = everybody()
            return {pid for pid, known in table.items() if known.parent == self.pid and known.alive}

        await end(serving, grace=0)

    @asynccontextmanager
    async def to_the_end(self) -> AsyncIterator[None]:
        """What serves connections when this begins is dead when it is over, by itself or not: who has opened a FIFO
        that nobody writes to never hears of the connection's end.
        """
        table = everybody()
        serving = {self.pid}
        while more := {pid for pid, known in table.items() if known.parent in serving} - serving:
            serving |= more
        yield
        await _kill({pid: table[pid] for pid in serving - {self.pid}})


async def _kill(those: Mapping[int, ProcessFacts]) -> None:
    def alive() -> set[int]:
        now = everybody()
        same = {pid for pid, known in those.items() if pid in now and now[pid].started == known.started}
        return {pid for pid in same if now[pid].alive}

    await end(alive, grace=0)


@contextmanager
def server(*world: str) -> Iterator[Server]:
    """Start it, and end it by its own process number; `world` is a command that it is started by, if any. Its folder is
    not where TMPDIR leads: neither its settings nor those of clients are written for a path with blanks.
    """
    with tempfile.TemporaryDirectory(prefix="sshd", dir="/tmp") as name:
        folder = Path(name)
        for key in ("host", "person"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)], check=True)
        (folder / "home").mkdir()
        (folder / "home/.bashrc").write_text("echo What a login script says must not matter.\n")
        with contextlib.suppress(PermissionError):  # only root's sshd wants it
            Path("/run/sshd").mkdir(exist_ok=True)
        port = _free_port()
        (folder / "config").write_text(_CONFIG.format(port=port, folder=folder))
        options = ("-D", "-f", str(folder / "config"), "-E", str(folder / "log"))
        process = subprocess.Popen([*world, "/usr/sbin/sshd", *options])
        try:
            _until_it_answers(process, port, folder / "log")
            yield Server(port, folder, process.pid)
        finally:
            process.terminate()
            process.wait(30)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _until_it_answers(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    for _ in range(200):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
            break
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
    raise AssertionError(f"sshd did not start: {log.read_text()}")
