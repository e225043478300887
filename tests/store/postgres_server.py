"""A real PostgreSQL in a folder of its own, reached by a socket there or over a network; each test gets a schema."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from tests.ports import free_port

ASKED = "asked"
"""The one user who is asked for a password; nobody knows it."""
_SCHEMAS = count(1)


def programs() -> Path | None:
    """The folder of the newest server that is installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    found = folders[-1] if folders else shutil.which("postgres")
    return Path(found).resolve().parent if found else None


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """One that runs. It lets in whoever reaches its socket, or `host`, an address at which it listens, if one is named.
    Without `durable` it writes to no disk at a commit.
    """

    folder: Path
    durable: bool = False
    host: str = ""
    port: int = 5432

    @property
    def address(self) -> str:
        """Of its database."""
        return f"postgresql://angelia@/postgres?host={self.host or self.folder}&port={self.port}"

    def fresh(self) -> str:
        """The address of an empty schema of its database."""
        import psycopg

        name = f"s{os.getpid()}_{next(_SCHEMAS)}"
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        return f"{self.address}&options=-csearch_path%3D{name}"

    def copy(self, address: str) -> str:
        """The address of another schema with all that one of `fresh` holds."""
        there = self.fresh()
        old, new = (one.rpartition("%3D")[2] for one in (address, there))
        dumped = subprocess.run(_client("pg_dump", "-n", old, self.address), check=True, capture_output=True).stdout
        made = dumped.replace(old.encode(), new.encode()).replace(f"CREATE SCHEMA {new};".encode(), b"")
        subprocess.run(_client("psql", "-q", "-v", "ON_ERROR_STOP=1", self.address), check=True, input=made)
        return there

    def start(self) -> None:
        """Start it, as after a crash."""
        fsync = "on" if self.durable else "off"
        options = f"-k {self.folder} -p {self.port} -c listen_addresses='{self.host}' -c fsync={fsync}"
        options += " -c shared_buffers=16MB"
        options += " -c log_min_messages=fatal"
        _run(
            self.folder, "pg_ctl", "-w", "-D", f"{self.folder}/data", "-l", f"{self.folder}/log", "-o", options, "start"
        )

    def kill(self) -> None:
        """End it without a word to anybody."""
        self._control("-m", "immediate", "stop")

    def _control(self, *arguments: str) -> None:
        _run(self.folder, "pg_ctl", "-w", "-D", f"{self.folder}/data", *arguments)


def _client(program: str, *words: str) -> list[str]:
    folder = programs()
    assert folder
    return [str(folder / program), *words]


@contextmanager
def postgres_server(*, durable: bool = False, host: str = "") -> Iterator[PostgresServer]:
    """Start one, and stop it at the end; `host` as `PostgresServer` has it."""
    folder = Path(tempfile.mkdtemp(prefix="angelia-pg-", dir="/tmp"))  # the path of a socket has at most 107 bytes
    server = PostgresServer(folder, durable, host, free_port(host) if host else 5432)
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, *_somebody())
        _run(folder, "initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "angelia", "--locale=C", "-E", "UTF8")
        admitted = folder / "data" / "pg_hba.conf"
        rows = [f"local all {ASKED} scram-sha-256", admitted.read_text(), *(["host all all all trust"] if host else ())]
        admitted.write_text("\n".join([*rows, ""]))
        server.start()
        yield server
        server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _somebody() -> tuple[int, int]:
    """As whom the server runs, which refuses root."""
    try:
        found = pwd.getpwnam("postgres")
    except KeyError:
        return 65534, 65534
    return found.pw_uid, found.pw_gid


def _run(folder: Path, program: str, *arguments: str) -> None:
    where = programs()
    assert where is not None
    argv = [str(where / program), *arguments]
    how: dict[str, Any] = {}
    if os.geteuid() == 0:
        how = dict(zip(("user", "group"), _somebody(), strict=True), extra_groups=[])
    with (folder / "said").open("ab") as said:
        subprocess.run(argv, check=True, cwd=folder, stdout=said, stderr=said, **how)
