"""The ASGI application: a route, its guard, its handler, and an answer with the headers that keep a page safe."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, MutableMapping
from contextlib import aclosing
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.core.errors import AngeliaError
from angelia.faces.listener.request_body import RequestBody
from angelia.faces.listener.serve import Scope, Send
from angelia.faces.listener.under_way import UnderWay
from angelia.faces.listener.unfinished import ListenerLimits, Receive, UnfinishedBodies
from angelia.faces.web.access.logins import Logins, cookie_in
from angelia.faces.web.api_keys import ApiKey, ApiKeys, KeyScope, key_in
from angelia.faces.web.asgi.guards import RouteGuard, require_origin, require_own_page
from angelia.faces.web.asgi.request import (
    RequestRefused,
    RouteRequest,
    RouteResponse,
    StreamedResponse,
    error_response,
)
from angelia.faces.web.asgi.routes import Route, Routes

LIMITS = ListenerLimits(stalled_s=60.0, connections=1_200, held=100_000_000)
"""A page holds one or two streams open; what is held of each is what it has not taken yet. A body is read only once its
sender was let in; a program's may hold several pictures.
"""

LOOKED_UP_S = 5.0
"""How often it is looked whether a login still holds by which somebody reads a stream."""

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; "
    "connect-src 'self'; manifest-src 'self'; worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
"""Nothing but our own files, nothing inline, and no text that becomes markup (Content Security Policy Level 3)."""

_SAFE: Mapping[str, str] = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "permissions-policy": "camera=(), geolocation=(), microphone=(self)",
}

logger = logging.getLogger("angelia.web")


class WebServer:
    """Answers requests (https://asgi.readthedocs.io, HTTP 2.3). `origins` are those under which we are asked (lower
    case); they are looked up at each request, since the port may be known only once it listens.
    """

    def __init__(
        self,
        routes: Routes,
        logins: Logins,
        keys: ApiKeys,
        origins: Callable[[], Collection[str]],
        limits: ListenerLimits = LIMITS,
    ) -> None:
        self.routes = routes
        self.limits = limits
        self._logins, self._keys = logins, keys
        self._origins = origins
        self._bodies = UnfinishedBodies(limits)
        self._under_way = UnderWay()
        self._watched: dict[asyncio.Task[None], str] = {}
        self._watch: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http":
            await self._under_way.answer(partial(self._answer, scope, receive), send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        origin = f"{scope['scheme']}://{headers.get('host', '').lower()}"
        body = RequestBody(receive)
        request = RouteRequest(
            scope["method"], scope["path"], query, headers, body.receive, self._bodies, origin, scope["client"]
        )
        answer = await self._told(request)
        if isinstance(answer, RouteResponse):
            if answer.status >= 400 and request.let_in:
                await _refuse(send, answer, body, self.limits.body_s)
            else:
                await _say(send, answer, last=answer.status >= 400)
        else:
            await self._stream(body.receive, send, answer, request)

    async def close(self) -> None:
        """Have each request answered that is under way; nobody comes any more. What waits, or has no end of its own,
        was told before that it ends.
        """
        if self._watch:
            self._watch.cancel()
        await self._under_way.end(self.limits.answered_s)

    async def _stream(self, receive: Receive, send: Send, answer: StreamedResponse, request: RouteRequest) -> None:
        """Piece by piece, until it ends, nobody is there to take it, or the login ends by which it was asked for."""
        head = {**_SAFE, "content-type": answer.mime, **answer.headers}
        if answer.size >= 0:
            head["content-length"] = str(answer.size)
        await send({"type": "http.response.start", "status": 200, "headers": _raw(head)})
        gone = asyncio.create_task(_gone(receive))
        sending = asyncio.create_task(_send_all(send, answer.pieces))
        if request.key is None:
            self._watched[sending] = cookie_in(request.headers.get("cookie", ""), request.origin)
            if self._watch is None or self._watch.done():
                self._watch = asyncio.create_task(self._watch_logins())
        try:
            await asyncio.wait([gone, sending], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_and_wait(gone, sending)
            self._watched.pop(sending, None)

    async def _watch_logins(self) -> None:
        """End the streams of logins that end, in whatever process; each login is looked up once for all of its streams.
        It ends with the last of them.
        """
        while self._watched:
            await asyncio.sleep(LOOKED_UP_S)
            for token in set(self._watched.values()):
                try:
                    holds = await self._logins.holds(token)
                except AngeliaError as error:
                    end_if_cancelled()
                    logger.warning("whether a login still holds could not be looked up; it is tried again: %s", error)
                    continue
                if not holds:
                    for task in [task for task, own in self._watched.items() if own == token]:
                        task.cancel()

    async def _told(self, request: RouteRequest) -> RouteResponse | StreamedResponse:
        """What is answered, or why nothing is, in the form of the route."""
        told: Callable[[AngeliaError], RouteResponse] = error_response
        try:
            require_origin(request.origin, request.client, self._origins())
            route, request.found = self.routes.find(request.method, request.path)
            told = route.told
            await self._admit(route, request)
            request.let_in = True
            return await route.handler(request)
        except AngeliaError as error:
            return told(error)
        except asyncio.CancelledError:  # by our end, which waits for nobody's file
            request.let_in = False
            return told(_ended(request.message_key))
        except Exception:
            logger.exception("%s %s failed", request.method, request.path)
            return told(RequestRefused(500, "Angelia has made a mistake here; it is in her log.", then=_DOCTOR))

    async def _admit(self, route: Route, request: RouteRequest) -> None:
        """Raises RequestRefused where the guard of the route says no; nothing of the body has been read then."""
        if route.guard is RouteGuard.NONE:
            return
        if route.guard in (RouteGuard.READ_KEY, RouteGuard.CHAT_KEY):
            request.key = await self._key(request.headers)
            if route.guard is RouteGuard.CHAT_KEY and request.key.scope is KeyScope.READ:
                raise RequestRefused(403, f"The key {request.key.name} may only read.", "Its scope is `read`.")
            return
        if route.guard in (RouteGuard.WRITE, RouteGuard.LOGGING_IN):
            require_own_page(request.headers, request.origin)
        if route.guard is RouteGuard.LOGGING_IN:
            return
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise RequestRefused(403, "Only the page itself can ask for this.")
        if not await self._logins.known(cookie_in(request.headers.get("cookie", ""), request.origin)):
            raise RequestRefused(401, "You are not logged in.", then="Open the link that `angelia web` prints.")

    async def _key(self, headers: Mapping[str, str]) -> ApiKey:
        secret = key_in(headers.get("authorization", ""), headers.get("x-api-key", ""))
        key = await self._keys.known(secret)
        if key is None:
            came = "It was removed, or never was one." if secret else "It goes into `Authorization: Bearer KEY`."
            raise RequestRefused(
                401, f"This needs a key of the API{', and that is none' if secret else ''}.", came, _NEW_KEY
            )
        return key


_NEW_KEY = "`angelia web keys add NAME` makes one."
_DOCTOR = "Try it again; `angelia doctor` looks for what is wrong."


def _ended(message_key: str) -> RequestRefused:
    again = f"the header `Idempotency-Key: {message_key}`" if message_key else "the same key"
    return RequestRefused(
        503,
        "Angelia was ended before this was answered.",
        "What was sent may be stored by now.",
        f"Look once she runs again; a message that comes again under {again} counts once.",
    )


async def _refuse(send: Send, answer: RouteResponse, body: RequestBody, seconds: float) -> None:
    """Say why to somebody who was let in, and who may still be sending: the connection ends once that has passed."""

    async def said(message: MutableMapping[str, Any]) -> None:
        await send({**message, "more_body": True} if message["type"] == "http.response.body" else message)

    await _say(said, answer, last=True)
    await body.let_pass(seconds)
    await send({"type": "http.response.body"})


async def _say(send: Send, answer: RouteResponse, *, last: bool) -> None:
    head = {**_SAFE, "content-type": answer.mime, "content-length": str(len(answer.body)), **answer.headers}
    if answer.status in (204, 304):
        del head["content-type"], head["content-length"]
    if last:  # what may still come of the body is not taken for a request
        head["connection"] = "close"
    await send({"type": "http.response.start", "status": answer.status, "headers": _raw(head)})
    await send({"type": "http.response.body", "body": answer.body})


async def _send_all(send: Send, pieces: AsyncGenerator[bytes, None]) -> None:
    """A stream that ends because of an error ends the connection short, so that nobody takes it for whole."""
    try:
        async with aclosing(pieces):
            async for piece in pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    except AngeliaError as error:
        logger.warning("an answer could not be given whole: %s", error)
        return
    except Exception:
        logger.exception("an answer could not be given whole")
        return
    await send({"type": "http.response.body"})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _raw(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
