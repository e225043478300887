"""Stands between a command and its model server, and notes when each request came and what it was."""

import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

_CHUNK = 1 << 16


class Tap:
    """A relay for the length of a `with`.

    `arrived` is when the first byte of each request came, as `time.perf_counter` tells it; `bodies` are the requests'
    bodies and `connections` how many connections carried them.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._server = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.arrived: list[float] = []
        self.bodies: list[bytes] = []
        self.connections = 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed at the end
            while True:
                client, _ = self._listening.accept()
                self.connections += 1
                server = socket.create_connection(self._server)
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
                threading.Thread(target=_relay, args=(server, client), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        held = b""
        with suppress(OSError):  # either side may go first
            while chunk := client.recv(_CHUNK):
                if not held:
                    self.arrived.append(time.perf_counter())
                server.sendall(chunk)
                held = self._whole(held + chunk)
        _end(server)

    def _whole(self, held: bytes) -> bytes:
        """Note the request if it is whole; what is left of it if not."""
        head, blank, body = held.partition(b"\r\n\r\n")
        lines = [line.partition(b":") for line in head.lower().split(b"\r\n")]
        length = next((int(value) for name, _, value in lines if name == b"content-length"), 0)
        if not blank or len(body) < length:
            return held
        self.bodies.append(body)
        return b""


def _relay(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    _end(target)


def _end(side: socket.socket) -> None:
    with suppress(OSError):
        side.shutdown(socket.SHUT_WR)
