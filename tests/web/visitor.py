"""Somebody at the page, without a browser: what it asks for and sends, by HTTP on a real socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from msgspec import Struct

from angelia.faces.cli.doctor import look_through
from angelia.faces.web.door import WebDoor
from angelia.service.app import App
from angelia.service.settings.config import load

MODEL = "openai-chat:test"


class Event(Struct, frozen=True):
    """One server-sent event."""

    name: str
    data: dict[str, Any]
    id: str = ""


class Visitor:
    """A page that is logged in. `address` is where it came from."""

    def __init__(self, client: httpx2.AsyncClient, address: str, door: WebDoor, folder: str = "") -> None:
        self.client, self.address, self.door = client, address, door
        self._folder = folder

    @property
    def head(self) -> dict[str, str]:
        """What a page of ours sends with whatever changes something."""
        return {"origin": self.address, "content-type": "application/json", "sec-fetch-site": "same-origin"}

    async def log_in(self) -> None:
        """By a code."""
        came = await self.post("/api/login", {"code": await self.door.logins.new_code()})
        assert came.status_code == 204, came.text

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        """As a page asks."""
        return await self.client.get(self.address + path, headers=headers)

    async def json(self, path: str) -> dict[str, Any]:
        """What is answered, which is whole."""
        came = await self.get(path)
        assert came.status_code == 200, came.text
        found: dict[str, Any] = came.json()
        return found

    async def post(self, path: str, body: object = None, **headers: str) -> httpx2.Response:
        """As a page writes."""
        return await self.client.post(self.address + path, content=json.dumps(body or {}), headers=self.head | headers)

    async def said(self, path: str, body: object = None) -> dict[str, Any]:
        """What a change is answered with, if it was made."""
        came = await self.post(path, body)
        assert came.status_code < 300, came.text
        found: dict[str, Any] = came.json() if came.content else {}
        return found

    async def begun(self) -> str:
        """A new conversation, in a folder of the test's."""
        return str((await self.said("/api/conversations", {"folder": self._folder}))["id"])

    async def says(self, conversation: str, text: str, key: str = "key-0001", **more: Any) -> dict[str, Any]:
        """A message."""
        return await self.said(f"/api/conversations/{conversation}/messages", {"text": text, "key": key, **more})

    @asynccontextmanager
    async def hears(self, path: str, after: int | None = None) -> AsyncIterator[AsyncIterator[Event]]:
        """A stream of events."""
        headers = {"last-event-id": str(after)} if after is not None else {}
        async with self.client.stream("GET", self.address + path, headers=headers) as came:
            assert came.status_code == 200, (await came.aread()).decode()
            yield events_of(came)

    async def until(self, conversation: str, kind: str, after: int = 0) -> list[dict[str, Any]]:
        """The entries of a conversation after one, up to the first of a kind."""
        found: list[dict[str, Any]] = []
        async with self.hears(f"/api/conversations/{conversation}/events", after) as events:
            async for event in events:
                if event.name == "entry":
                    assert event.id == str(event.data["seq"])
                    found.append(event.data)
                    if event.data["kind"] == kind:
                        break
        return found


async def events_of(came: httpx2.Response) -> AsyncIterator[Event]:
    name, data, own = "", "", ""
    async for line in came.aiter_lines():
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            data = value
        elif field == "id":
            own = value
        elif not line and name:
            yield Event(name, json.loads(data), own)
            name, data, own = "", "", ""


@asynccontextmanager
async def opened(folder: Path, base_url: str, **settings: Any) -> AsyncIterator[App]:
    """A home whose model is at this address."""
    environ = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": base_url, "OLLAMA_HOST": "127.0.0.1:9"}
    loaded = load(folder / "home", environ, flags={"model": MODEL, **settings})
    app = await App.open(loaded, environ)
    try:
        yield app
    finally:
        await app.close()


@asynccontextmanager
async def visiting(app: App) -> AsyncIterator[Visitor]:
    """The page of a home, and somebody who is logged in to it."""
    (begun := app.loaded.home.parent / "begun").mkdir(exist_ok=True)
    door, ready = WebDoor(app, lambda offline: look_through(app, offline=offline)), asyncio.Event()
    serving = asyncio.create_task(door.run("127.0.0.1:0", ready.set))
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait([serving, waiting], return_when=asyncio.FIRST_COMPLETED)
    if serving.done():
        serving.result()
    try:
        async with httpx2.AsyncClient(timeout=30, verify=False) as client:
            visitor = Visitor(client, door.address, door, str(begun))
            await visitor.log_in()
            yield visitor
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
