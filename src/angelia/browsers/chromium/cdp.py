"""The Chrome DevTools Protocol: questions and their answers, and events, as JSON over whatever carries messages.

https://chromedevtools.github.io/devtools-protocol/ (sessions are flat: each message carries its `sessionId`).
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, Struct, UnsetType

from angelia.browsers.port import ActFailed, ActOutcome, BrowserGone

SECONDS = 15.0
"""Until an answer must be there; what takes longer says so itself."""
Listener = Callable[[str, dict[str, Any]], None]
"""Called with the name and the parameters of each event of one session."""


class ProtocolError(Exception):
    """The browser refuses a call, in its own words: what is asked for is not there, or not any more."""


class Transport(Protocol):
    """Carries whole messages, in order, both ways, until either side hangs up."""

    def begin(self, take: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        """Hand each message to `take`; `ended` is called once, when there will be none any more."""
        ...

    def send(self, message: bytes) -> None:
        """Have a message on its way; nothing happens where it has ended."""
        ...

    def close(self) -> None:
        """Hang up. Idempotent."""
        ...


class _Told(Struct, frozen=True):
    id: int = 0
    method: str = ""
    params: dict[str, Any] = {}
    result: dict[str, Any] = {}
    error: dict[str, Any] | UnsetType = UNSET
    session: str = msgspec.field(default="", name="sessionId")


class CdpConnection:
    """One browser. Its methods belong to one event loop."""

    def __init__(self, transport: Transport) -> None:
        """`transport` becomes ours."""
        self._transport = transport
        self._decoder = msgspec.json.Decoder(_Told)
        self._encoder = msgspec.json.Encoder()
        self._last = 0
        self._waiting: dict[int, tuple[str, asyncio.Future[dict[str, Any]]]] = {}
        self._listeners: dict[str, Listener] = {}
        self._loop = asyncio.get_running_loop()
        self.gone = self._loop.create_future()
        transport.begin(self._take, self._ended)

    def listen(self, session: str, listener: Listener) -> None:
        """Hand the events of a session to `listener`; the empty session is the browser's own."""
        self._listeners[session] = listener

    def forget(self, session: str, why: ActFailed) -> None:
        """A session has ended: whoever waits for its answers hears why."""
        self._listeners.pop(session, None)
        for number, (of, future) in list(self._waiting.items()):
            if of == session and not future.done():
                del self._waiting[number]
                future.set_exception(why)

    async def call(
        self, method: str, params: dict[str, Any] | None = None, *, session: str = "", seconds: float = SECONDS
    ) -> dict[str, Any]:
        """What the browser answers.

        Raises:
            ProtocolError: it refuses.
            ActFailed: it does not answer in time (`TIMED_OUT`), or the session ended meanwhile.
            BrowserGone: it has ended.
        """
        if self.gone.done():
            raise _gone()
        self._last += 1
        number, future = self._last, self._loop.create_future()
        said: dict[str, Any] = {"id": number, "method": method, "params": params or {}}
        if session:
            said["sessionId"] = session
        self._waiting[number] = session, future
        self._transport.send(self._encoder.encode(said))
        try:
            async with asyncio.timeout(seconds):
                answer: dict[str, Any] = await future
                return answer
        except TimeoutError:
            why = f"The browser did not answer {method} within {seconds:g} s."
            raise ActFailed(ActOutcome.TIMED_OUT, why) from None
        finally:
            self._waiting.pop(number, None)

    def tell(self, method: str, params: dict[str, Any], *, session: str = "") -> None:
        """Have the browser do something whose answer nobody waits for."""
        if not self.gone.done():
            self._last += 1
            said: dict[str, Any] = {"id": self._last, "method": method, "params": params}
            if session:
                said["sessionId"] = session
            self._transport.send(self._encoder.encode(said))

    def close(self) -> None:
        """Hang up: a browser of ours ends by that. Idempotent."""
        self._transport.close()

    def _ended(self) -> None:
        if not self.gone.done():
            self.gone.set_result(None)
        waiting, self._waiting = self._waiting, {}
        for _, future in waiting.values():
            if not future.done():
                future.set_exception(_gone())

    def _take(self, message: bytes) -> None:
        try:
            told = self._decoder.decode(message)
        except msgspec.MsgspecError:
            self.close()  # whoever speaks there is no browser
            return
        if told.id:
            _, future = self._waiting.get(told.id, ("", None))
            if future is not None and not future.done():
                if told.error is UNSET:
                    future.set_result(told.result)
                else:
                    future.set_exception(ProtocolError(str(told.error.get("message", told.error))))
        elif listener := self._listeners.get(told.session):
            with suppress(KeyError):  # an event whose parameters another version words differently says nothing here
                listener(told.method, told.params)


def _gone() -> BrowserGone:
    return BrowserGone(
        "The browser has ended.", "Its pages are lost.", "Open the page again: another browser is started."
    )
