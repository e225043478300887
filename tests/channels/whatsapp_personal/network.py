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

from angelia.channels.capabilities import Kind
from angelia.channels.port import ChannelContext
from angelia.channels.whatsapp.bridge.channel import PersonalChannel
from angelia.channels.whatsapp.bridge.settings import BridgeWaits, PersonalSettings
from angelia.channels.whatsapp.capabilities import FILE, SOUND
from angelia.core.entry import Address
from angelia.testing.changes import Changes
from angelia.testing.channels.network import (
    ArrivedMessage,
    ChannelTimeouts,
    Flood,
    Reset,
    ServerError,
    Thing,
    TimeOut,
    Trouble,
)
from tests.channels.whatsapp_personal.outcome import attributes_of, file_in, outcome
from tests.channels.whatsapp_personal.people import ANN, GROUP, HERE, NOWHERE, OURS, People

_LIMIT = 1 << 28


class PersonalNetwork:
    """The fake for the length of an `async with`; a `testing.channels.network.FakeNetwork`.

    `linked` may be set to False: then a code is shown. `forgets` says that the next login is one that the phone took
    back, `stuck` that no file that is brought is taken. `bridges` are the processes that have come so far; the login of
    the last one was `registered`.
    """

    secrets: Mapping[str, str] = {}
    here, group, topic, nowhere = HERE, GROUP, Address("", ""), NOWHERE
    broken = ""
    keeps, takes_empty, forwards = True, False, True

    def __init__(self) -> None:
        self.arrived: list[ArrivedMessage] = []
        self.linked, self.known, self.forgets, self.stuck = True, True, False, False
        self.bridges: list[int] = []
        self.registered = False
        self._people = People()
        self._brought: list[dict[str, Any]] = []
        self._unread: dict[str, dict[str, Any]] = {}
        self._uploads: dict[str, bytes] = {}
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

    def open(self, context: ChannelContext, patience: ChannelTimeouts) -> PersonalChannel:
        """See `FakeNetwork`."""
        timeouts = BridgeWaits(patience.answer, patience.silence, patience.pause)
        return PersonalChannel(PersonalSettings(modules=str(self.modules)), context, timeouts)

    def called(self, name: str) -> str:
        """See `FakeNetwork`."""
        return name

    def lower(self, limits: Mapping[Kind, int]) -> None:
        """See `FakeNetwork`."""
        self._limits = {**self._limits, **limits}

    def misbehave(self, *troubles: Trouble) -> None:
        """See `FakeNetwork`."""
        self._troubles = deque(troubles)

    async def bring(self, *things: Thing) -> tuple[str, ...]:
        """See `FakeNetwork`."""
        messages = [self._people.message(thing) for thing in things]
        self._brought += messages
        await self._tell(messages)
        return tuple(message["key"]["id"] for message in messages)

    async def repeat(self) -> None:
        """See `FakeNetwork`."""
        await self._tell(self._brought[::-1])

    async def scan(self) -> None:
        """The phone scans the code: the device is known from now on, and has to come again."""
        self.linked = self.known = True
        for writer in self._lines.values():
            await _write(writer, {"closed": 515})

    @property
    def uploads(self) -> int:
        """How many files were brought so far."""
        return len(self._uploads)

    @property
    def quiet(self) -> bool:
        """Nobody is connected, nor has a bridge that is alive."""
        return not self._lines

    async def confirm(self, message: str, status: int) -> None:
        """The phone tells what became of a message of ours."""
        key = {"remoteJid": ANN, "fromMe": True, "id": message}
        for writer in self._bridges:
            await _write(writer, {"update": [{"key": key, "update": {"status": status}}]})

    async def down(self) -> None:
        """See `FakeNetwork`; the port stays ours."""
        if self._server:
            self._server.close()
            self._server = None
            self._bind()
        await self._hang_up()

    async def up(self) -> None:
        """See `FakeNetwork`."""
        if not self._speaking.is_set():
            await self._hang_up()
        self._speaking.set()
        if self._server is None:
            if not self._port:
                self._bind()
            self._server = await asyncio.start_server(self._connected, sock=self._place, limit=_LIMIT)

    async def swallow(self) -> None:
        """See `FakeNetwork`."""
        self._speaking.clear()

    def revoke(self) -> None:
        """See `FakeNetwork`."""
        self.known = False

    async def when(self, holds: Callable[[], bool]) -> None:
        """See `FakeNetwork`."""
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
            self._changes.tell()
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
            if self._unread:
                await _write(writer, {"upsert": list(self._unread.values())})

    async def _tell(self, messages: list[dict[str, Any]]) -> None:
        """Bring messages; those that are not said to be received are brought to the next connection once more."""
        self._unread |= {message["key"]["id"]: message for message in messages}
        for writer in self._bridges if self._speaking.is_set() else ():
            await _write(writer, {"upsert": messages})

    async def _answer(self, asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        match asked["op"]:
            case "hello":
                self.bridges.append(asked["pid"])
                self.registered = asked.get("registered", False)
                await self._greet(writer)
            case "ping":
                await _write(writer, {"answer": asked.get("number", 0)})
            case "received":
                for number in asked["ids"]:
                    self._unread.pop(number, None)
            case "upload":
                await self._uploaded(asked, writer)
            case "presence":
                self._arrive(ArrivedMessage(asked["presence"], Kind.TYPING, asked["jid"]))
            case "download":
                await _write(writer, self._download(asked["directPath"]))
            case _:
                await self._take(asked, writer)

    async def _uploaded(self, asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        name = f"/up/{len(self._uploads)}"
        self._uploads[name] = await asyncio.to_thread(Path(asked["path"]).read_bytes)
        self._changes.tell()
        if not self.stuck:
            await _write(writer, {"answer": asked["number"], "name": name})

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
            self._arrive(outcome(asked, self._uploads))
            self._people.quoted[number] = {"conversation": self.arrived[-1].text}
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
        if asked["attributes"] != attributes_of(asked["content"]):
            return {"error": "400"}
        kind, name = file_in(asked["content"])
        if kind and len(self._uploads[name]) > self._limits[kind]:
            return {"error": "413"}
        return {}

    def _arrive(self, arrived: ArrivedMessage) -> None:
        self.arrived.append(arrived)
        self._changes.tell()


def _put(modules: Path, name: str, source: str) -> None:
    folder = modules / "node_modules" / name
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"name": "fake", "version": "0.0.0", "main": "index.js"}')
    shutil.copy(Path(__file__).with_name(source), folder / "index.js")


async def _write(writer: asyncio.StreamWriter, what: dict[str, Any]) -> None:
    with contextlib.suppress(ConnectionError):
        writer.write(msgspec.json.encode(what) + b"\n")
        await writer.drain()
