"""Calls of the Bot API over HTTP, and what their refusals mean (core.telegram.org/bots/api, "Making requests").

Our own calls instead of a client library: a call is one POST and one JSON answer, so that a library would bring no
more than its own queue, retries and waiting, all of which have to be switched off here; and this needs no extra.
"""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Raw, Struct

from angelia.channels.exchange import ChannelRequest, Exchanges
from angelia.channels.failures import ChannelError, NotSent, Unsure, login_failure
from angelia.channels.multipart import CHUNK, Field, Multipart, UploadField
from angelia.channels.telegram.refusals import TelegramRefusal, told

T = TypeVar("T")

_TOKEN = re.compile(r"\d{1,20}:[\w-]{8,100}", re.ASCII)


class _Answer(Struct, frozen=True):
    ok: bool
    result: Raw = Raw(b"null")
    error_code: int = 0
    description: str = ""
    parameters: "Parameters | None" = None


class Parameters(Struct, frozen=True):
    """`ResponseParameters`: what a refused request may do."""

    migrate_to_chat_id: int = 0
    retry_after: float = 0.0


class TelegramApi:
    """One bot's calls to one server. `answer` is the seconds without a byte after which a call is given up."""

    def __init__(
        self,
        base: str,
        token: Callable[[], Awaitable[str]],
        answer: float,
    ) -> None:
        self._base, self._read_token = base.rstrip("/"), token
        self._exchanges = Exchanges("Telegram", answer)
        self._token = ""

    async def token(self) -> str:
        """The bot's token.

        Raises:
            LoginFailed: what is configured is no token.
        """
        if not self._token:
            token = (await self._read_token()).strip()
            if not _TOKEN.fullmatch(token):
                raise login_failed("what is configured as the bot's token is none")
            self._token = token
        return self._token

    async def call(
        self,
        method: str,
        fields: Mapping[str, object],
        kind: type[T],
        uploads: Sequence[UploadField] = (),
        *,
        answer: float = 0.0,
    ) -> T:
        """Call a method; its result as `kind`. Fields that are empty strings or None are left out.

        Raises:
            ChannelError: as `Channel.send` says.
        """
        said = {name: _plain(value) for name, value in fields.items() if value not in ("", None)}
        if uploads:
            form = Multipart([Field(name, value.encode(), "text/plain") for name, value in said.items()], uploads)
            content: Any = form.body()
            headers = form.headers
        else:
            content, headers = _query(said), {"content-type": "application/x-www-form-urlencoded"}
        url, target = await self._place(method)
        async with self._exchanges.exchange(ChannelRequest("POST", url, content, headers, answer, target)) as response:
            body = await response.aread()
        return _result(method, response.status_code, body, kind)

    async def download(self, path: str) -> AsyncIterator[bytes]:
        """The bytes of a file that `getFile` named.

        Raises:
            ChannelError: as `Channel.fetch` says, and as `call`.
        """
        url, target = await self._place(f"file:{path}")
        async with self._exchanges.exchange(ChannelRequest("GET", url, target=target)) as response:
            if response.status_code != 200:
                raise told(TelegramRefusal("download", response.status_code, _description(await response.aread())))
            async for piece in response.aiter_bytes(CHUNK):
                yield piece

    async def close(self) -> None:
        """Let go of the connections. May be repeated."""
        await self._exchanges.close()

    async def _place(self, what: str) -> tuple[str, bytes]:
        """The URL that may be logged, and the one that is asked for, which holds the token."""
        root, token = urlsplit(self._base).path, await self.token()
        file = what.removeprefix("file:")
        if file != what:
            return f"{self._base}/file", f"{root}/file/bot{token}/{quote(file)}".encode()
        return f"{self._base}/{what}", f"{root}/bot{token}/{what}".encode()


login_failed = login_failure(
    "Telegram does not let the bot in.",
    "Ask @BotFather for its token (/mybots, API Token), and put it where the channel's setting `token` points to.",
)
"""The bot's token is of no use."""


def _result(method: str, status: int, body: bytes, kind: type[T]) -> T:
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except msgspec.MsgspecError as error:
        raise _no_answer(method, status) from error
    if not answer.ok:
        more = answer.parameters or Parameters()
        code = answer.error_code or status
        if code == 401 or (code == 404 and answer.description == "Not Found"):
            raise login_failed(answer.description or "Unauthorized")
        raise told(TelegramRefusal(method, code, answer.description, more.retry_after, more.migrate_to_chat_id))
    try:
        return msgspec.json.decode(answer.result, type=kind)
    except msgspec.MsgspecError as error:
        raise Unsure(f"Telegram's answer to {method} cannot be read: {error}.") from error


def _no_answer(method: str, status: int) -> ChannelError:
    """What came is not the Bot API's: a gateway stands in between, and behind it something may have been done."""
    if 400 <= status < 500:
        return told(TelegramRefusal(method, status, HTTPStatus(status).phrase if status in set(HTTPStatus) else ""))
    if status == 503:
        return NotSent("Telegram's gateway is too busy (503).")
    return Unsure(f"Telegram's gateway answered in its place ({status}).")


def _description(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Answer).description
    except msgspec.MsgspecError:
        return ""


def _plain(value: object) -> str:
    """A parameter as the API reads it: words as they are, anything else as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _query(fields: Mapping[str, str]) -> bytes:
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in fields.items()).encode()
