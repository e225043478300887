"""The HTTP half of the fake homeserver: it listens, looks at tokens, holds syncs, and misbehaves on command."""

import asyncio
import json
from urllib.parse import parse_qsl, unquote

from angelia.testing.changes import Changes
from angelia.testing.channels.network import Flood, Reset, ServerError, TimeOut, Trouble
from angelia.testing.model.http1 import Answering, HttpRequest, read_request
from angelia.testing.networks.loopback_server import LoopbackServer
from tests.channels.matrix import rules
from tests.channels.matrix import world as w
from tests.channels.matrix.methods import Methods
from tests.channels.matrix.rules import Wrong
from tests.channels.matrix.syncing import Told, checked_filter, position

_SEEN = ("/send/", "/redact/", "/typing/")
_DOWNLOAD = f"/_matrix/client/v1/media/download/{w.SERVER}/"
_SYNC = {"since": str, "timeout": int, "filter": dict, "set_presence": str, "full_state": str}

Answer = tuple[int, bytes, str]


class Web(Methods):
    """Listens on a port of its own. `syncs` are the positions that were asked for, in order; while it is `late`, they
    tell no news; while it is `hasty`, they are not held. `forced` are answers to what is seen or uploaded next, in
    place of any other.
    """

    def __init__(self, world: w.World, changes: Changes) -> None:
        super().__init__(world)
        self._changes = changes
        self.troubles: list[Trouble] = []
        self.forced: list[Answer] = []
        self.syncs: list[str] = []
        self.valid, self.mute, self.late, self.hasty = True, False, False, False
        self.listening = LoopbackServer(self._serve)
        self.base = f"http://127.0.0.1:{self.listening.port}"

    async def _serve(self, reader: asyncio.StreamReader, answering: Answering) -> None:
        while request := await read_request(reader):
            await self._meet(request, answering)

    async def _meet(self, request: HttpRequest, answering: Answering) -> None:
        match self._trouble(request):
            case Flood(seconds):
                told: Told = {"errcode": "M_LIMIT_EXCEEDED", "error": "Too Many Requests"}
                told["retry_after_ms"] = int(seconds * 1000)
                await answering.whole(429, json.dumps(told).encode())
            case ServerError():
                await answering.whole(500, b'{"errcode": "M_UNKNOWN", "error": "Internal server error"}')
            case TimeOut(accepted) | Reset(accepted) as trouble:
                if accepted:
                    await self._answer(request)
                if isinstance(trouble, TimeOut):
                    await answering.silence()
                answering.reset()
            case _:
                status, body, mime = await self._answer(request)
                if self.mute:
                    await answering.silence()
                await answering.whole(status, body, mime=mime)

    def _trouble(self, request: HttpRequest) -> Trouble | None:
        return self.troubles.pop(0) if self.troubles and _is_seen(request) else None

    async def _answer(self, request: HttpRequest) -> Answer:
        """Status, body and type."""
        try:
            self._let_in(request)
            if self.forced and (_is_seen(request) or request.path.endswith("/upload")):
                return self.forced.pop(0)
            if request.path.startswith(_DOWNLOAD):
                return self._download(unquote(request.path.removeprefix(_DOWNLOAD)))
            if request.path == "/_matrix/client/v3/sync":
                told = await self._sync(request)
            else:
                told = self.call(request)
        except Wrong as wrong:
            return wrong.status, json.dumps(wrong.told).encode(), "application/json"
        finally:
            self._changes.tell()
        return 200, json.dumps(told, ensure_ascii=False).encode(), "application/json"

    def _let_in(self, request: HttpRequest) -> None:
        """By a header alone: addresses are written down everywhere ("Using access tokens")."""
        self.asked.append(f"{request.method} {request.path}")
        if "access_token" in request.query:
            self.world.faults.append("the token stands in an address")
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind != "Bearer":
            raise Wrong(401, "M_MISSING_TOKEN", "Missing access token")
        if token != w.TOKEN or not self.valid:
            raise Wrong(401, "M_UNKNOWN_TOKEN", "Unrecognised access token", soft_logout=False)

    def _download(self, media_id: str) -> Answer:
        medium = self.world.media.get(media_id)
        if medium is None:
            raise Wrong(404, "M_NOT_FOUND", "Not found")
        return 200, medium.data, medium.mime

    async def _sync(self, request: HttpRequest) -> Told:
        """Held until there is something for us, or nothing was for so long."""
        given = rules.query(dict(parse_qsl(request.query, keep_blank_values=True)), _SYNC)
        told = checked_filter(given.get("filter", {}))
        since = position(given["since"]) if "since" in given else None
        self.syncs.append(given.get("since", ""))
        self._changes.tell()
        if since is not None and not self.hasty:
            try:
                async with asyncio.timeout(given.get("timeout", 0) / 1000):
                    await self._changes.when(lambda: not self.late and "rooms" in self.telling.sync(since, told))
            except TimeoutError:
                pass
        return self.telling.sync(since, told)


def _is_seen(request: HttpRequest) -> bool:
    """Whether it makes something visible, or brings bytes."""
    return request.path.startswith(_DOWNLOAD) or any(part in request.path for part in _SEEN)
