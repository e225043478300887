"""JSON-RPC 2.0 between two peers that ask each other, with many requests open at once."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from angelia.acp.faults import (
    CANCELLED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    NO_METHOD,
    PARSE_ERROR,
    Fault,
    fault_of,
    fault_of_ours,
)
from angelia.acp.lenient import read, storable
from angelia.acp.lines import HEAD, MOST_BYTES, TooLong, id_in
from angelia.cancellation import cancel_and_wait
from angelia.core.errors import UNREADABLE, AngeliaError

Id = int | str | None
T = TypeVar("T")
logger = logging.getLogger("angelia.acp")


class Then(Struct, frozen=True):
    """A result, and what is done once it is sent."""

    result: Struct
    act: Callable[[], None]


class Method(Struct, frozen=True):
    """How a request is answered. `stop`, if there is one, ends it early where its caller takes it back."""

    params: Any
    act: Callable[[Any], Coroutine[Any, Any, Struct | Then]]
    stop: Callable[[Any], Coroutine[Any, Any, None]] | None = None


class Notice(Struct, frozen=True):
    """What is done about a notification."""

    params: Any
    act: Callable[[Any], Coroutine[Any, Any, None]]


class _Error(Struct, frozen=True, omit_defaults=True):
    code: int
    message: str
    data: Any = UNSET


class _Message(Struct, frozen=True):
    """Any message that comes in: with a `method` it is a request or a notification, without one an answer."""

    id: Id | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: _Error | UnsetType = UNSET


class _Request(Struct, frozen=True):
    jsonrpc: str
    id: Id
    method: str
    params: Any


class _Notification(Struct, frozen=True):
    jsonrpc: str
    method: str
    params: Any


class _Result(Struct, frozen=True):
    jsonrpc: str
    id: Id
    result: Any


class _Failure(Struct, frozen=True):
    jsonrpc: str
    id: Id
    error: _Error


class _Taken(Struct, frozen=True, rename="camel"):
    """The parameters of `$/cancel_request`."""

    request_id: Id


class _Open(Struct):
    """A request that is being answered."""

    task: "asyncio.Task[Struct | Then]"
    stop: Callable[[], Coroutine[Any, Any, None]] | None = None


_encoder = msgspec.json.Encoder()
_message = msgspec.json.Decoder(_Message)
_NO_JSON = "This is not JSON in UTF-8, or it is nested too deep."


class Peer:
    """One end of a connection. `receive` never raises and never waits; what it starts ends with `close`."""

    def __init__(
        self, write: Callable[[bytes], None], methods: Mapping[str, Method], notices: Mapping[str, Notice]
    ) -> None:
        self._write = write
        self._methods = methods
        self._notices = notices
        self._answering: dict[Id, _Open] = {}
        self._asked: dict[int, asyncio.Future[Raw]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._count = 0
        self._closed = False

    # -- what we ask --------------------------------------------------------------------------------------------

    def notify(self, method: str, params: Struct) -> None:
        """Tell the other side something."""
        self._send(_Notification("2.0", method, params))

    async def ask(self, method: str, params: Struct, answer: type[T]) -> T:
        """Ask the other side. Who is cancelled while waiting takes the request back.

        Raises:
            Fault: it answered with an error, or with something else than an `answer`.
            asyncio.CancelledError: this end was closed, before or meanwhile: no answer comes any more.
        """
        if self._closed:
            raise asyncio.CancelledError
        self._count += 1
        number = self._count
        future = self._asked[number] = asyncio.get_running_loop().create_future()
        self._send(_Request("2.0", number, method, params))
        try:
            return read(await future, answer)
        except UNREADABLE as error:
            logger.warning("%s was answered with something else: %s", method, error)
            raise Fault(INVALID_REQUEST, f"{method} was not answered as the protocol says.") from None
        except asyncio.CancelledError:
            if not future.done() or future.cancelled():
                self.notify("$/cancel_request", _Taken(number))
            raise
        finally:
            self._asked.pop(number, None)

    # -- what is asked of us ------------------------------------------------------------------------------------

    def receive(self, line: bytes | TooLong) -> None:
        """Take in one message, and begin to answer it."""
        if isinstance(line, TooLong):
            said = f"A message of {line.size / 1e6:.0f} MB is too long: at most {MOST_BYTES / 1e6:.0f} MB are taken."
            self._lost(line.head, line.tail, Fault(INVALID_REQUEST, said))
            return
        try:
            message = _message.decode(storable(line))
        except msgspec.ValidationError:
            self._lost(line[:HEAD], line[-HEAD:], Fault(INVALID_REQUEST, "This is no JSON-RPC message."))
        except UNREADABLE:
            self._lost(line[:HEAD], line[-HEAD:], Fault(PARSE_ERROR, _NO_JSON))
        else:
            self._heard(message)

    def _lost(self, head: bytes, tail: bytes, fault: Fault) -> None:
        """Of what cannot be taken in, whoever waits for it is told: the other side, or the one of ours who asked."""
        number = id_in(head, tail)
        answer = isinstance(number, int) and b'"method"' not in head + tail
        future = self._asked.get(int(number or 0)) if answer else None
        if future is None:
            self._refuse(number, fault)
        elif not future.done():
            future.set_exception(fault)

    def _heard(self, message: _Message) -> None:
        if isinstance(message.method, UnsetType):
            self._answered(message)
        elif isinstance(message.id, UnsetType):
            self._told(message.method, message.params)
        elif method := self._methods.get(message.method):
            self._begin(message.id, method, message.params)
        else:
            self._refuse(message.id, Fault(NO_METHOD, f"There is no method {message.method[:100]!r} here."))

    def _answered(self, message: _Message) -> None:
        """An answer to what we asked; one to what nobody waits for any more is nothing."""
        if isinstance(message.id, UnsetType):
            self._refuse(None, Fault(INVALID_REQUEST, "A message needs a method or an id."))
            return
        future = self._asked.get(message.id) if isinstance(message.id, int) else None
        if future is None or future.done():
            return
        if isinstance(message.error, _Error):
            future.set_exception(Fault(message.error.code, message.error.message))
        else:
            future.set_result(Raw(b"null") if isinstance(message.result, UnsetType) else message.result)

    def _told(self, name: str, params: Raw | UnsetType) -> None:
        """Who notifies hears of no error, so what cannot be understood is noted in the log."""
        if name == "$/cancel_request":
            self._take_back(params)
        elif notice := self._notices.get(name):
            try:
                self._start(notice.act(_read(params, notice.params)), _noted)
            except Fault as fault:
                logger.warning("%s was not understood: %s", name, fault.message)

    def _take_back(self, params: Raw | UnsetType) -> None:
        try:
            taken: _Taken = _read(params, _Taken)
        except Fault:
            return
        if request := self._answering.get(taken.request_id):
            if request.stop:
                self._start(request.stop(), _noted)
            else:
                request.task.cancel()

    def _begin(self, number: Id, method: Method, params: Raw | UnsetType) -> None:
        try:
            given = _read(params, method.params)
        except Fault as fault:
            self._refuse(number, fault)
            return
        task = self._start(method.act(given), lambda task: self._answer(number, task))
        stop = method.stop
        self._answering[number] = _Open(task, (lambda: stop(given)) if stop else None)

    def _answer(self, number: Id, task: "asyncio.Task[Struct | Then]") -> None:
        """Every request comes here once, also one that was taken back before its first step."""
        self._answering.pop(number, None)
        try:
            result = task.result()
            line = _encoder.encode(_Result("2.0", number, result.result if isinstance(result, Then) else result))
        except Fault as fault:
            self._refuse(number, fault)
        except AngeliaError as error:
            self._refuse(number, fault_of(error))
        except asyncio.CancelledError:
            self._refuse(number, Fault(CANCELLED, "Cancelled."))
        except Exception as error:  # noqa: BLE001 - the other side gets a sentence and a code, the log the trace
            self._refuse(number, fault_of_ours(error))
        else:
            self._write(line)
            if isinstance(result, Then):
                _follow(result)

    def _start(self, act: Coroutine[Any, Any, T], ended: Callable[["asyncio.Task[T]"], None]) -> "asyncio.Task[T]":
        task = asyncio.create_task(act)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(ended)
        return task

    def _refuse(self, number: Id, fault: Fault) -> None:
        self._send(_Failure("2.0", number, _Error(fault.code, fault.message, fault.data)))

    def _send(self, message: Struct) -> None:
        self._write(_encoder.encode(message))

    async def close(self) -> None:
        """End everything that is being answered or asked, or will be; nobody is there to hear of it."""
        self._closed = True  # what ends may ask once more on its way, and would wait for ever
        for future in self._asked.values():
            future.cancel()
        await cancel_and_wait(*self._tasks)


def _follow(then: Then) -> None:
    try:
        then.act()
    except Exception as error:  # noqa: BLE001 - the request is answered; the log has the trace
        fault_of_ours(error)


def _noted(task: "asyncio.Task[None]") -> None:
    """A notification's failure is heard by nobody but the log."""
    error = None if task.cancelled() else task.exception()
    if isinstance(error, AngeliaError):
        logger.warning("%s", error)
    elif isinstance(error, Exception):
        fault_of_ours(error)


def _read(params: Raw | UnsetType, wanted: Any) -> Any:
    given = b"{}" if isinstance(params, UnsetType) or bytes(params) == b"null" else params
    try:
        return read(given, wanted)
    except msgspec.ValidationError as error:
        raise Fault(INVALID_PARAMS, f"Invalid parameters: {error}.") from None
    except UNREADABLE:
        raise Fault(PARSE_ERROR, _NO_JSON) from None
