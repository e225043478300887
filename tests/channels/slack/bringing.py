"""How the fake Slack brings what happens: by Socket Mode, or to a webhook, again until it is acknowledged."""

import asyncio
import hashlib
import hmac
import json
import time
from collections import deque
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from msgspec import Struct
from websockets.asyncio.server import Server, ServerConnection
from websockets.exceptions import ConnectionClosed

from angelia.testing.changes import Changes
from angelia.testing.channels.webhook_door import WebhookDoor
from tests.channels.slack import world as w
from tests.channels.slack.web import Web
from tests.channels.websockets import leave, listening, port_of

if TYPE_CHECKING:
    import httpx2

_AGAIN = 0.02
"""Seconds until a webhook that was not welcome is brought again."""


class News(Struct):
    """Something to bring, of a type of Socket Mode's; brought so often."""

    type: str
    payload: dict[str, Any]
    tries: int = 0


class SocketMode:
    """Listens on a port of its own, which it keeps when it is down. What is not acknowledged comes again with the next
    connection ("Using Socket Mode").
    """

    def __init__(self, web: Web, changes: Changes) -> None:
        self._web, self._changes = web, changes
        self.port = 0
        self.mute = False
        self.connections: list[ServerConnection] = []
        self.opened = 0
        self.acknowledged: list[str] = []
        self.told = 0
        self._waiting: deque[News] = deque()
        self._sent: dict[str, News] = {}
        self._server: Server | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"ws://127.0.0.1:{self.port}"

    async def up(self) -> None:
        """Listen."""
        self._server = await listening(self._serve, self.port)
        self.port = port_of(self._server)
        self._web.socket_url = self.url

    async def down(self) -> None:
        """Reset every connection, and listen no more."""
        if self._server:
            await leave(self._server, self.connections)

    @property
    def unacknowledged(self) -> list[str]:
        """The types of the events that were told and not acknowledged."""
        return [one.payload["event"]["type"] for one in self._sent.values()]

    def swallow(self) -> None:
        """Read and answer nothing any more, pings neither."""
        self.mute = True
        for connection in self.connections:
            connection.transport.pause_reading()

    def bring(self, news: News) -> None:
        """Bring something, now or when somebody is connected."""
        self._waiting.append(news)
        self._changes.tell()

    def again(self) -> None:
        """Bring what is not acknowledged once more, as after three seconds."""
        sent, self._sent = list(self._sent.values()), {}
        self._waiting.extend(sent)
        self._changes.tell()

    def forget(self) -> None:
        """Give up what was not brought yet."""
        self._waiting.clear()
        self._sent.clear()

    async def say(self, frame: dict[str, Any]) -> None:
        """Say something by every connection."""
        for connection in list(self.connections):
            await connection.send(json.dumps(frame))

    async def _serve(self, connection: ServerConnection) -> None:
        path = connection.request.path if connection.request else ""
        ticket = path.partition("ticket=")[2].partition("&")[0]
        if ticket not in self._web.tickets:
            await connection.close(1008)
            return
        self._web.tickets.remove(ticket)
        self.connections.append(connection)
        self.opened += 1
        self._changes.tell()
        mine: dict[str, News] = {}
        telling = asyncio.create_task(self._tell(connection, mine))
        try:
            hello = {"type": "hello", "num_connections": len(self.connections), "connection_info": {"app_id": "A0APP"}}
            await connection.send(json.dumps(hello | {"debug_info": {"approximate_connection_time": 18060}}))
            async for raw in connection:
                self._acknowledge(json.loads(raw), mine)
        except ConnectionClosed:
            pass
        finally:
            telling.cancel()
            self.connections.remove(connection)
            self._waiting.extendleft(reversed([self._sent.pop(one) for one in mine if one in self._sent]))
            self._changes.tell()

    def _acknowledge(self, frame: dict[str, Any], mine: dict[str, News]) -> None:
        """An acknowledgement is for an envelope of this very connection."""
        assert set(frame) <= {"envelope_id", "payload"}, frame
        if mine.pop(frame["envelope_id"], None):
            self._sent.pop(frame["envelope_id"], None)
            self.acknowledged.append(frame["envelope_id"])
        self._changes.tell()

    def _may_tell(self, connection: ServerConnection) -> bool:
        return bool(self._waiting) and not self.mute and self.connections[-1:] == [connection]

    async def _tell(self, connection: ServerConnection, mine: dict[str, News]) -> None:
        while True:
            # by the newest connection only
            await self._changes.when(lambda: self._may_tell(connection))
            news = self._waiting.popleft()
            envelope = f"envelope-{self._web.world.number()}"
            self._sent[envelope] = mine[envelope] = news
            frame: dict[str, Any] = {"type": news.type, "envelope_id": envelope, "payload": news.payload}
            if news.type == "events_api":
                frame |= {"accepts_response_payload": False, "retry_attempt": news.tries, "retry_reason": ""}
            else:
                frame |= {"accepts_response_payload": news.type == "slash_commands"}
            news.tries += 1
            self.told += 1
            await connection.send(json.dumps(frame))
            self._changes.tell()


class Courier:
    """Brings to a webhook, signed, one thing after the other; what is not welcome comes again, behind the others."""

    def __init__(self, door: WebhookDoor, changes: Changes) -> None:
        self._door, self._changes = door, changes
        self.visiting, self.off = True, 0
        """Whether it comes, and by how many seconds its clock is not ours."""
        self.statuses: list[int] = []
        self._queue: deque[News] = deque()

    def bring(self, news: News) -> None:
        """Bring something."""
        self._queue.append(news)
        self._changes.tell()

    async def run(self) -> None:
        """Bring everything."""
        import httpx2

        # no certificates are read, which takes longer than most checks
        async with httpx2.AsyncClient(trust_env=False, verify=False) as http:
            while True:
                await self._changes.when(lambda: bool(self._queue and self.visiting))
                news = self._queue.popleft()
                try:
                    status = await self._visit(http, news)
                except httpx2.RequestError:
                    status = 0
                self.statuses.append(status)
                if status != 200:
                    self._queue.append(news)
                    await asyncio.sleep(_AGAIN)
                self._changes.tell()

    async def _visit(self, http: "httpx2.AsyncClient", news: News) -> int:
        body, headers = request_of(news, self.off)
        sent = await http.post(f"{self._door.url}/hooks/door", content=body, headers=headers, timeout=120)
        return sent.status_code


def request_of(news: News, off: int = 0) -> tuple[bytes, dict[str, str]]:
    """How something comes to a webhook: events as JSON, all else as a form; signed `off` seconds from now."""
    if news.type == "events_api":
        body, mime = json.dumps(news.payload).encode(), "application/json"
    else:
        form = news.payload if news.type == "slash_commands" else {"payload": json.dumps(news.payload)}
        body, mime = urlencode(form).encode(), "application/x-www-form-urlencoded"
    return body, {"content-type": mime} | signed(body, stamp=int(time.time()) + off)


def signed(body: bytes, secret: str = w.SECRET, stamp: int | None = None) -> dict[str, str]:
    """The headers under which Slack brings it ("Verifying requests from Slack")."""
    at = str(int(time.time()) if stamp is None else stamp)
    mac = hmac.new(secret.encode(), b"v0:" + at.encode() + b":" + body, hashlib.sha256).hexdigest()
    return {"x-slack-request-timestamp": at, "x-slack-signature": f"v0={mac}"}
