"""A scripted model behind real HTTP on loopback, speaking OpenAI Chat Completions, OpenAI Responses and Anthropic."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import msgspec

from angelia.cancellation import cancel_and_wait
from angelia.core.failure import FailureKind
from angelia.testing.model import wire_anthropic, wire_chat, wire_responses
from angelia.testing.model.http1 import Answering, HttpRequest, read_request
from angelia.testing.model.perform import perform
from angelia.testing.model.received import Complaint, MediaTrouble, ReceivedRequest, estimated_tokens
from angelia.testing.model.script import ModelScript, ScriptOver
from angelia.testing.model.steps import Fail, Step, history_refused
from angelia.testing.model.wire import ServerWire

WIRES: dict[str, ServerWire] = {wire.path: wire for wire in (wire_chat.WIRE, wire_responses.WIRE, wire_anthropic.WIRE)}


class ServerLimits(msgspec.Struct, frozen=True):
    """What the server refuses, as a provider would.

    `body` is bytes of one request, `window` estimated tokens; 0 for no limit. Without `keys` every key is right, and
    without `wires`, protocols by their names, every one is spoken.
    """

    body: int = 0
    window: int = 0
    keys: tuple[str, ...] = ()
    wires: tuple[str, ...] = ()


NO_LIMITS = ServerLimits()


class ModelServer:
    """A server for the length of an `async with`.

    It answers each request with the next step of its script (or by the one function it was given), after checking
    the request as a provider would: every call has its result, roles and blocks are legal, signatures are its own.
    What was illegal or unforeseen is in `complaints`, is answered with 400, and fails the `async with` at its end;
    a test that provokes it empties the list.

    >>> from angelia.testing.model.steps import say
    >>> async def example() -> None:
    ...     async with ModelServer([say("hello")]) as server:
    ...         print(server.base_url)  # http://127.0.0.1:40001/v1
    """

    def __init__(
        self,
        script: Callable[[ReceivedRequest], Step] | Sequence[Step | Callable[[ReceivedRequest], Step]],
        *,
        limits: ServerLimits = NO_LIMITS,
        models: Sequence[str] = ("scripted",),
        port: int = 0,
        host: str = "127.0.0.1",
    ) -> None:
        self.script = ModelScript(script)
        self.requests: list[ReceivedRequest] = []
        self.complaints: list[str] = []
        self.connections = 0
        self.open_connections = 0
        self._limits = limits
        self._models = models
        self._host, self._port = host, port
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Condition()

    @property
    def url(self) -> str:
        """The root, as Anthropic's base URL is written."""
        return f"http://{self._host}:{self._port}"

    @property
    def base_url(self) -> str:
        """The root with `/v1`, as OpenAI's base URL is written."""
        return f"{self.url}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, self._host, self._port, backlog=1024)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        await cancel_and_wait(*self._tasks)
        await self._server.wait_closed()
        if self.complaints and error is None:
            raise AssertionError("The model server was given what it does not take:\n" + "\n".join(self.complaints))

    async def when(self, holds: Callable[[Self], bool]) -> None:
        """Wait until something holds, such as `lambda server: len(server.requests) == 2`.

        Looked at whenever a request has been read and whenever a connection opens or ends.
        """
        async with self._changed:
            await self._changed.wait_for(lambda: holds(self))

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self.open_connections += 1
        number = self.connections
        out = Answering(reader, writer)
        await self._tell()
        try:
            while (given := await read_request(reader)) is not None:
                await self._answer(given, number, out)
        except ConnectionError:
            return
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            self.open_connections -= 1
            with suppress(asyncio.CancelledError):  # the server itself ends, and the connection is closed already
                await out.close()
            await self._tell()

    async def _answer(self, given: HttpRequest, connection: int, out: Answering) -> None:
        if given.method == "GET" and given.path.endswith("/models"):
            await out.whole(200, self._model_list())
            return
        wire = next((wire for path, wire in WIRES.items() if given.path.endswith(path.removeprefix("/v1"))), None)
        spoken = self._limits.wires
        if wire is None or given.method != "POST" or (spoken and wire.name not in spoken):
            await out.whole(404, b'{"error":{"message":"Invalid URL (%s)"}}' % given.path.encode())
            return
        try:
            request = self._heard(given, connection, wire)
        except Complaint as complaint:
            self.complaints.append(f"{wire.name}: {complaint}")
            await self._refuse(history_refused(str(complaint)), wire, out)
            return
        except MediaTrouble as trouble:
            await self._refuse(Fail(FailureKind.MEDIA_REFUSED, said=str(trouble)), wire, out)
            return
        self.requests.append(request)
        await self._tell()
        await perform(self._step(request, given), request, wire, out)

    async def _refuse(self, fail: Fail, wire: ServerWire, out: Answering) -> None:
        error = wire.refuse(fail, "")
        await out.whole(error.status, error.body)

    def _heard(self, given: HttpRequest, connection: int, wire: ServerWire) -> ReceivedRequest:
        try:
            body: dict[str, Any] = msgspec.json.decode(given.body, type=dict[str, Any])
        except msgspec.MsgspecError as error:
            raise Complaint(f"We could not parse the JSON body of your request: {error}") from error
        heard = wire.hear(body)
        return ReceivedRequest(len(self.requests) + 1, connection, wire.name, given.headers, given.body, body, heard)

    def _step(self, request: ReceivedRequest, given: HttpRequest) -> Step:
        key = given.headers.get("x-api-key") or given.headers.get("authorization", "").removeprefix("Bearer ")
        tokens = estimated_tokens(request.raw, request.heard)
        if self._limits.keys and key not in self._limits.keys:
            return Fail(FailureKind.LOGIN_REJECTED)
        if 0 < self._limits.body < len(request.raw):
            return Fail(FailureKind.BODY_TOO_LARGE, limit=self._limits.body)
        if 0 < self._limits.window < tokens:
            return Fail(FailureKind.CONTEXT_TOO_LONG, limit=self._limits.window)
        try:
            return self.script.step(request)
        except ScriptOver as over:
            self.complaints.append(f"{request.wire}: {over}")
            return history_refused(str(over))

    def _model_list(self) -> bytes:
        data = [
            {"id": name, "type": "model", "object": "model", "created": 1_700_000_000, "owned_by": "tests"}
            | {"display_name": name, "created_at": "2026-01-01T00:00:00Z"}
            for name in self._models
        ]
        ends = {"first_id": self._models[0], "last_id": self._models[-1]} if self._models else {}
        return msgspec.json.encode({"object": "list", "data": data, "has_more": False, **ends})
