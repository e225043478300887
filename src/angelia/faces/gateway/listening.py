"""What comes by HTTP: webhooks, files by their links, and health for who has the token; all else is not there."""

import hmac
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, quote

from angelia.channels.kinds import UNKNOWN
from angelia.channels.web import WebRequest, WebResponse
from angelia.core.content import Media
from angelia.core.errors import AngeliaError, ConfigError, MissingPart
from angelia.core.text import file_name
from angelia.service.gateway import Gateway

MOST_BODY = 25_000_000
"""Bytes of one request; networks send references to files, not files."""

logger = logging.getLogger("angelia.gateway")

FILES = "/files/"
"""What the path of every link begins with."""

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
        if scope["path"].startswith(FILES):
            await self._hand_out(scope, send)
            return
        body = await _body(receive)
        answer = WebResponse(413) if body is None else await self._answer(_request(scope, body))
        await _say(send, answer)

    async def _hand_out(self, scope: Scope, send: Send) -> None:
        """The file behind a link, piece by piece. Everything else is told like any page that is not there."""
        token = scope["path"].removeprefix(FILES)
        found = await self._gateway.linked(token) if scope["method"] == "GET" else None
        if found is None:
            await _say(send, WebResponse(404))
            return
        media, pieces = found
        await send({"type": "http.response.start", "status": 200, "headers": _about(media)})
        try:
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except AngeliaError as error:  # the server ends the connection short of the length that was told
            logger.warning("a linked file could not be handed out whole: %s", error)
            return
        await send({"type": "http.response.body"})

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
    finally:
        for listening in getattr(server, "servers", ()):  # one that was cancelled leaves them open
            listening.close()


async def _say(send: Send, answer: WebResponse) -> None:
    head = [(b"content-type", answer.mime.encode()), (b"content-length", str(len(answer.body)).encode())]
    await send({"type": "http.response.start", "status": answer.status, "headers": head})
    await send({"type": "http.response.body", "body": answer.body})


def _about(media: Media) -> list[tuple[bytes, bytes]]:
    """A file to keep, never a page that runs here: whatever is in it, a browser shows and remembers nothing of it."""
    name = quote(file_name(media.name) or "file", safe="")
    return [
        (b"content-type", (media.blob.mime or UNKNOWN).encode("latin-1", "replace")),
        (b"content-length", str(media.blob.size).encode()),
        (b"content-disposition", f"attachment; filename*=UTF-8''{name}".encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"content-security-policy", b"sandbox; default-src 'none'"),
        (b"cache-control", b"private, no-store"),
        (b"referrer-policy", b"no-referrer"),
        (b"x-robots-tag", b"noindex"),
    ]


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
