"""A client of `/api`: what the page can do, from Python.

async with ApiClient("http://localhost:8780") as client:
    await client.log_in("http://localhost:8780/#code=…")
    own = await client.begin()
    await client.say(own, "How many eggs are there?")
    async for event in client.follow(own):
        ...
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar
from urllib.parse import quote

import msgspec

from angelia.client.answers import (
    ApiEvent,
    BegunConversation,
    ConversationList,
    ConversationState,
    EntryList,
    FoundEntries,
    HomeState,
    ListedQuestion,
    ListedQuestions,
    ResumedTurn,
    StoppedTurn,
    StoredMessage,
    StoredUpload,
    TakenBackMessage,
)
from angelia.core.errors import AngeliaError
from angelia.core.ids import sortable_id

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

_AGAIN_S = 1.0
_SILENT_S = 30.0
"""Three beats: whoever hears nothing for so long is not connected any more."""


class ApiError(AngeliaError):
    """The answer was no: its HTTP `status`, and what the server says about it."""

    def __init__(self, status: int, what: str, why: str = "", then: str = "") -> None:
        self.status = status
        super().__init__(what, why, then)


class ApiClient:
    """One login at one home. `login` is that of an earlier client (`ApiClient.login`), where there was one."""

    def __init__(self, address: str = "http://localhost:8780", login: str = "") -> None:
        self._address = address.rstrip("/")
        self.login = login
        self._opened: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        import httpx2

        # whom a machine trusts takes 30 ms to read, and is not asked without TLS; then nobody is trusted
        trust = self._address.lower().startswith("https:") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._opened = httpx2.AsyncClient(timeout=_SILENT_S, verify=trust)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened:
            await self._opened.aclose()

    # -- logging in ---------------------------------------------------------------------------------------------------

    async def log_in(self, link: str) -> None:
        """Log in with a link that `angelia web` prints, or with the code in it; it holds once.

        Raises:
            ApiError: it does not hold (any more).
        """
        came = await self._send("POST", "/api/login", {"code": link.partition("#code=")[2] or link})
        self.login = came.headers["set-cookie"].partition(";")[0]

    async def log_out(self) -> None:
        """End the login."""
        await self._send("POST", "/api/logout", {})
        self.login = ""

    # -- the home -----------------------------------------------------------------------------------------------------

    async def home(self) -> HomeState:
        """Model, mode, money of today."""
        return await self._read("/api/home", HomeState)

    async def conversations(
        self, *, limit: int = 50, before: str = "", folder: str = "", door: str = ""
    ) -> ConversationList:
        """Conversations of all doors, the newest first."""
        query = {"limit": limit, "before": before, "folder": folder, "door": door}
        return await self._read("/api/conversations", ConversationList, query)

    async def search(self, words: str, *, limit: int = 50) -> FoundEntries:
        """What was said, by its words."""
        return await self._read("/api/conversations", FoundEntries, {"q": words, "limit": limit})

    async def questions(self) -> list[ListedQuestion]:
        """What waits for a person, in all conversations."""
        return (await self._read("/api/questions", ListedQuestions)).questions

    async def get(self, path: str, **query: str | int) -> dict[str, Any]:
        """What any other path answers that is read as JSON, such as `/api/usage`."""
        return await self._read(path, dict[str, Any], query)

    # -- one conversation ---------------------------------------------------------------------------------------------

    async def begin(self, *, folder: str = "", sandbox: str = "") -> str:
        """A new conversation; returns its id."""
        body = {"folder": folder, "sandbox": sandbox}
        return (await self._write("/api/conversations", body, BegunConversation)).id

    async def conversation(self, own: str) -> ConversationState:
        """Where it stands."""
        return await self._read(_at(own), ConversationState)

    async def entries(self, own: str, *, before: int = 0, limit: int = 200) -> EntryList:
        """What stands in it, in order: the last entries, or those before one."""
        return await self._read(f"{_at(own)}/entries", EntryList, {"before": before, "limit": limit})

    async def say(
        self,
        own: str,
        text: str,
        *,
        files: tuple[str, ...] = (),
        key: str = "",
        arrival: Literal["steer", "queue"] = "steer",
    ) -> StoredMessage:
        """Say something; it is stored when this returns. The same `key` again changes nothing."""
        body = {"text": text, "key": key or sortable_id(), "files": list(files), "arrival": arrival}
        return await self._write(f"{_at(own)}/messages", body, StoredMessage)

    async def take_back(self, own: str, seq: int) -> TakenBackMessage:
        """Take back a message of yours that waits to be read, by its entry number; no request carries it.

        Raises:
            ApiError: it is read already, or no message of yours waits under this number (409).
        """
        return await self._write(f"{_at(own)}/entries/{seq}/take-back", {}, TakenBackMessage)

    async def answer(
        self,
        own: str,
        question: ListedQuestion,
        *,
        yes: bool = True,
        words: str = "",
        scope: Literal["once", "conversation", "remembered"] = "once",
    ) -> None:
        """Say yes or no to a question, or answer it in words.

        Raises:
            ApiError: it is not open any more, or has changed since.
        """
        body = {"call": question.call, "digest": question.digest, "yes": yes, "words": words, "scope": scope}
        await self._send("POST", f"{_at(own)}/answers", body)

    async def stop(self, own: str) -> bool:
        """Stop the running turn; False when none runs."""
        return (await self._write(f"{_at(own)}/stop", {}, StoppedTurn)).stopped

    async def resume(self, own: str) -> bool:
        """Go on with a turn that was left open; False where none is."""
        return (await self._write(f"{_at(own)}/resume", {}, ResumedTurn)).resumed

    async def upload(self, name: str, data: bytes) -> StoredUpload:
        """Bring a file, for a message to name."""
        came = await self._send("POST", f"/api/uploads?name={quote(name)}", data)
        return msgspec.json.decode(came.content, type=StoredUpload)

    async def media(self, own: str, seq: int, part: int) -> bytes:
        """The bytes of a picture or file: part number `part` of the entry `seq`."""
        return (await self._send("GET", f"{_at(own)}/media/{seq}/{part}")).content

    async def follow(self, own: str, after: int = 0) -> AsyncIterator[ApiEvent]:
        """Everything after the entry `after`, as it happens, until you stop listening. A connection that is lost is
        made again, and goes on after the last entry that was told: none is left out, and none comes twice.

        Raises:
            ApiError: there is no such conversation, or the login has ended.
        """
        import httpx2

        while True:
            try:
                async for event in self._events(f"{_at(own)}/events", after):
                    after = max(after, event.seq)
                    yield event
            except httpx2.TransportError:
                pass
            await asyncio.sleep(_AGAIN_S)

    # -- by HTTP ------------------------------------------------------------------------------------------------------

    async def _events(self, path: str, after: int) -> AsyncIterator[ApiEvent]:
        head = {**self._head("GET"), "last-event-id": str(after)}
        async with self._http.stream("GET", self._address + path, headers=head) as came:
            if came.status_code != 200:
                await came.aread()
                raise _refused(came)
            name, data, seq = "", "", 0
            async for line in came.aiter_lines():
                field, _, value = line.partition(": ")
                match field:
                    case "event":
                        name = value
                    case "data":
                        data = value
                    case "id":
                        seq = int(value)
                    case "" if name:
                        yield ApiEvent(name, msgspec.json.decode(data, type=dict[str, Any]), seq)
                        name, data, seq = "", "", 0
                    case _:
                        pass

    async def _read(self, path: str, kind: type[T], query: dict[str, Any] | None = None) -> T:
        asked = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in (query or {}).items() if value)
        came = await self._send("GET", f"{path}?{asked}" if asked else path)
        return msgspec.json.decode(came.content, type=kind)

    async def _write(self, path: str, body: dict[str, Any], kind: type[T]) -> T:
        return msgspec.json.decode((await self._send("POST", path, body)).content, type=kind)

    async def _send(self, method: str, path: str, body: dict[str, Any] | bytes | None = None) -> "httpx2.Response":
        head = self._head(method)
        if isinstance(body, bytes):
            head["content-type"] = "application/octet-stream"
        content = body if isinstance(body, bytes | None) else msgspec.json.encode(body)
        came = await self._http.request(method, self._address + path, content=content, headers=head)
        if came.status_code >= 400:
            raise _refused(came)
        return came

    def _head(self, method: str) -> dict[str, str]:
        own = {"cookie": self.login} if self.login else {}
        return own if method == "GET" else {**own, "origin": self._address, "content-type": "application/json"}

    @property
    def _http(self) -> "httpx2.AsyncClient":
        if self._opened is None:
            raise AngeliaError("This client is not open.", then="Use it as `async with ApiClient(…) as client`.")
        return self._opened


def _at(own: str) -> str:
    return f"/api/conversations/{quote(own, safe='')}"


class _Said(msgspec.Struct):
    what: str = ""
    why: str = ""
    then: str = ""


class _ErrorBody(msgspec.Struct):
    error: _Said


def _refused(came: "httpx2.Response") -> ApiError:
    try:
        said = msgspec.json.decode(came.content, type=_ErrorBody).error
    except (msgspec.MsgspecError, ValueError):
        said = _Said(f"The answer was HTTP {came.status_code}.")
    return ApiError(came.status_code, said.what, said.why, said.then)
