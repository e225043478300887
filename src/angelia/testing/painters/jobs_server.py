"""Painters that queue, behind real HTTP on loopback: fal's, Replicate's and ComfyUI's, each as it is published.

What was said both ways is kept in `exchanges`, to be held against a schema.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal, Protocol
from urllib.parse import parse_qs

import msgspec

from angelia.testing.model.http1 import Answering, HttpRequest
from angelia.testing.model.received import ReceivedMedia
from angelia.testing.painters.painter_server import PainterServer, form_parts

State = Literal["waiting", "running", "done"]
_STATES: tuple[State, ...] = ("waiting", "running", "done")
Said = tuple[int, Any]
"""A status and what it says as JSON; bytes go out as they are."""


class JobsServer(PainterServer):
    """One painter that queues. Each look brings the one job a state further, until `until`.

    `pictures` are what it makes, at URLs of its own unless `urls` says otherwise; `failure` (words, and a code) is what
    it comes to instead.
    """

    def __init__(
        self,
        dialect: Literal["fal", "replicate", "comfyui"],
        *pictures: bytes,
        until: State = "done",
        urls: Sequence[str] = (),
        failure: tuple[str, str] = ("", ""),
    ) -> None:
        self.pictures, self.urls = pictures, tuple(urls)
        self.failure = failure
        self.exchanges: list[tuple[str, Any]] = []
        self.submitted: list[tuple[str, Any]] = []
        self.uploads: list[ReceivedMedia] = []
        self.keys: set[str] = set()
        self.called_off: list[str] = []
        self.taken = asyncio.Event()
        self.seen_running = asyncio.Event()
        self.looked_for = asyncio.Event()
        self._states = list(_STATES[: _STATES.index(until) + 1])
        self._dialect: _Dialect = {"fal": _fal, "replicate": _replicate, "comfyui": _comfyui}[dialect]

    @property
    def state(self) -> State:
        """Where the job is now."""
        return self._states[0]

    def looked(self) -> State:
        """Where the job is now; a step further at the next look."""
        now = self._states[0]
        self.looked_for.set()
        if len(self._states) > 1:
            self._states.pop(0)
        if now == "running":
            self.seen_running.set()
        return now

    @property
    def made(self) -> list[str]:
        """The URLs of what was made: as many as were asked for, and there are."""
        return list(self.urls) or [f"{self.url}/made/{number}.png" for number in range(self.count)]

    @property
    def count(self) -> int:
        """How many pictures the last job is for."""
        body = self.submitted[-1][1]
        return min(len(self.pictures), body.get("num_images") or body.get("input", {}).get("num_outputs") or 1)

    def take(self, path: str, body: Any) -> None:
        """Note a job that was submitted."""
        self.submitted.append((path, body))
        self.taken.set()

    async def answer(self, given: HttpRequest, out: Answering) -> None:
        """See `PainterServer`."""
        if given.path.startswith("/made/"):
            await out.whole(200, self.pictures[int(given.path[6:-4])], mime="image/png")
            return
        self.keys.add(given.headers.get("authorization", ""))
        form = given.headers.get("content-type", "").startswith("multipart/form-data")
        body = dict[str, Any]() if form or not given.body else msgspec.json.decode(given.body)
        if form:
            parts = form_parts(given)
            self.uploads += [media for _, media, _ in parts if media]
            body = {name: data.decode() for name, media, data in parts if media is None}
            body |= {name: "a file" for name, media, _ in parts if media}
        name, (status, said) = self._dialect(self, given, body)
        self.exchanges.append((f"{name} asked", body))
        if isinstance(said, bytes):
            await out.whole(status, said, mime="image/png")
            return
        self.exchanges.append((f"{name} {status}", said))
        await out.whole(status, msgspec.json.encode(said))


class _Dialect(Protocol):
    def __call__(self, server: JobsServer, given: HttpRequest, body: Any) -> tuple[str, Said]: ...


_UNKNOWN: Said = (404, {"detail": "Not Found"})


def _fal(server: JobsServer, given: HttpRequest, body: Any) -> tuple[str, Said]:
    base = f"{server.url}/fal-ai/app/requests/r1"
    words, code = server.failure
    match given.method, given.path:
        case "POST", path:
            server.take(path, body)
            queued = {"status": "IN_QUEUE", "request_id": "r1", "queue_position": 2, "logs": None, "metrics": {}}
            urls = {"response_url": base, "status_url": f"{base}/status", "cancel_url": f"{base}/cancel"}
            return "submit", (200, {**queued, **urls})
        case "GET", "/fal-ai/app/requests/r1/status":
            said: dict[str, Any] = {"request_id": "r1", "response_url": base, "logs": None, "metrics": {}}
            match server.looked():
                case "waiting":
                    return "status", (202, {**said, "status": "IN_QUEUE", "queue_position": 2})
                case "running":
                    return "status", (202, {**said, "status": "IN_PROGRESS"})
                case "done":
                    return "status", (200, {**said, "status": "COMPLETED"})
        case "GET", "/fal-ai/app/requests/r1" if words:
            return "result", (422, {"detail": [{"loc": ["body", "prompt"], "msg": words, "type": code}]})
        case "GET", "/fal-ai/app/requests/r1":
            images = [{"url": one, "content_type": "image/png", "width": 64, "height": 64} for one in server.made]
            return "result", (200, {"images": images, "seed": 7, "has_nsfw_concepts": [code == "nsfw"] * len(images)})
        case "PUT", "/fal-ai/app/requests/r1/cancel":
            server.called_off.append("cancel")
            return "cancel", (202, {"status": "CANCELLATION_REQUESTED"})
        case _:
            return "unknown", _UNKNOWN


def _replicate(server: JobsServer, given: HttpRequest, body: Any) -> tuple[str, Said]:
    base = f"{server.url}/predictions/p1"
    said: dict[str, Any] = {
        "id": "p1",
        "model": "owner/name",
        "version": "v1",
        "input": {},
        "logs": "",
        "output": None,
        "error": None,
        "data_removed": False,
        "created_at": "2026-11-23T12:00:00.000Z",
        "urls": {"get": base, "cancel": f"{base}/cancel", "web": "https://replicate.com/p/p1"},
    }
    match given.method, given.path:
        case "POST", "/files":
            return "file", (201, {"id": "f1", "urls": {"get": f"{server.url}/files/{len(server.uploads)}"}})
        case "POST", "/predictions":
            server.take(given.path, body)
            return "create", (201, {**said, "status": "starting"})
        case "GET", "/predictions/p1":
            now = server.looked()
            if now == "done" and server.failure[0]:
                return "get", (200, {**said, "status": "failed", "error": server.failure[0]})
            if now == "done":
                output = server.made if len(server.made) > 1 else server.made[0]
                return "get", (200, {**said, "status": "succeeded", "output": output, "metrics": {"predict_time": 1.5}})
            return "get", (200, {**said, "status": "starting" if now == "waiting" else "processing"})
        case "POST", "/predictions/p1/cancel":
            server.called_off.append("cancel")
            return "cancel", (200, {**said, "status": "canceled"})
        case _:
            return "unknown", _UNKNOWN


_JOB = "0f0f0f0f-0000-4000-8000-000000000001"


def _comfyui(server: JobsServer, given: HttpRequest, body: Any) -> tuple[str, Said]:
    item = [1, _JOB, {}, [], {}]
    match given.method, given.path:
        case "POST", "/upload/image":
            return "upload", (200, {"name": server.uploads[-1].name, "subfolder": "", "type": "input"})
        case "POST", "/prompt":
            if server.failure[1] == "invalid_prompt":
                error = {"type": "value_not_in_list", "message": "Value not in list", "details": server.failure[0]}
                refused = {"type": "invalid_prompt", "message": "Prompt outputs failed validation", "details": ""}
                return "prompt", (400, {"error": refused, "node_errors": {"4": {"errors": [error]}}})
            server.take(given.path, body)
            return "prompt", (200, {"prompt_id": _JOB, "number": 1, "node_errors": {}})
        case "GET", "/queue":
            now, others = server.looked(), [[0, "somebody-else", {}, [], {}]]
            running = [item] if now == "running" else others
            return "queue", (200, {"queue_running": running, "queue_pending": [item] if now == "waiting" else []})
        case "GET", path if path == f"/history/{_JOB}":
            if server.state != "done":
                return "history", (200, {})
            return "history", (200, {_JOB: _comfy_entry(server)})
        case "GET", "/view":
            number = int(parse_qs(given.query)["filename"][0][:-4])
            return "view", (200, server.pictures[number])
        case "POST", "/queue":
            server.called_off.append("delete")
            return "manage", (200, {})
        case "POST", "/interrupt":
            server.called_off.append("interrupt")
            return "interrupt", (200, {})
        case _:
            return "unknown", _UNKNOWN


def _comfy_entry(server: JobsServer) -> dict[str, Any]:
    if server.failure[0]:
        error = {"node_type": "KSampler", "exception_message": server.failure[0]}
        status = {"status_str": "error", "completed": False, "messages": [["execution_error", error]]}
        return {"prompt": [1, _JOB, {}, {}, []], "outputs": {}, "status": status}
    saved = [{"filename": f"{number}.png", "subfolder": "", "type": "output"} for number in range(server.count)]
    preview = {"filename": "0.png", "subfolder": "", "type": "temp"}
    status = {"status_str": "success", "completed": True, "messages": [["execution_success", {}]]}
    return {
        "prompt": [1, _JOB, {}, {}, []],
        "outputs": {"9": {"images": saved}, "10": {"images": [preview]}},
        "status": status,
    }
