"""A fake WhatsApp behind a fake of Baileys: the bridge is real, and so is Node."""

import asyncio
import base64
import contextlib
import shutil
import socket
import tempfile
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from angelia.channels.abilities import Kind
from angelia.channels.port import Outfit
from angelia.channels.whatsapp.bridge.room import PersonalChannel
from angelia.channels.whatsapp.bridge.settings import PersonalSettings, Waits
from angelia.channels.whatsapp.table import FILE, SOUND
from angelia.core.entry import Address
from angelia.testing.changes import Changes
from angelia.testing.channel_network import (
    Arrived,
    Flood,
    Patience,
    Reset,
    ServerError,
    Thing,
    TimeOut,
    Trouble,
)
from angelia.testing.whatsapp_markup import shown
from tests.channels.whatsapp_personal.people import ANN, GROUP, HERE, NOWHERE, OURS, People

_LIMIT = 1 << 28
_KINDS = {"image": Kind.PHOTO, "video": Kind.VIDEO, "audio": Kind.AUDIO, "document": Kind.DOCUMENT}


class PersonalNetwork:
    """The fake for the length of an `async with`; a `channel_network.Network`.

    `linked` may be set to False: then a code is shown. `forgets` says that the next login is one that the phone took
    back. `bridges` are the processes that have come so far.
    """

    secrets: Mapping[str, str] = {}
    here, group, topic, nowhere = HERE, GROUP, Address("", ""), NOWHERE
    broken = ""
    keeps, takes_empty = True, False

    def __init__(self) -> None:
        self.arrived: list[Arrived] = []
        self.linked, self.known, self.forgets = True, True, False
        self.bridges: list[int] = []
        self._people = People()
        self._brought: list[dict[str, Any]] = []
        self._unread: list[dict[str, Any]] = []
        self._limits = dict.fromkeys(Kind, SOUND) | {Kind.DOCUMENT: FILE}
        self._troubles: deque[Trouble] = deque()
        self._changes = Changes()
        self._speaking = asyncio.Event()
        self._speaking.set()
        self._server: asyncio.Server | None = None
        self._lines: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._bridges: set[asyncio.StreamWriter] = set()
        self._port = 0

    async def __aenter__(self) -> Self:
        self.modules = Path(tempfile.mkdtemp())
        _put(self.modules, "@whiskeysockets/baileys", "baileys.cjs")
        _put(self.modules, "qrcode-terminal", "qrcode.cjs")
        await self.up()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.down()
        self._place.close()
        shutil.rmtree(self.modules)

    def open(self, outfit: Outfit, patience: Patience) -> PersonalChannel:
        """See `Network`."""
        waits = Waits(patience.answer, patience.silence, patience.pause)
        return PersonalChannel(PersonalSettings(modules=str(self.modules)), outfit, waits)

    def called(self, name: str) -> str:
        """See `Network`."""
        return name

    def lower(self, limits: Mapping[Kind, int]) -> None:
        """See `Network`."""
        self._limits = {**self._limits, **limits}

    def misbehave(self, *troubles: Trouble) -> None:
        """See `Network`."""
        self._troubles = deque(troubles)

    async def bring(self, *things: Thing) -> tuple[str, ...]:
        """See `Network`."""
        messages = [self._people.message(thing) for thing in things]
        self._brought += messages
        await self._tell(messages)
        return tuple(message["key"]["id"] for message in messages)

    async def repeat(self) -> None:
        """See `Network`."""
        await self._tell(self._brought[::-1])

    async def scan(self) -> None:
        """The phone scans the code: the device is known from now on, and has to come again."""
        self.linked = self.known = True
        for writer in self._lines.values():
            await _write(writer, {"closed": 515})

    async def confirm(self, message: str, status: int) -> None:
        """The phone tells what became of a message of ours."""
        key = {"remoteJid": ANN, "fromMe": True, "id": message}
        for writer in self._bridges:
            await _write(writer, {"update": [{"key": key, "update": {"status": status}}]})

    async def down(self) -> None:
        """See `Network`; the port stays ours."""
        if self._server:
            self._server.close()
            self._server = None
            self._bind()
        await self._hang_up()

    async def up(self) -> None:
        """See `Network`."""
        if not self._speaking.is_set():
            await self._hang_up()
        self._speaking.set()
        if self._server is None:
            if not self._port:
                self._bind()
            self._server = await asyncio.start_server(self._connected, sock=self._place, limit=_LIMIT)

    async def swallow(self) -> None:
        """See `Network`."""
        self._speaking.clear()

    def revoke(self) -> None:
        """See `Network`."""
        self.known = False

    async def when(self, holds: Callable[[], bool]) -> None:
        """See `Network`."""
        await self._changes.when(holds)

    # -- the line -----------------------------------------------------------------------------------------------

    def _bind(self) -> None:
        self._place = socket.socket()
        self._place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._place.bind(("127.0.0.1", self._port))
        self._port = self._place.getsockname()[1]
        (self.modules / "port").write_text(str(self._port))

    async def _hang_up(self) -> None:
        for task, writer in list(self._lines.items()):
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*self._lines, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._lines[task] = writer
        try:
            while line := await reader.readline():
                await self._speaking.wait()
                await self._answer(msgspec.json.decode(line, type=dict[str, Any]), writer)
        except (ConnectionError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._bridges.discard(writer)
            del self._lines[task]
            writer.close()

    async def _greet(self, writer: asyncio.StreamWriter) -> None:
        if not self.known or self.forgets:
            self.forgets = False
            await _write(writer, {"closed": 401})
        elif not self.linked:
            await _write(writer, {"qr": "2@secret,of,the,pairing"})
        else:
            self._bridges.add(writer)
            await _write(writer, {"open": {"id": f"{OURS}:7@s.whatsapp.net", "lid": "99887766:7@lid"}})
            unread, self._unread = self._unread, []
            if unread:
                await _write(writer, {"upsert": unread})

    async def _tell(self, messages: list[dict[str, Any]]) -> None:
        if not self._bridges or not self._speaking.is_set():
            self._unread += messages
        for writer in self._bridges:
            await _write(writer, {"upsert": messages})

    async def _answer(self, asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        match asked["op"]:
            case "hello":
                self.bridges.append(asked["pid"])
                await self._greet(writer)
            case "ping":
                await _write(writer, {"pong": True})
            case "presence":
                self._arrive(Arrived(asked["presence"], Kind.TYPING, asked["jid"]))
            case "download":
                await _write(writer, self._download(asked["directPath"]))
            case _:
                await self._take(asked, writer)

    def _download(self, path: str) -> dict[str, Any]:
        if self._troubles:
            self._troubles.popleft()
            return {"status": 500}
        data = self._people.files.get(path)
        return {"status": 404} if data is None else {"status": 200, "data": base64.b64encode(data).decode()}

    async def _take(self, asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        trouble = self._troubles.popleft() if self._troubles else None
        number = asked["messageId"]
        error = self._refusal(asked, trouble)
        if not error and not (isinstance(trouble, TimeOut | Reset) and not trouble.accepted):
            self._arrive(self._arrived(asked))
        match trouble:
            case TimeOut():
                return
            case Reset():
                raise ConnectionError
            case _:
                await _write(writer, {"ack": {"id": number, "class": "message", **error}})

    def _refusal(self, asked: dict[str, Any], trouble: Trouble | None) -> dict[str, str]:
        match trouble:
            case Flood(seconds):
                return {"error": "429", "backoff": f"{seconds:g}"}
            case ServerError():
                return {"error": "500"}
            case _:
                pass
        if not self.known:
            return {"error": "401"}
        if asked["jid"] not in (HERE.chat, GROUP.chat):
            return {"error": "404"}
        kind = next((kind for name, kind in _KINDS.items() if name in asked["content"]), None)
        if kind and len(_bytes(asked["content"])) > self._limits[kind]:
            return {"error": "413"}
        return {}

    def _arrive(self, arrived: Arrived) -> None:
        self.arrived.append(arrived)
        self._changes.tell()

    def _arrived(self, asked: dict[str, Any]) -> Arrived:
        content, chat, number = asked["content"], asked["jid"], asked["messageId"]
        if "react" in content:
            return Arrived("react", Kind.REACTION, chat, content["react"]["key"]["id"], text=content["react"]["text"])
        if "delete" in content:
            return Arrived("delete", Kind.DELETE, chat, content["delete"]["id"])
        if "edit" in content:
            return Arrived("edit", Kind.EDIT, chat, content["edit"]["id"], text=shown(content["text"]))
        self._people.quoted[number] = {"conversation": content.get("text", content.get("caption", ""))}
        if "text" in content:
            return Arrived("text", Kind.TEXT, chat, number, text=shown(content["text"]), reply_to=asked["quoted"])
        kind = next(kind for name, kind in _KINDS.items() if name in content)
        kind = Kind.VOICE if content.get("ptt") else Kind.ANIMATION if content.get("gifPlayback") else kind
        return Arrived(
            str(kind),
            kind,
            chat,
            number,
            text=shown(content.get("caption", "")),
            name=content.get("fileName", ""),
            mime=content["mimetype"],
            data=_bytes(content),
            reply_to=asked["quoted"],
        )


def _put(modules: Path, name: str, source: str) -> None:
    folder = modules / "node_modules" / name
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"name": "fake", "version": "0.0.0", "main": "index.js"}')
    shutil.copy(Path(__file__).with_name(source), folder / "index.js")


def _bytes(content: Mapping[str, Any]) -> bytes:
    name = next(name for name in _KINDS if name in content)
    return base64.b64decode(content[name])


async def _write(writer: asyncio.StreamWriter, what: dict[str, Any]) -> None:
    with contextlib.suppress(ConnectionError):
        writer.write(msgspec.json.encode(what) + b"\n")
        await writer.drain()
