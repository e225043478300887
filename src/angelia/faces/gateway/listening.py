"""What comes by HTTP: the webhooks of channels, and health for those who have the token; all else is not there."""

import hmac
import json
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl

from angelia.channels.web import WebRequest, WebResponse
from angelia.core.errors import ConfigError, MissingPart
from angelia.service.gateway import Gateway

MOST_BODY = 25_000_000
"""Bytes of one request; networks send references to files, not files."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Doorway:
    """An ASGI application (https://asgi.readthedocs.io, HTTP 2.3)."""

    def __init__(self, gateway: Gateway, token: str) -> None:
        self._gateway, self._token = gateway, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        body = await _body(receive)
        answer = WebResponse(413) if body is None else await self._answer(_request(scope, body))
        head = [(b"content-type", answer.mime.encode()), (b"content-length", str(len(answer.body)).encode())]
        await send({"type": "http.response.start", "status": answer.status, "headers": head})
        await send({"type": "http.response.body", "body": answer.body})

    async def _answer(self, request: WebRequest) -> WebResponse:
        if request.path == "/health":
            return self._health(request)
        room, _, door = request.path.removeprefix("/").partition("/")
        if room != "hooks" or "/" in door:
            return WebResponse(404)
        return await self._gateway.web(door, request)

    def _health(self, request: WebRequest) -> WebResponse:
        given = request.headers.get("authorization", "").removeprefix("Bearer ").encode()
        if not self._token or not hmac.compare_digest(given, self._token.encode()):
            return WebResponse(401 if self._token else 404)
        channels = {
            door: {"state": one.health.state.value, "why": one.health.why, "since": one.since, "heard": one.heard}
            for door, one in self._gateway.standings.items()
        }
        well = all(one["state"] == "connected" for one in channels.values())
        body = json.dumps({"ok": well, "channels": channels}).encode()
        return WebResponse(200 if well else 503, body, "application/json")


async def serve(doorway: Doorway, listen: str) -> None:
    """Listen until cancelled.

    Raises:
        ConfigError: `listen` is no address, or it cannot be had.
        MissingPart: uvicorn is not installed.
    """
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdecimal():
        raise ConfigError(f"gateway.listen is {listen!r}.", "Expected an address and a port, such as 127.0.0.1:8787.")
    try:
        import uvicorn
    except ModuleNotFoundError as error:
        raise MissingPart("Listening for webhooks", "gateway") from error

    class Server(uvicorn.Server):
        """A server that leaves the signals to the gateway."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """The gateway has its own way to end."""
            yield

    server = Server(
        uvicorn.Config(
            doorway,
            host=host,
            port=int(port),
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
        )
    )
    try:
        await server.serve()
    except SystemExit as error:
        raise ConfigError(f"The address {listen} cannot be had.", then="Is another gateway running?") from error


async def _body(receive: Receive) -> bytes | None:
    """The whole body; None if it is too large."""
    pieces, size = [], 0
    while True:
        message = await receive()
        piece = message.get("body", b"")
        size += len(piece)
        if size > MOST_BODY:
            return None
        pieces.append(piece)
        if not message.get("more_body"):
            return b"".join(pieces)


def _request(scope: Scope, body: bytes) -> WebRequest:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    return WebRequest(scope["method"], scope["path"], query, headers, body)
