"""A stand-in for the server: serves the page under its own rules for content, answers from tables, and feeds streams by hand."""
# ruff: noqa: E501 - headers stand on one line

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import uvicorn

import angelia
from angelia.faces.web.page_files import own_page_files

STATIC = Path(angelia.__file__).parent / "faces" / "web" / "static"
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; "
    "connect-src 'self'; manifest-src 'self'; worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'"
)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Answer = tuple[int, object]


class FakeServer:
    """What the page asks is answered from `answers` by method and path, or by what `act` says of a write; what is in no
    table is not there, in the words of `failures`.

    `entries` is each conversation's log; a stream sends what is after `Last-Event-ID` or `after` from it, so that a cut
    loses nothing, then whatever `push` gives. `writes` is what the page has written: path and body.
    """

    def __init__(self) -> None:
        self.answers: dict[str, object] = {}
        self.failures: dict[str, dict[str, str]] = {}
        self.entries: dict[str, list[dict[str, Any]]] = {}
        self.writes: list[tuple[str, Any]] = []
        self.act: Callable[[str, Any], Answer | None] = lambda path, body: None
        self.media: dict[str, tuple[str, bytes]] = {}
        self.away = False
        self.streams: set[asyncio.Queue[bytes | None]] = set()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.delivered = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        self.loop = asyncio.get_running_loop()
        path: str = scope["path"]
        query = {name: values[0] for name, values in parse_qs(scope["query_string"].decode()).items()}
        if path == "/" or path.startswith("/static/"):
            await self._static(path, send)
        elif self.away:
            await _plain(send, 503, b'{"error": {"what": "The server is away."}}', "application/json")
        elif path.endswith("/events"):
            await self._stream(path, scope, query, receive, send)
        elif path in self.media:
            kind, content = self.media[path]
            await _plain(send, 200, content, kind)
        else:
            body = await _body(receive)
            status, answer = self._answer(scope["method"], path, query, body)
            content = b"" if status == 204 else json.dumps(answer).encode()
            await _plain(send, status, content, "application/json")

    def _answer(self, method: str, path: str, query: dict[str, str], body: bytes) -> Answer:
        if method != "GET":
            given = json.loads(body) if body[:1] == b"{" else body
            self.writes.append((path, given))
            return self.act(path, given) or (200, self.answers.get(f"{method} {path}", {}))
        if path.endswith("/entries"):
            log = self.entries.get(path.split("/")[3], [])
            before, limit = int(query.get("before", 1 << 60)), int(query.get("limit", 200))
            older = [one for one in log if one["seq"] < before]
            page = older[-limit:]
            return 200, {"entries": page, "first": page[0]["seq"] if len(older) > limit else 0}
        if path == "/api/waiting":
            return 200, self.waiting()
        found = self.answers.get(f"{path}?q" if query.get("q") else path)
        return (
            (200, found)
            if found is not None
            else (404, {"error": self.failures.get(path) or {"what": f"There is no {path}.", "why": "", "then": ""}})
        )

    def waiting(self) -> dict[str, list[Any]]:
        """What waits, of all that there is."""
        kinds = ("questions", "receipts", "schedules")
        given: dict[str, Any] = {one: self.answers.get(f"/api/{one}", {}) for one in kinds}
        every = {one: given[one].get(one, []) for one in kinds}
        return {
            "questions": every["questions"],
            "deliveries": [one for one in every["receipts"] if one["status"] in {"failed", "unknown"}],
            "schedules": [one for one in every["schedules"] if one["state"] != "active" and one["why"]],
        }

    async def _static(self, path: str, send: Send) -> None:
        file = own_page_files().get("index.html" if path == "/" else path.removeprefix("/static/"))
        if file is None:
            await _plain(send, 404, b"", "text/plain")
            return
        await _plain(send, 200, file.body, file.mime)

    async def _stream(self, path: str, scope: Scope, query: dict[str, str], receive: Receive, send: Send) -> None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        after = int(headers.get("last-event-id") or query.get("after") or 0)
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.streams.add(queue)
        start = {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")],
        }
        await send(start)
        for entry in self.entries.get(path.split("/")[3], []) if path != "/api/events" else []:
            if entry["seq"] > after:
                queue.put_nowait(event("entry", entry, entry["seq"]))
        if path == "/api/events":
            queue.put_nowait(event("home", {"changed": []}))
        gone = asyncio.create_task(_gone(receive))
        try:
            await send({"type": "http.response.body", "body": event("beat", {"at": 0}), "more_body": True})
            while True:
                waits = asyncio.create_task(queue.get())
                await asyncio.wait({waits, gone}, return_when=asyncio.FIRST_COMPLETED)
                if not waits.done():
                    waits.cancel()
                    return
                if (piece := waits.result()) is None:
                    return
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        finally:
            gone.cancel()
            self.streams.discard(queue)

    def push(self, kind: str, data: object, seq: int = 0) -> None:
        """Send an event to every stream that is open; from any thread."""
        piece = event(kind, data, seq)
        self._everywhere(piece)

    def append(self, conversation: str, entry: dict[str, Any]) -> None:
        """Add a fact to a log, and tell who listens; from any thread."""
        self.entries.setdefault(conversation, []).append(entry)
        self.push("entry", entry, entry["seq"])

    def cut(self) -> None:
        """End every stream."""
        self._everywhere(None)

    def _everywhere(self, piece: bytes | None) -> None:
        def give() -> None:
            for queue in self.streams:
                queue.put_nowait(piece)

        if self.loop:
            self.loop.call_soon_threadsafe(give)


def event(kind: str, data: object, seq: int = 0) -> bytes:
    """A server-sent event; those of the log carry their place."""
    place = f"id: {seq}\n" if seq else ""
    return f"{place}event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


async def _body(receive: Receive) -> bytes:
    pieces = []
    while True:
        message = await receive()
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _plain(send: Send, status: int, content: bytes, kind: str) -> None:
    headers = [
        (b"content-type", kind.encode()),
        (b"content-length", str(len(content)).encode()),
        (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


@contextlib.contextmanager
def serving(fake: FakeServer) -> Iterator[str]:
    """Its address on this machine, while the block lasts."""
    import threading

    config = uvicorn.Config(fake, host="127.0.0.1", port=0, log_level="error", lifespan="off", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        fake.cut()
        server.should_exit = True
        thread.join()
