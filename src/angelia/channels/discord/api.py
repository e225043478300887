"""Calls of Discord's REST API, version 10 (docs.discord.com, "API Reference").

Our own calls instead of a client library: discord.py tries failed requests again up to five times and sleeps through
rate limits, neither of which can be switched off, and here nothing may wait or repeat out of sight.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from angelia.channels.discord.refusals import DiscordRefusal, login_failed, no_file, told
from angelia.channels.exchange import ChannelRequest, Exchanges
from angelia.channels.failures import Later, Unsure
from angelia.channels.lenient import read
from angelia.channels.multipart import CHUNK, Field, Multipart, UploadField

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

USER_AGENT = "DiscordBot (https://pypi.org/project/angelia, 0.1)"
"""Who we are, in the form that Discord demands ("User Agent")."""

_TOKEN = re.compile(r"[\w.-]{20,200}", re.ASCII)
_SECRET = re.compile(r"(?<=/)(interactions/\d+|webhooks/\d+)/[^/?]+")
_ID = re.compile(r"(?<=messages/)\d+")


class DiscordCall(Struct, frozen=True):
    """One request. `path` begins behind the version; `body` is sent as JSON, beside `uploads` if there are any."""

    method: str
    path: str
    body: object = None
    uploads: Sequence[UploadField] = ()


class _Refused(Struct, frozen=True):
    code: int = 0
    message: str = ""
    errors: dict[str, Any] = {}
    retry_after: float = 0.0
    is_global: bool = msgspec.field(default=False, name="global")


class DiscordApi:
    """One bot's calls. `answer` is the seconds without a byte after which a call is given up."""

    def __init__(
        self,
        base: str,
        token: Callable[[], Awaitable[str]],
        answer: float,
    ) -> None:
        self._base, self._read_token = base.rstrip("/"), token
        self._exchanges = Exchanges("Discord", answer)
        self._token = ""
        self._spent: dict[str, float] = {}

    async def token(self) -> str:
        """The bot's token.

        Raises:
            LoginFailed: what is configured is no token.
        """
        if not self._token:
            token = (await self._read_token()).strip().removeprefix("Bot ")
            if not _TOKEN.fullmatch(token):
                raise login_failed("what is configured as the bot's token is none")
            self._token = token
        return self._token

    async def call(self, call: DiscordCall, kind: type[T]) -> T:
        """Make a call; its result as `kind`, which is `None` for nothing.

        Raises:
            ChannelError: as `Channel.send` says. `Later` also for a limit that Discord said is used up.
        """
        route = f"{call.method} {_ID.sub('', call.path)}"
        self._respect(route)
        content, headers = _content(call)
        headers |= {"authorization": f"Bot {await self.token()}", "user-agent": USER_AGENT}
        shown = self._base + _SECRET.sub(r"\1/-", call.path)
        target = f"{urlsplit(self._base).path}{call.path}".encode()
        async with self._exchanges.exchange(
            ChannelRequest(call.method, shown, content, headers, target=target)
        ) as response:
            if response.status_code >= 300:
                self._refuse(response, await response.aread())
            body = await response.aread()
            self._note(route, response)
        return _result(call.path, body, kind)

    async def download(self, url: str) -> AsyncIterator[bytes]:
        """The bytes behind an address of Discord's, which needs no token.

        Raises:
            CannotFetch: they are not there.
            ChannelError: as `call`.
        """
        request = ChannelRequest("GET", url, headers={"user-agent": USER_AGENT})
        async with self._exchanges.exchange(request) as response:
            if response.status_code in (401, 403, 404, 410):
                raise no_file()
            if response.status_code >= 300:
                self._refuse(response, await response.aread())
            async for piece in response.aiter_bytes(CHUNK):
                yield piece

    async def close(self) -> None:
        """Let go of the connections. May be repeated."""
        await self._exchanges.close()

    def _refuse(self, response: "httpx2.Response", body: bytes) -> None:
        """Raise what a refusal means."""
        status = response.status_code
        try:
            refused = msgspec.json.decode(body, type=_Refused)
        except msgspec.MsgspecError:
            refused = _Refused()
        seconds = refused.retry_after or _number(response, "retry-after")
        if status == 429 and refused.is_global:
            self._spent[""] = asyncio.get_running_loop().time() + seconds
        wrong = "; ".join(_wrong(refused.errors))
        raise told(
            DiscordRefusal(status, refused.code, f"{refused.message}: {wrong}" if wrong else refused.message, seconds)
        )

    def _respect(self, route: str) -> None:
        """Raise `Later` where Discord said that a limit is used up: what is sent all the same counts against us."""
        now = asyncio.get_running_loop().time()
        until = max(self._spent.get(route, 0.0), self._spent.get("", 0.0))
        if until > now:
            raise Later(until - now)

    def _note(self, route: str, response: "httpx2.Response") -> None:
        """Remember a limit that is used up now ("Rate Limits")."""
        now = asyncio.get_running_loop().time()
        self._spent = {key: until for key, until in self._spent.items() if until > now}
        if response.headers.get("x-ratelimit-remaining") == "0":
            self._spent[route] = now + _number(response, "x-ratelimit-reset-after")


def _wrong(errors: Any, at: str = "") -> Iterator[str]:
    """The faults of a form, each behind its field ("Error Messages")."""
    if not isinstance(errors, dict):
        return
    for name, inner in errors.items():
        if name == "_errors" and isinstance(inner, list):
            yield from (f"{at} {one.get('message', '')}".strip() for one in inner if isinstance(one, dict))
        else:
            yield from _wrong(inner, f"{at}.{name}".lstrip("."))


def _content(call: DiscordCall) -> tuple[Any, dict[str, str]]:
    said = b"" if call.body is None else msgspec.json.encode(call.body)
    if call.uploads:
        form = Multipart([Field("payload_json", said, "application/json")], call.uploads)
        return form.body(), dict(form.headers)
    return said, {"content-type": "application/json"} if said else {}


def _result(path: str, body: bytes, kind: type[T]) -> T:
    try:
        return read(body or b"null", kind)
    except msgspec.MsgspecError as error:
        shown = _SECRET.sub(r"\1/-", path)
        raise Unsure(f"Discord's answer to {shown} cannot be read: {error}.") from error


def _number(response: "httpx2.Response", header: str) -> float:
    try:
        return float(response.headers.get(header, "0"))
    except ValueError:
        return 0.0
