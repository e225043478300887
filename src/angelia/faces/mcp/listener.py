"""Clients over HTTP, on this machine alone, and only those that have the key."""

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from angelia.core.errors import BadInput
from angelia.faces.listener.serve import Scope, Send, serve, stays_here
from angelia.faces.listener.under_way import UnderWay
from angelia.faces.listener.unfinished import ListenerLimits, Receive
from angelia.faces.mcp.asks import Asks
from angelia.faces.mcp.library import mcp_server
from angelia.faces.mcp.tools import OfferedTool
from angelia.models.catalog.credentials import keys_in_file
from angelia.service.app import App
from angelia.service.settings.private_file import write_private

PATH = "/mcp"
"""Where clients find it."""

Answer = Callable[[Scope, Receive, Send], Awaitable[None]]


def key_file(home: Path) -> Path:
    """Where the key lies that every client must bring."""
    return home / "keys" / "mcp-serve"


def key_in(home: Path) -> str:
    """The key; made with the first use.

    Raises:
        ConfigError: others could read the file, or it is empty.
    """
    path = key_file(home)
    if not path.exists():
        write_private(path, f"{secrets.token_urlsafe(32)}\n")
    return keys_in_file(path)[0].secret


class KeyGuard:
    """An ASGI application that hands on what has the key and asks for `PATH`; nothing else of a request is read."""

    def __init__(self, key: str, answer: Answer, limits: ListenerLimits) -> None:
        self._key, self._answer = key.encode(), answer
        self.limits = limits
        self._under_way = UnderWay()

    async def close(self) -> None:
        """Let go of who is connected: a client keeps a stream open for as long as it runs."""
        await self._under_way.end(self.limits.answered_s)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        given = dict(scope["headers"]).get(b"authorization", b"")
        scheme, _, key = given.partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(key.strip(), self._key):
            await _refuse(send, 401, [(b"www-authenticate", b"Bearer")])
        elif scope["path"] != PATH:
            await _refuse(send, 404, [])
        else:
            await self._under_way.answer(partial(self._answer, scope, receive), send)


async def _refuse(send: Send, status: int, more: list[tuple[bytes, bytes]]) -> None:
    headers = [(b"content-length", b"0"), (b"connection", b"close"), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body"})


def demand_loopback(listen: str) -> None:
    """Only this machine may reach it.

    Raises:
        BadInput: others could; nothing listens.
        ConfigError: see `stays_here`.
    """
    if not stays_here(listen, "--http"):
        raise BadInput(
            f"{listen} can be reached from other machines; nothing listens.",
            "Whoever reaches it and has the key is you, and what is said goes over the network as it is.",
            "Listen at 127.0.0.1, and let a tunnel (`ssh -L`) bring others here.",
        )


async def serve_http(
    app: App, workspace: Path, tools: Sequence[OfferedTool], listen: str, begun: Callable[[int], None]
) -> None:
    """Answer until cancelled. `begun` is called with the port once it can be reached.

    Raises:
        BadInput, ConfigError: see `demand_loopback` and `key_in`; or the address cannot be had.
        MissingPart: the part that speaks the protocol is not installed.
    """
    demand_loopback(listen)
    key = await asyncio.to_thread(key_in, app.loaded.home)
    app.secret_refs.handed({"key": key})  # which makes it known to the redactor
    asks = Asks(app, workspace)
    library = (await mcp_server(app, asks, tools)).library
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    names = ["127.0.0.1", "localhost", "[::1]"]
    security = TransportSecuritySettings(
        allowed_hosts=[f"{name}:*" for name in names], allowed_origins=[f"http://{name}:*" for name in names]
    )
    manager = StreamableHTTPSessionManager(library, security_settings=security, session_idle_timeout=3_600)
    answer: Any = manager.asgi_app
    guard = KeyGuard(key, answer, ListenerLimits(answered_s=0))
    try:
        async with manager.run():
            await serve(guard, listen, "--http", begun)
    finally:
        await guard.close()
        await asks.close()
