"""The REST half of the fake Discord: it listens, and misbehaves on command."""

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from angelia.testing.changes import Changes
from angelia.testing.channels.network import Flood, Reset, ServerError, TimeOut, Trouble
from angelia.testing.model.http1 import Answering, HttpRequest, read_request
from tests.channels.discord.requests import Requests
from tests.channels.discord.world import World


class Rest(Requests):
    """Listens on a port of its own, which it keeps when it is down."""

    def __init__(self, world: World, changes: Changes, tell: Callable[[str, dict[str, Any]], None]) -> None:
        super().__init__(world, changes, tell)
        self.requests: list[str] = []
        self.troubles: list[Trouble] = []
        self.patience: list[Trouble] = []
        self.mute = False
        self.headers: dict[str, str] = {}
        self._port = 0
        self._open: dict[asyncio.Task[None], Answering] = {}
        self._server: asyncio.Server | None = None

    async def up(self) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=1 << 24)
        self._port = self._server.sockets[0].getsockname()[1]
        self.base = f"http://127.0.0.1:{self._port}"

    async def down(self) -> None:
        """Reset every connection, and listen no more."""
        if self._server:
            self._server.close()
        for answering in self._open.values():
            with suppress(OSError):  # the client has closed it just now
                answering.reset()
        if self._open:
            await asyncio.wait(list(self._open))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering = Answering(reader, writer)
        task = asyncio.current_task()
        assert task
        self._open[task] = answering
        try:
            while request := await read_request(reader):
                await self._meet(request, answering)
        except ConnectionError:
            pass
        finally:
            await answering.close()
            del self._open[task]

    async def _meet(self, request: HttpRequest, answering: Answering) -> None:
        if self.mute:
            await answering.silence()
            return
        self.requests.append(f"{request.method} {request.path}")
        match self._trouble(request):
            case Flood(seconds):
                said = {"message": "You are being rate limited.", "retry_after": seconds, "global": False}
                await answering.whole(429, json.dumps(said).encode(), retry_after=str(round(seconds)))
            case ServerError():
                await answering.whole(500, b'{"message": "500: Internal Server Error", "code": 0}')
            case TimeOut(accepted) | Reset(accepted) as trouble:
                if accepted:
                    self.reply(request)
                if isinstance(trouble, TimeOut):
                    await answering.silence()
                answering.reset()
            case _:
                reply = self.reply(request)
                body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
                mime = "application/json" if body else "text/html"
                await answering.whole(reply.status, body, mime=mime, **self.headers)

    def _trouble(self, request: HttpRequest) -> Trouble | None:
        seen = request.method in ("POST", "PATCH") and re.fullmatch(r".*/channels/\d+/messages(/\d+)?", request.path)
        if self.patience and request.method == "GET" and request.path.endswith("/messages"):
            self._changes.tell()
            return self.patience.pop(0)
        fetched = request.path.startswith("/cdn/")
        return self.troubles.pop(0) if self.troubles and (seen or fetched) else None
