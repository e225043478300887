"""A wish as bytes for one server, and the way there: what every HTTP painter shares."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

from angelia.core.errors import UNREADABLE
from angelia.core.failure import Failure, FailureKind
from angelia.core.text import one_line
from angelia.models.pictures.port import MOST_BYTES, PaintFailed, PaintTrouble
from angelia.models.port import Credential
from angelia.models.wires.failures import of_response, redacted

if TYPE_CHECKING:
    import httpx2

_Shape = TypeVar("_Shape")

_SHORT = 1_000_000
"""Bytes that an answer without pictures may have."""

TRIES = 3
LONGEST_WAIT_S = 20.0
"""The longest wait that a busy server may ask for between two tries; a longer one ends in a sentence."""

_TROUBLES: Mapping[FailureKind, PaintTrouble] = {
    FailureKind.BUSY: PaintTrouble.BUSY,
    FailureKind.REFUSAL: PaintTrouble.REFUSED,
    FailureKind.LOGIN_REJECTED: PaintTrouble.LOGIN_REJECTED,
    FailureKind.OUT_OF_CREDIT: PaintTrouble.OUT_OF_CREDIT,
    FailureKind.UNKNOWN_MODEL: PaintTrouble.UNKNOWN_MODEL,
    FailureKind.WRONG_ADDRESS: PaintTrouble.WRONG_ADDRESS,
    FailureKind.UNREACHABLE: PaintTrouble.UNREACHABLE,
}
"""What a refusal means for a picture; what is not here is a request that is not taken as it is."""


class UploadedFile(Struct, frozen=True):
    """A file in a form, under the name of its field."""

    field: str
    name: str
    data: bytes
    mime: str


class PaintRequest(Struct, frozen=True):
    """One POST: either `body` as JSON, or a form of `fields` and `files`."""

    path: str
    body: Mapping[str, Any] = {}
    fields: Mapping[str, str] = {}
    files: Sequence[UploadedFile] = ()


class RawReply(Struct, frozen=True):
    """A whole reply, whatever its status."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class PaintServer:
    """A server that paints. One that is busy is asked again, since it did not begin; nothing else is."""

    def __init__(self, client: "httpx2.AsyncClient", headers: Mapping[str, str], credential: Credential) -> None:
        self._client, self._headers = client, headers
        self._credential = credential

    def own(self, url: str) -> bool:
        """Whether a URL leads to this very server, which the person named."""
        import httpx2

        try:
            there, here = httpx2.URL(url), self._client.base_url
        except (httpx2.InvalidURL, UnicodeError):
            return False
        return (there.scheme, there.host, there.port) == (here.scheme, here.host, here.port)

    async def ask(self, request: PaintRequest, *, most: int, seconds: float, connect: float) -> RawReply:
        """The reply to one request, of at most `most` bytes, within `seconds`.

        Raises:
            PaintFailed: it was refused, or no whole reply came.
        """
        for number in range(1, TRIES + 1):
            try:
                async with asyncio.timeout(seconds):
                    reply = await self._once("POST", request, most, connect)
            except TimeoutError:
                raise PaintFailed(PaintTrouble.LOST, f"no whole answer within {seconds:g} s", -1) from None
            if 200 <= reply.status < 300:
                return reply
            failure = self._failure(reply)
            wait = max(failure.retry_after / 1000, 2.0 ** (number - 1))
            if failure.kind is not FailureKind.BUSY or number == TRIES or wait > LONGEST_WAIT_S:
                raise self.refusal(reply)
            await asyncio.sleep(wait)
        raise AssertionError("the last try returns or raises")

    def refusal(self, reply: RawReply, cost: int = 0) -> PaintFailed:
        """What a reply that grants nothing means; `cost` is what it took all the same."""
        failure = self._failure(reply)
        trouble = _TROUBLES.get(failure.kind, PaintTrouble.NOT_TAKEN)
        return PaintFailed(trouble, _told(failure.said, reply.status), cost)

    def _failure(self, reply: RawReply) -> Failure:
        return redacted(of_response(reply.status, reply.headers, reply.body, time.time()), self._credential.secret)

    async def get(self, path: str, *, most: int, connect: float) -> RawReply:
        """What is at a path or URL of this server.

        Raises:
            PaintFailed: no whole reply came.
        """
        return await self._once("GET", PaintRequest(path), most, connect)

    async def send(self, method: str, request: PaintRequest, *, connect: float) -> RawReply:
        """One short request, whatever its answer: to call work off, or to hand a picture over.

        Raises:
            PaintFailed: no whole reply came.
        """
        return await self._once(method, request, _SHORT, connect)

    async def _once(self, method: str, request: PaintRequest, most: int, connect: float) -> RawReply:
        import httpx2

        files = [(file.field, (file.name, file.data, file.mime)) for file in request.files]
        given: dict[str, Any] = {"files": files, "data": request.fields} if files else {}
        if request.body:
            given = {"json": request.body}
        host, sent = self._client.base_url.host, False
        try:
            async with self._client.stream(
                method,
                request.path,
                headers=self._headers,
                timeout=httpx2.Timeout(None, connect=connect),
                **given,
            ) as response:
                sent = True
                body = await _whole(response, most)
                return RawReply(response.status_code, dict(response.headers), body)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise PaintFailed(PaintTrouble.UNREACHABLE, f"{host}: {_error(error)}") from error
        except httpx2.RequestError as error:
            went = "its answer was cut" if sent else "it hung up without an answer"
            raise PaintFailed(PaintTrouble.LOST, f"{host}: {went} ({_error(error)})", -1) from error


def _error(error: Exception) -> str:
    return one_line(" ".join(part for part in (type(error).__name__, str(error)) if part), 200)


def _told(said: str, status: int) -> str:
    return f"{one_line(said, 300).rstrip('.')} (HTTP {status})" if f"HTTP {status}" not in said else said


async def _whole(response: "httpx2.Response", most: int) -> bytes:
    chunks, size = [], 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > most:
            said = f"the answer has more than {most / 1e6:.0f} MB"
            raise PaintFailed(PaintTrouble.TOO_LARGE, said, -1 if response.is_success else 0)
        chunks.append(chunk)
    return b"".join(chunks)


def most_of(count: int) -> int:
    """Bytes that the reply with so many pictures may have: base64 takes a third more."""
    return count * (MOST_BYTES * 4 // 3) + 1_000_000


def decoded(reply: RawReply, shape: type[_Shape], cost: int = -1) -> _Shape:
    """The JSON of a reply.

    Raises:
        PaintFailed: it is none, or of another shape.
    """
    try:
        return msgspec.json.decode(reply.body, type=shape)
    except UNREADABLE as error:
        said = f"what came is no answer of such a server: {one_line(str(error), 200)}"
        raise PaintFailed(PaintTrouble.NOT_A_PICTURE, said, cost) from error
