"""An editor for tests: it speaks to `angelia acp` line by line, and holds every line against the protocol's schema."""

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import cache, lru_cache
from inspect import isawaitable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import jsonschema

from angelia.faces.acp.agent import AcpAgent
from angelia.service.app import App
from angelia.service.settings.config import load
from angelia.testing.model.server import ModelServer
from tests.promise.lives import CHAT, Place

SCHEMA = json.loads(Path(__file__).with_name("protocol").joinpath("schema.json").read_text("utf-8"))

RESULTS = {
    "initialize": "InitializeResponse",
    "authenticate": "AuthenticateResponse",
    "logout": "LogoutResponse",
    "session/new": "NewSessionResponse",
    "session/load": "LoadSessionResponse",
    "session/resume": "ResumeSessionResponse",
    "session/list": "ListSessionsResponse",
    "session/close": "CloseSessionResponse",
    "session/delete": "DeleteSessionResponse",
    "session/set_mode": "SetSessionModeResponse",
    "session/set_config_option": "SetSessionConfigOptionResponse",
    "session/prompt": "PromptResponse",
}
ASKED = {
    "session/update": "SessionNotification",
    "session/request_permission": "RequestPermissionRequest",
    "elicitation/create": "CreateElicitationRequest",
    "fs/read_text_file": "ReadTextFileRequest",
    "fs/write_text_file": "WriteTextFileRequest",
    "terminal/create": "CreateTerminalRequest",
    "terminal/output": "TerminalOutputRequest",
    "terminal/wait_for_exit": "WaitForTerminalExitRequest",
    "terminal/kill": "KillTerminalRequest",
    "terminal/release": "ReleaseTerminalRequest",
    "$/cancel_request": "CancelRequestNotification",
}

Answerer = Callable[[dict[str, Any]], Any]
"""What the editor answers to a request of the agent; it may take its time over it."""


@cache
def checker(name: str) -> jsonschema.Draft202012Validator:
    """What holds a value against one definition of the schema."""
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})


def check(name: str, value: dict[str, Any]) -> None:
    """Hold a value against a definition. Most are the same in every session but for its id, and are held once."""
    checker("SessionId").validate(value.get("sessionId", ""))
    _check_once(name, json.dumps(value | {"sessionId": "any"} if "sessionId" in value else value))


@lru_cache(4096)
def _check_once(name: str, text: str) -> None:
    checker(name).validate(json.loads(text))


class Refused(Exception):
    """The agent answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        self.code, self.message, self.data = error["code"], error["message"], dict(error.get("data") or {})
        super().__init__(f"{self.code}: {self.message} {self.data or ''}")


class Editor:
    """A client whose every answer is a function; what it is not told to answer stays open.

    The agent runs beside it in this process, behind the same lines; `Remote` has one in a process of its own.
    """

    def __init__(self, place: Place, answers: dict[str, Answerer] | None = None) -> None:
        self.place, self.answers = place, answers or {}
        self.updates: list[dict[str, Any]] = []
        self.said: list[dict[str, Any]] = []
        self.wire: list[tuple[bool, dict[str, Any]]] = []
        self.asked: list[dict[str, Any]] = []
        self.stray: deque[dict[str, Any]] = deque()
        self._pending: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._count = 0
        self._changed = asyncio.Condition()
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._reading: asyncio.Task[None]
        self.complaints: list[str] = []
        self._later: set[asyncio.Future[Any]] = set()

    async def __aenter__(self) -> Self:
        loaded = load(self.place.home, self.place.env, self.place.sets, {"model": f"{self.place.wire}:m"})
        self._app = await App.open(loaded, self.place.env)
        self._agent = AcpAgent(self._app, self._lines.put_nowait, self._flushed)
        self._reading = asyncio.create_task(self._hear())
        return self

    async def _flushed(self) -> None:
        """Nothing stands between the two."""

    async def _hear(self) -> None:
        while True:
            await self._take(await self._lines.get())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.leave()
        if error is None:
            assert not self.complaints, "\n".join(self.complaints)

    async def leave(self) -> int:
        """Go away."""
        await self._agent.close()
        await self._app.close()
        while not self._lines.empty():
            await self._take(self._lines.get_nowait())
        self._reading.cancel()
        self._abandon()
        return 0

    def _abandon(self) -> None:
        for task in self._later:
            task.cancel()
        for _, future in self._pending.values():
            if not future.done():
                future.set_exception(ConnectionResetError("the agent is gone"))

    # -- what it says -------------------------------------------------------------------------------------------

    def write(self, message: bytes) -> None:
        """One line."""
        self._agent.peer.receive(message)

    def notify(self, method: str, **params: Any) -> None:
        """A notification."""
        self._put({"jsonrpc": "2.0", "method": method, "params": params})

    def _put(self, message: dict[str, Any]) -> None:
        self.wire.append((True, message))
        self.write(json.dumps(message).encode())

    def send(self, method: str, **params: Any) -> "asyncio.Future[Any]":
        """A request, begun; its number is `count`."""
        self._count += 1
        future = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._pending[self._count] = (method, future)
        self._put({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        return future

    @property
    def count(self) -> int:
        """The number of the last request."""
        return self._count

    async def ask(self, method: str, **params: Any) -> Any:
        """A request, to its end."""
        async with asyncio.timeout(90):
            return await self.send(method, **params)

    async def hello(self, **capabilities: Any) -> dict[str, Any]:
        """`initialize`."""
        result: dict[str, Any] = await self.ask("initialize", protocolVersion=1, clientCapabilities=capabilities)
        return result

    async def new(self, **more: Any) -> str:
        """`session/new` in the place's workspace."""
        made = await self.ask("session/new", cwd=str(self.place.workspace), mcpServers=[], **more)
        return str(made["sessionId"])

    async def load(self, session: str, method: str = "session/load") -> dict[str, Any]:
        """`session/load`, or `session/resume`."""
        cwd = str(self.place.workspace)
        result: dict[str, Any] = await self.ask(method, sessionId=session, cwd=cwd, mcpServers=[])
        return result

    def begin(self, session: str, *blocks: str | dict[str, Any]) -> "asyncio.Future[Any]":
        """`session/prompt`, begun."""
        prompt = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        return self.send("session/prompt", sessionId=session, prompt=prompt)

    async def prompt(self, session: str, *blocks: str | dict[str, Any]) -> str:
        """`session/prompt`, to its stop reason."""
        async with asyncio.timeout(90):
            return str((await self.begin(session, *blocks))["stopReason"])

    # -- what it hears ------------------------------------------------------------------------------------------

    async def _take(self, line: bytes) -> None:
        try:
            self._heard(json.loads(line))
        except (jsonschema.ValidationError, json.JSONDecodeError, KeyError) as error:
            self.complaints.append(f"{line[:300]!r}: {str(error)[:600]}")
        async with self._changed:
            self._changed.notify_all()

    def _heard(self, message: dict[str, Any]) -> None:
        assert message["jsonrpc"] == "2.0"
        self.said.append(message)
        self.wire.append((False, message))
        if "method" in message:
            check(ASKED[message["method"]], message["params"])
            if message["method"] == "session/update":
                self.updates.append(message["params"])
            elif "id" in message:
                self.asked.append(message)
                self._answer(message)
            return
        method, future = self._pending.pop(message["id"], ("", None)) if message["id"] is not None else ("", None)
        if future is None:
            check("Error", message["error"])
            self.stray.append(message)
        elif "error" in message:
            check("Error", message["error"])
            future.set_exception(Refused(message["error"]))
        else:
            check(RESULTS[method], message["result"])
            future.set_result(message["result"])

    def _answer(self, message: dict[str, Any]) -> None:
        answer = self.answers.get(message["method"])
        if answer is None:
            return
        try:
            result = answer(message["params"])
        except Refused as refused:
            error = {"code": refused.code, "message": refused.message}
            self._put({"jsonrpc": "2.0", "id": message["id"], "error": error})
        else:
            if isawaitable(result):
                self._later.add(asyncio.ensure_future(self._reply_later(message, result)))
            else:
                self.reply(message, result)

    async def _reply_later(self, message: dict[str, Any], result: Awaitable[Any]) -> None:
        self.reply(message, await result)

    def reply(self, message: dict[str, Any], result: Any) -> None:
        """Answer a request of the agent."""
        self._put({"jsonrpc": "2.0", "id": message["id"], "result": result})

    async def until(self, holds: Callable[[Self], Any]) -> None:
        """Wait until something has been heard."""
        async with asyncio.timeout(90), self._changed:
            await self._changed.wait_for(lambda: bool(holds(self)))

    async def rest(self, session: str) -> None:
        """Wait until no turn is open in a session, and all is told about it."""
        conversation = self._agent._open[session]
        async with asyncio.timeout(90):
            await conversation.session.settled()
        await conversation.drained()

    # -- what it makes of it ------------------------------------------------------------------------------------

    def kinds(self, session: str = "") -> list[str]:
        """The kinds of updates so far."""
        return [one["update"]["sessionUpdate"] for one in self.of(session)]

    def of(self, session: str = "") -> list[dict[str, Any]]:
        """The updates of one session, or all."""
        return [one for one in self.updates if not session or one["sessionId"] == session]

    def all(self, kind: str, session: str = "") -> list[dict[str, Any]]:
        """The updates of one kind."""
        return [one["update"] for one in self.of(session) if one["update"]["sessionUpdate"] == kind]

    def text(self, session: str = "", kind: str = "agent_message_chunk") -> str:
        """What was said, joined."""
        return "".join(one["content"].get("text", "") for one in self.all(kind, session))


async def session_of_before(place: Place, *said: str) -> str:
    """A session that another process has opened, in which this was said."""
    async with Editor(place) as editor:
        await editor.hello()
        session = await editor.new()
        for words in said:
            await editor.prompt(session, words)
    return session


def first(server: ModelServer, folder: Path, *, wire: str = CHAT, sets: Sequence[str] = ()) -> Place:
    """A fresh place."""
    return Place(folder, server, wire=wire, sets=sets)
