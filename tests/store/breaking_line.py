"""A way to a PostgreSQL server that breaks where a test wants it to."""

import select
import socket
import threading
from collections.abc import Callable
from pathlib import Path


class BreakingLine(threading.Thread):
    """A way to the server's socket that ends at the first `COMMIT`: before it is passed on, or before its answer is.

    Where it `goes_on` it waits `meanwhile` alone, at the word that is given.
    """

    def __init__(
        self,
        folder: Path,
        to: Path,
        *,
        answered: bool = False,
        meanwhile: Callable[[], object] = lambda: None,
        at: bytes = b"COMMIT",
        goes_on: bool = False,
    ) -> None:
        super().__init__(daemon=True)
        self.folder = folder
        """Where it listens."""
        self._to, self._answered, self._meanwhile = to, answered, meanwhile
        self._at, self._goes_on = at, goes_on
        self.armed = False
        self.turns_away = self.came = 0
        """How many are to be turned away that come next, and how many came."""
        self.ended = threading.Event()
        """Somebody ended theirs."""
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / ".s.PGSQL.5432"))
        self._listening.listen()

    def run(self) -> None:
        with self._listening:
            while True:
                try:
                    client, _ = self._listening.accept()
                except OSError:
                    return
                self.came += 1
                if self.turns_away:
                    self.turns_away -= 1
                    client.close()
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._to / ".s.PGSQL.5432"))
                threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    def close(self) -> None:
        """No further ways."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self.join()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        with client, server:
            while True:
                ready, _, _ = select.select([client, server], [], [])
                data = ready[0].recv(65536)
                if not data:
                    self.ended.set()
                    return
                if ready[0] is server:
                    client.sendall(data)
                elif self.armed and self._at in data:
                    self.armed = False
                    if self._answered:
                        server.sendall(data)
                        while server not in select.select([client, server], [], [])[0]:
                            server.sendall(client.recv(65536))
                    self._meanwhile()
                    if not self._goes_on:
                        return  # nobody hears of it
                    server.sendall(data)
                else:
                    server.sendall(data)
