"""The HTTP half of the fake Slack: it listens, looks at tokens, and misbehaves on command."""

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from angelia.testing.changes import Changes
from angelia.testing.channels.network import Flood, Reset, ServerError, TimeOut, Trouble
from angelia.testing.model.http1 import Answering, HttpRequest, read_request
from angelia.testing.networks.loopback_server import LoopbackServer
from tests.channels.slack import world as w
from tests.channels.slack.methods import Methods

_SEEN = frozenset({"chat.postMessage", "chat.update", "chat.delete", "reactions.add", "files.completeUploadExternal"})
"""Methods that make something visible."""

_FORM = "application/x-www-form-urlencoded"


class Web(Methods):
    """Listens on a port of its own."""

    def __init__(self, world: w.World, changes: Changes, tell: Callable[[dict[str, Any]], None]) -> None:
        super().__init__(world, tell)
        self._changes = changes
        self.tickets: list[str] = []
        self.socket_url = ""
        self.responses: list[dict[str, Any]] = []
        self.troubles: list[Trouble] = []
        self.patience: list[Trouble] = []
        self.valid, self.mute = True, False
        self.fetched: list[str] = []
        self._listening = LoopbackServer(self._serve)
        self.base = f"http://127.0.0.1:{self._listening.port}"

    async def up(self) -> None:
        """Listen."""
        self._listening.up()

    async def down(self) -> None:
        """Reset every connection, and listen no more."""
        await self._listening.down()

    async def close(self) -> None:
        """Leave the port, too."""
        await self._listening.close()

    async def _serve(self, reader: asyncio.StreamReader, answering: Answering) -> None:
        while request := await read_request(reader):
            await self._meet(request, answering)

    async def _meet(self, request: HttpRequest, answering: Answering) -> None:
        if self.mute:
            await answering.silence()
            return
        match self._trouble(request):
            case Flood(seconds):
                said = b'{"ok": false, "error": "ratelimited"}'
                await answering.whole(429, said, retry_after=str(round(seconds)))
            case ServerError():
                await answering.whole(500, b"<html>oops</html>", mime="text/html")
            case TimeOut(accepted) | Reset(accepted) as trouble:
                if accepted:
                    self._reply(request)
                    self._changes.tell()
                if isinstance(trouble, TimeOut):
                    await answering.silence()
                answering.reset()
            case _:
                status, body, mime = self._reply(request)
                self._changes.tell()
                more = {"location": f"{self.base}/login"} if status == 302 else {}
                await answering.whole(status, body, mime=mime, **more)

    def _trouble(self, request: HttpRequest) -> Trouble | None:
        if self.patience and request.path == "/api/conversations.history":
            self._changes.tell()
            return self.patience.pop(0)
        visible = request.path.removeprefix("/api/") in _SEEN or request.path.startswith("/files-pri/")
        return self.troubles.pop(0) if self.troubles and visible else None

    def _reply(self, request: HttpRequest) -> tuple[int, bytes, str]:
        """Status, body and type."""
        if request.path.startswith("/api/"):
            return 200, json.dumps(self._method(request)).encode(), "application/json"
        if found := re.fullmatch(r"/upload/v1/(\w+)", request.path):
            assert "authorization" not in request.headers, "the address is enough, and our token belongs to the API"
            return (200, b"OK", "text/plain") if self.brought(found[1], request.body) else (400, b"", "text/plain")
        if found := re.fullmatch(r"/files-pri/T0TEAM-(\w+)/download", request.path):
            return self._file(request, found[1])
        if request.path == "/respond":
            self.responses.append(json.loads(request.body))
            return 200, b"ok", "text/plain"
        return 404, b"", "text/html"

    def _file(self, request: HttpRequest, number: str) -> tuple[int, bytes, str]:
        """Who may not have it is led to a page to log in."""
        self.fetched.append(number)
        if request.headers.get("authorization") != f"Bearer {w.TOKEN}" or not self.valid:
            return 302, b"", "text/html"
        if number not in self.world.bytes:
            return 404, b"", "text/html"
        return 200, self.world.bytes[number], self.world.files[number]["mimetype"]

    def _method(self, request: HttpRequest) -> dict[str, Any]:
        method = request.path.removeprefix("/api/")
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if request.method != "POST" or request.headers.get("content-type") != _FORM:
            return {"ok": False, "error": "invalid_post_type"}
        if not self.valid or token not in (w.TOKEN, w.APP_TOKEN):
            return {"ok": False, "error": "invalid_auth"}
        if (token == w.APP_TOKEN) != (method == "apps.connections.open"):
            return {"ok": False, "error": "not_allowed_token_type"}
        pairs = parse_qsl(request.body.decode(), keep_blank_values=True, strict_parsing=bool(request.body))
        return self.call(method, dict(pairs))

    def _apps_connections_open(self, given: dict[str, str]) -> dict[str, Any]:
        self.tickets.append(self.world.number())
        return {"url": f"{self.socket_url}/link/?ticket={self.tickets[-1]}&app_id=A0APP"}
