"""What comes by HTTP: webhooks, signals, files by links, health and metrics for the token; all else is not there."""

import hmac
import json
import logging
from functools import partial
from typing import Protocol
from urllib.parse import parse_qsl, quote

from angelia.channels.kinds import UNKNOWN
from angelia.channels.webhooks import WebHead, WebRequest, WebResponse
from angelia.core.content import Media
from angelia.core.errors import AngeliaError, StoreError
from angelia.core.text import file_name
from angelia.faces.listener.serve import Scope, Send, serve
from angelia.faces.listener.under_way import UnderWay
from angelia.faces.listener.unfinished import ListenerLimits, Receive, UnfinishedBodies
from angelia.service.chats.gateway import Gateway
from angelia.service.metrics import MIME, Metrics
from angelia.service.schedule.signals import Signals

LIMITS = ListenerLimits()

logger = logging.getLogger("angelia.gateway")

FILES = "/files/"
"""What the path of every link begins with."""


class Taker(Protocol):
    """Takes in what is brought to a name."""

    async def admits(self, name: str, head: WebHead, /) -> int | WebResponse:
        """How many bytes may be brought by who begins so; or the refusal, before any of them is read."""
        ...

    async def web(self, name: str, request: WebRequest, /) -> WebResponse:
        """What was brought; 2xx is said only for what is stored."""
        ...

    def cut_off(self, name: str, status: int, /) -> None:
        """Something admitted never became whole: too slow, too large, or one too many."""
        ...


class GatewayServer:
    """An ASGI application (https://asgi.readthedocs.io, HTTP 2.3).

    Path and guard come first: nothing of a body is read for who has no business here, and then only what the limits
    allow. A refusal ends the connection, so that the rest need not be taken in to be thrown away; somebody who is
    still sending may see that end instead of the answer.
    """

    def __init__(
        self, gateway: Gateway, token: str, signals: Signals, metrics: Metrics, limits: ListenerLimits = LIMITS
    ) -> None:
        self._gateway, self._signals = gateway, signals
        self._metrics = metrics
        self._token = token
        self.limits = limits
        self._bodies = UnfinishedBodies(limits)
        self._under_way = UnderWay()

    async def run(self, listen: str) -> None:
        """Listen until cancelled; who is being answered then is answered.

        Raises:
            ConfigError, MissingPart: as `serve`.
        """
        try:
            await serve(self, listen)
        finally:
            await self._under_way.end(self.limits.answered_s)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http":
            await self._under_way.answer(partial(self._answer, scope, receive), send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].startswith(FILES):
            await self._hand_out(scope, send)
            return
        head = _head(scope)
        if head.path in ("/health", "/metrics"):
            await _say(send, await self._told(head), last=True)
            return
        where, _, name = head.path.removeprefix("/").partition("/")
        takers: dict[str, Taker] = {"hooks": self._gateway, "in": self._signals}
        taker = takers.get(where) if "/" not in name else None
        if taker is None:
            await _say(send, WebResponse(404), last=True)
            return
        body = await self._body(taker, name, head, receive)
        if isinstance(body, WebResponse):
            await _say(send, body, last=True)
            return
        request = WebRequest(head.method, head.path, head.query, head.headers, body)
        await _say(send, await taker.web(name, request))

    async def _body(self, taker: "Taker", name: str, head: WebHead, receive: Receive) -> bytes | WebResponse:
        """What may be brought here, whole; or the refusal."""
        most = await taker.admits(name, head)
        if isinstance(most, WebResponse):
            return most
        told = head.headers.get("content-length", "")
        if len(told) > 15 or int(told or 0) > most:  # the server has seen to it that it is a number
            return WebResponse(413)
        body = await self._bodies.read(receive, most)
        if isinstance(body, WebResponse):
            taker.cut_off(name, body.status)
        return body

    async def _hand_out(self, scope: Scope, send: Send) -> None:
        """The file behind a link, piece by piece. Everything else is told like any page that is not there; while nobody
        can tell what is there, that is told.
        """
        token = scope["path"].removeprefix(FILES)
        try:
            found = await self._gateway.linked(token) if scope["method"] == "GET" else None
        except StoreError as error:  # it may be there: who asks again later gets it
            logger.warning("a linked file could not be looked for: %s", error)
            await _say(send, WebResponse(503, b"The file cannot be had now. Try again in a minute.\n"), last=True)
            return
        if found is None:
            await _say(send, WebResponse(404), last=True)
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

    async def _told(self, head: WebHead) -> WebResponse:
        """What is for who has the token."""
        given = head.headers.get("authorization", "").removeprefix("Bearer ").encode()
        if not self._token or not hmac.compare_digest(given, self._token.encode()):
            return WebResponse(401 if self._token else 404)
        if head.path == "/health":
            return self._health()
        try:
            return WebResponse(200, await self._metrics.text(), MIME)
        except AngeliaError as error:  # an alert on what cannot be scraped tells of it
            logger.warning("the metrics cannot be read: %s", error)
            return WebResponse(503)

    def _health(self) -> WebResponse:
        channels = {
            door: {"state": one.health.state.value, "why": one.health.why, "since": one.since, "heard": one.heard}
            for door, one in self._gateway.standings.items()
        }
        well = all(one["state"] == "connected" for one in channels.values())
        body = json.dumps({"ok": well, "channels": channels}).encode()
        return WebResponse(200 if well else 503, body, "application/json")


async def _say(send: Send, answer: WebResponse, *, last: bool = False) -> None:
    head = [(b"content-type", answer.mime.encode()), (b"content-length", str(len(answer.body)).encode())]
    head += [(b"connection", b"close")] if last else []
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
        (b"connection", b"close"),
    ]


def _head(scope: Scope) -> WebHead:
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    return WebHead(scope["method"], scope["path"], query, headers)
