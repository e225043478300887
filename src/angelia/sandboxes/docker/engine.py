"""The Engine API over its Unix socket (docs.docker.com/reference/api/engine): calls, and streams taken over."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from angelia.core.text import clean, one_line
from angelia.sandboxes.docker.hijacked_stream import HijackedConnection, Stream
from angelia.sandboxes.port import AccessRefused, SandboxError, SandboxMissing, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = 60.0
"""How long a call may take."""


class DaemonRefused(SandboxError):
    """The daemon said no; `status` is HTTP's, and `said` its own words."""

    def __init__(self, deed: str, status: int, said: str) -> None:
        self.status, self.said = status, said
        super().__init__(f"The container daemon could not {deed}: {said} (HTTP {status}).")


class DockerEngine:
    """One daemon. Paths carry no version: the daemon's own newest is meant."""

    def __init__(self, socket: str) -> None:
        """Nothing is asked yet.

        Raises:
            SandboxMissing: there is no such socket.
            AccessRefused: it may not be opened.
        """
        import httpx2

        self.socket = socket
        self.begun: set[str] = set()
        """The ids of commands that were begun through us and not seen to end: given up, one runs on for a moment."""
        _look_at(socket)
        transport = httpx2.AsyncHTTPTransport(uds=socket, limits=httpx2.Limits(max_connections=None))
        self._http = httpx2.AsyncClient(transport=transport, base_url="http://docker", trust_env=False, timeout=SECONDS)

    async def call(
        self, method: str, path: str, body: Any = None, *, deed: str, query: Mapping[str, str] | None = None
    ) -> Any:
        """Ask, and read the answer as JSON; None where there is none. `deed` completes "could not …".

        Raises:
            DaemonRefused: the daemon said no.
            Unreachable: nobody answers.
        """
        with self._in_plain_words():
            answer = await self._http.request(method, path, json=body, params=query)
        if answer.status_code >= 400:
            raise DaemonRefused(deed, answer.status_code, said(answer.content))
        return msgspec.json.decode(answer.content) if answer.content.strip() else None

    async def lines(
        self, path: str, query: Mapping[str, str], *, deed: str, archive: AsyncIterator[bytes] | None = None
    ) -> AsyncIterator[dict[str, Any]]:
        """Post, with a tar archive if there is one, and read the answer line by line as it comes, however long that
        takes.
        """
        import httpx2

        with self._in_plain_words():
            waiting = httpx2.Timeout(SECONDS, read=None)
            headers = {"content-type": "application/x-tar"} if archive else {}
            sent = self._http.stream("POST", path, params=query, content=archive, headers=headers, timeout=waiting)
            async with sent as answer:
                if answer.status_code >= 400:
                    raise DaemonRefused(deed, answer.status_code, said(await answer.aread()))
                async for line in answer.aiter_lines():
                    if line.strip():
                        yield msgspec.json.decode(line)

    async def take_over(self, path: str, body: Any, *, deed: str) -> Stream:
        """Post, and go on with the connection as a stream both ways (section "Attach", "Hijacking")."""
        with self._in_plain_words():
            headers = {"connection": "Upgrade", "upgrade": "tcp"}
            request = self._http.build_request("POST", path, json=body, headers=headers)
            answer = await self._http.send(request, stream=True)
            if answer.status_code != 101:
                refusal = await answer.aread()
                raise DaemonRefused(deed, answer.status_code, said(refusal))
        return Stream(cast("HijackedConnection", answer.extensions["network_stream"]))

    async def close(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    @contextmanager
    def _in_plain_words(self) -> "Iterator[None]":
        import httpx2

        try:
            yield
        except httpx2.TransportError as error:
            raise Unreachable(
                f"The container daemon at {self.socket} does not answer: {str(error) or type(error).__name__}.",
                then="See that it runs: systemctl status docker, or podman info.",
            ) from error


def said(body: bytes) -> str:
    """The daemon's words in an answer that is an error."""
    try:
        message = msgspec.json.decode(body, type=dict[str, Any]).get("message", "")
    except msgspec.DecodeError:
        message = body.decode(errors="replace")
    return one_line(clean(str(message)), 500).strip().rstrip(".") or "it did not say why"


def _look_at(socket: str) -> None:
    if not Path(socket).exists():
        raise SandboxMissing(
            f"There is no container daemon: {socket} is not there.",
            then="Install Docker or Podman and start it (systemctl start docker), or name its socket in DOCKER_HOST.",
        )
    if not os.access(socket, os.R_OK | os.W_OK):
        raise AccessRefused(
            f"The container daemon's socket {socket} may not be opened by you.",
            then="Join its group (sudo usermod -aG docker $USER, then log in anew), or use rootless Docker or Podman.",
        )
