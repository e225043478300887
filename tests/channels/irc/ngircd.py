"""A real IRC server, ngIRCd, with TLS and a password, and people on it by connections of their own."""

import asyncio
import socket
import ssl
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

PASSWORD = "let-me-in"
SECONDS = 60.0
"""Safety net of every wait."""

_SETTINGS = """[Global]
Name = irc.example.net
Info = for tests
Listen = 127.0.0.1
MotdPhrase = hello
Password = {password}
[Options]
DNS = no
Ident = no
PAM = no
[Limits]
MaxConnectionsIP = 0
MaxNickLength = 20
MaxPenaltyTime = 0
[SSL]
CertFile = {folder}/cert.pem
KeyFile = {folder}/key.pem
Ports = {port}
"""


class Server:
    """The server's process; its certificate is at `cert`."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.cert = folder, folder / "cert.pem"
        self._process: subprocess.Popen[bytes] | None = None

    def certify(self) -> None:
        """Make a certificate for this address."""
        words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=irc"
        files = ["-keyout", str(self._folder / "key.pem"), "-out", str(self.cert)]
        command = ["openssl", *words.split(), "-addext", "subjectAltName=IP:127.0.0.1", *files]
        subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)

    def up(self, port: int = 0) -> None:
        """Start it, and wait until it says that it is ready; another port is tried if somebody took this one."""
        for _ in range(5):
            self.port = port or _free_port()
            settings = self._folder / "ngircd.conf"
            settings.write_text(_SETTINGS.format(password=PASSWORD, folder=self._folder, port=self.port))
            log = self._folder / "log"
            with log.open("wb") as told:
                self._process = subprocess.Popen(["ngircd", "-n", "-f", str(settings)], stdout=told, stderr=told)
            if self._answers():
                return
            self.down()
        raise AssertionError(f"ngIRCd did not start: {log.read_text()}")

    def _answers(self) -> bool:
        """Whether it listens before it ends."""
        process = self._process
        assert process
        until = time.monotonic() + SECONDS
        while process.poll() is None and time.monotonic() < until:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS):
                with suppress(subprocess.TimeoutExpired):  # somebody else may answer there, and then it ends at once
                    process.wait(0.5)
                return process.poll() is None
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.02)
        return False

    def down(self) -> None:
        """Kill it."""
        assert self._process
        self._process.kill()
        self._process.wait(SECONDS)

    @asynccontextmanager
    async def person(self, nick: str, *join: str) -> AsyncIterator["Person"]:
        """Somebody who is in."""
        context = ssl.create_default_context(cafile=self.cert)
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=context)
        person = Person(reader, writer)
        try:
            person.say(f"PASS :{PASSWORD}", f"NICK {nick}", f"USER {nick} 0 * :{nick}")
            await person.until(" 376 ")
            for channel in join:
                person.say(f"JOIN {channel}")
                await person.until(" 366 ")
            yield person
        finally:
            writer.transport.abort()


class Person:
    """Somebody's raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def say(self, *lines: str) -> None:
        """Say lines."""
        self._writer.write("".join(f"{line}\r\n" for line in lines).encode())

    async def until(self, part: str) -> str:
        """The next line with this in it."""
        async with asyncio.timeout(SECONDS):
            while line := (await self._reader.readline()).decode():
                if part in line:
                    return line.removesuffix("\r\n")
        raise AssertionError(f"the connection ended before {part!r} came")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
