"""A real S3 server (moto) in a process of its own, and a line to it that fails on command."""

import re
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path

BUCKET = "bucket"
_CHUNK = 65_536


@contextmanager
def s3_server() -> Iterator[int]:
    """Its port; the bucket `BUCKET` is there."""
    argv = [sys.executable, "-P", str(Path(__file__).with_name("moto_process.py"))]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline())
        ask(port, "PUT", f"/{BUCKET}")
        yield port
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def ask(port: int, method: str, path: str, data: bytes = b"") -> bytes:
    """One request, as anybody; moto looks at no signature."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=data or None, method=method)
    request.add_header("Content-Length", str(len(data)))
    with urllib.request.urlopen(request) as reply:
        return bytes(reply.read())


def credentials(port: int) -> Mapping[str, str]:
    """The environment by which the server is reached."""
    return {
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "a-secret-that-nobody-may-see",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
    }


class Fault(StrEnum):
    """How the line fails."""

    NONE = "none"
    BUSY = "busy"
    """Every request is answered with 503."""
    FORBIDDEN = "forbidden"
    CUT = "cut"
    """Each reply is cut off after its first bytes, as many as `after` says."""
    SILENT = "silent"
    """Requests are taken, and nothing ever comes."""
    ALTERED = "altered"
    """The last byte of each reply is another."""
    CUT_PUT = "cut put"
    """Nothing more is taken of a request after so many bytes."""


class Line:
    """What forwards to a server; `times` is how many connections fail, all if it is negative."""

    def __init__(self, to: int) -> None:
        self._to = to
        self.fault, self.times, self.after = Fault.NONE, -1, 1000
        self._place = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._place.getsockname()[1]
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def fail(self, fault: Fault, times: int = -1, after: int = 1000) -> None:
        """From now on; what is connected is cut off."""
        self.fault, self.times, self.after = fault, times, after
        self.hang_up()

    def hang_up(self) -> None:
        """Cut off every connection."""
        for one in tuple(self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Refuse all, for good."""
        with suppress(OSError):
            self._place.shutdown(socket.SHUT_RDWR)
        self._place.close()
        self.hang_up()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._place.accept()
            except OSError:
                return
            threading.Thread(target=self._meet, args=(connection,), daemon=True).start()

    def _meet(self, connection: socket.socket) -> None:
        with connection, socket.create_connection(("127.0.0.1", self._to)) as far, suppress(OSError):
            self._open |= {connection, far}
            try:
                self._forward(connection, far)
            finally:
                self._open -= {connection, far}

    def _forward(self, connection: socket.socket, far: socket.socket) -> None:
        """One request and its reply; the connection is used for no other."""
        head = b""
        while b"\r\n\r\n" not in head:
            if not (some := connection.recv(_CHUNK)):
                return
            head += some
        fault = self.fault if self.times else Fault.NONE
        self.times -= self.times > 0
        match fault:
            case Fault.SILENT:
                while connection.recv(_CHUNK):
                    pass
                return
            case Fault.BUSY | Fault.FORBIDDEN:
                status, code = (
                    ("503 Slow Down", "SlowDown") if fault is Fault.BUSY else ("403 Forbidden", "AccessDenied")
                )
                body = f"<Error><Code>{code}</Code><Message>not now</Message></Error>".encode()
                lines = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
                connection.sendall(lines.encode() + body)
                return
            case _:
                pass
        head = re.sub(rb"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", head, count=1)
        far.sendall(head)
        threading.Thread(target=self._request, args=(connection, far, fault, len(head)), daemon=True).start()
        self._reply(connection, far, fault)

    def _request(self, connection: socket.socket, far: socket.socket, fault: Fault, sent: int) -> None:
        with suppress(OSError):
            while some := connection.recv(_CHUNK):
                if fault is Fault.CUT_PUT and sent > self.after:
                    connection.shutdown(socket.SHUT_RDWR)
                    far.shutdown(socket.SHUT_RDWR)
                    return
                far.sendall(some)
                sent += len(some)

    def _reply(self, connection: socket.socket, far: socket.socket, fault: Fault) -> None:
        reply = b""
        while some := far.recv(_CHUNK):
            reply += some
        if fault is Fault.CUT:
            reply = reply[: reply.find(b"\r\n\r\n") + 4 + self.after]
        if fault is Fault.ALTERED and not reply.endswith(b"\r\n\r\n"):
            reply = reply[:-1] + bytes([reply[-1] ^ 1])
        connection.sendall(reply)
