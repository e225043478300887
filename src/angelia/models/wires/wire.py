"""How a request goes out and its reply comes in, on every wire that is spoken over HTTP."""

import contextlib
import hashlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from typing import Protocol
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from angelia.context.request import ModelRequest, RequestMessage
from angelia.core.content import ReplyPart
from angelia.core.errors import ConfigError, ModelError
from angelia.core.failure import AS_IT_WAS, Failure, FailureKind
from angelia.http.deadlines import DeadlineTimer
from angelia.http.errors import HttpError
from angelia.http.events import EventDecoder
from angelia.http.server import HttpReply, HttpServer
from angelia.models.context import GetServer, ProviderContext, WireTimeouts
from angelia.models.port import Credential, Piece, Reply
from angelia.models.wires.failures import of_response, redacted
from angelia.models.wires.fragments import Fragments
from angelia.models.wires.refused_parts import refused_part
from angelia.models.wires.wrong_address import certain, no_model_server, page_title


class WireRequest(Struct, frozen=True):
    """One request: a path below the vendor's base URL, headers and a whole body. `parameters` and `tools` name, in
    order, what could be left out of it if the server refuses it.
    """

    path: str
    headers: dict[str, str]
    body: bytes
    parameters: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()


def bearer(credential: Credential) -> dict[str, str]:
    """The header of a login; none for servers that want none."""
    return {"authorization": f"Bearer {credential.secret}"} if credential.secret else {}


class ReplyReader(Protocol):
    """Makes one reply out of what a server sends; does no I/O."""

    def event(self, name: str, data: bytes) -> Iterable[Piece]:
        """What one event of a stream brings; a `Reply` when it is the finish event, and nothing after that.

        Raises:
            ModelError: the event is an error, or cannot be read.
        """
        ...

    def ended(self) -> Reply | None:
        """The reply, if it is whole now that the stream has ended cleanly."""
        ...

    def whole(self, body: bytes) -> Reply:
        """The reply of a server that did not stream.

        Raises:
            ModelError: the body is an error, or cannot be read.
        """
        ...

    def partial(self) -> tuple[ReplyPart, ...]:
        """What has arrived so far."""
        ...


class Wire(Protocol):
    """One protocol: messages to fragments, fragments to a request, and a reader for the reply."""

    async def encode(self, message: RequestMessage, before: RequestMessage | None) -> bytes:
        """One message as JSON values joined by commas; `before` is the message before it."""
        ...

    def outgoing(self, request: ModelRequest, fragments: Sequence[bytes], credential: Credential) -> WireRequest:
        """The whole request."""
        ...

    def reader(self) -> ReplyReader:
        """A reader for one reply."""
        ...


class HttpProvider:
    """A model behind an HTTP server."""

    def __init__(self, wire: Wire, context: ProviderContext) -> None:
        """Nothing is sent yet.

        Raises:
            ConfigError: its vendor is not reached by HTTP.
        """
        if context.server is None:
            raise ConfigError(
                "This model's wire is spoken over HTTP, and its vendor has no address.",
                then="Set base_url in the vendor's row of config.toml.",
            )
        self._wire = wire
        self._server = context.server
        self._timeouts = context.timeouts

    def session(self) -> "HttpProviderSession":
        """A session with an empty fragment cache."""
        return HttpProviderSession(self._wire, self._server, self._timeouts)


class HttpProviderSession:
    """One conversation's requests to one model."""

    def __init__(self, wire: Wire, server: GetServer, timeouts: WireTimeouts) -> None:
        self._wire = wire
        self._server = server
        self._timeouts = timeouts
        self._fragments = Fragments(wire.encode)
        self._refused: dict[bytes, Failure] = {}

    async def ask(self, request: ModelRequest, credential: Credential) -> AsyncGenerator[Piece]:
        """See `Session.ask`."""
        fragments = await self._fragments.of(request)
        outgoing = self._wire.outgoing(request, fragments, credential)
        reader = self._wire.reader()
        if self._refused and (known := self._refused.get(_digest(outgoing.body))):
            raise ModelError(known)  # the identical bytes would be refused again
        try:
            server = await self._server()
        except ConfigError as error:
            raise ModelError(Failure(FailureKind.WRONG_ADDRESS, said=str(error))) from error
        async with contextlib.aclosing(send(server, outgoing, reader, self._timeouts)) as pieces:
            try:
                async for piece in pieces:
                    yield piece
            except ModelError as failed:
                partial = reader.partial()
                if failed.failure.kind in AS_IT_WAS:
                    self._refused[_digest(outgoing.body)] = failed.failure
                raise ModelError(_told(failed.failure, credential, began=bool(partial)), partial) from failed.__cause__


async def send(
    server: HttpServer, outgoing: WireRequest, reader: ReplyReader, timeouts: WireTimeouts
) -> AsyncGenerator[Piece]:
    """Send one request; yield what comes, and exactly one `Reply`, last.

    Raises:
        ModelError: see `Session.ask`; `partial` is left to the caller.
    """
    response: HttpReply | None = None
    began, patience = False, DeadlineTimer()
    try:
        response = await patience.wait(_started(server, outgoing, timeouts), timeouts.first_byte)
        if not response.is_success:
            body = await patience.wait(response.read(), timeouts.silence)
            raise ModelError(_refusal(server, outgoing, response, body))
        if response.headers.get("content-type", "").lower().startswith("text/html"):
            page = await patience.wait(response.read(), timeouts.silence)
            raise ModelError(no_model_server(_where(server, outgoing), f"A web page answers there{page_title(page)}."))
        chunks = response.pieces
        incoming = _Whole(reader) if _is_json(response) else _Stream(reader)
        longest = timeouts.silence  # it has answered: from here on it may not fall silent
        while (chunk := await patience.wait(anext(chunks, None), longest)) is not None:
            began, longest = True, timeouts.silence
            for piece in incoming.feed(chunk):
                if isinstance(piece, Reply):
                    await _drained(chunks, patience)
                    yield piece
                    return
                yield piece
        if (reply := incoming.ended()) is None:
            raise _broken(began=True, said="The stream ended without its finish event.")
        yield reply
    except TimeoutError as error:
        answered = began or response is not None
        waited = f"{timeouts.silence:g} s of silence" if answered else f"no byte within {timeouts.first_byte:g} s"
        raise _broken(began, f"The server fell silent: {waited}.") from error
    except HttpError as error:
        if why := certain(error, server.base_url):
            raise ModelError(no_model_server(_where(server, outgoing), why)) from error
        raise _broken(began, _said(error, server)) from error
    finally:
        patience.close()
        if response is not None:
            await response.aclose()


class _Stream:
    """Feeds a reader with events."""

    def __init__(self, reader: ReplyReader) -> None:
        self._reader, self._events = reader, EventDecoder()

    def feed(self, chunk: bytes) -> Iterable[Piece]:
        for event in self._events.feed(chunk):
            yield from self._reader.event(event.name, event.data)

    def ended(self) -> Reply | None:
        return self._reader.ended()


class _Whole:
    """Collects the body of a server that answers a streaming request with plain JSON."""

    def __init__(self, reader: ReplyReader) -> None:
        self._reader = reader
        self._body: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterable[Piece]:
        self._body.append(chunk)
        return ()

    def ended(self) -> Reply:
        return self._reader.whole(b"".join(self._body))


async def _started(server: HttpServer, outgoing: WireRequest, timeouts: WireTimeouts) -> HttpReply:
    headers = {"content-type": "application/json", "accept-encoding": "identity", **outgoing.headers}
    return await server.post(outgoing.path, headers, outgoing.body, timeouts.connect)


async def _drained(chunks: AsyncIterator[bytes], patience: DeadlineTimer) -> None:
    """Read the body's end, so that the connection serves the next request; a server that dawdles is left behind."""
    with contextlib.suppress(TimeoutError, HttpError):
        while await patience.wait(anext(chunks, None), 0.5) is not None:
            pass


def _refusal(server: HttpServer, outgoing: WireRequest, response: HttpReply, body: bytes) -> Failure:
    """What an unsuccessful answer means; if it names a part of the request, that part decides."""
    where = _where(server, outgoing)
    if response.is_redirect:
        to = response.headers.get("location", "nowhere")
        return no_model_server(where, f"It leads elsewhere ({response.status}): {to}.", response.status)
    failure = of_response(response.status, response.headers, body, time.time())
    if failure.kind is FailureKind.WRONG_ADDRESS:
        return no_model_server(where, f"It says: {failure.said.rstrip('.')}.", response.status)
    if failure.kind is not FailureKind.HISTORY_REFUSED:
        return failure
    found = refused_part(body, outgoing.parameters, outgoing.tools)
    return msgspec.structs.replace(failure, kind=found.kind, names=found.name) if found else failure


def _where(server: HttpServer, outgoing: WireRequest) -> str:
    return f"{server.base_url}/{outgoing.path}"


def _is_json(response: HttpReply) -> bool:
    return response.headers.get("content-type", "").lower().startswith("application/json")


def _broken(began: bool, said: str) -> ModelError:
    return ModelError(Failure(FailureKind.STREAM_CUT if began else FailureKind.UNREACHABLE, said=said))


def _said(error: Exception, server: HttpServer) -> str:
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{urlsplit(server.base_url).hostname}: {what}"


def _told(failure: Failure, credential: Credential, *, began: bool) -> Failure:
    """The failure without the secret. Once a reply has begun, an unreachable server is a stream that was cut off."""
    if began and failure.kind is FailureKind.UNREACHABLE:
        failure = msgspec.structs.replace(failure, kind=FailureKind.STREAM_CUT)
    return redacted(failure, credential.secret)
