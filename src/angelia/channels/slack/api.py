"""Calls of Slack's Web API (docs.slack.dev, "Web API").

Our own calls instead of slack-sdk: the calls are few, and its clients bring retries and an own idea of when something
that came in is acknowledged, while here nothing may repeat out of sight, and nothing is acknowledged before it is
stored.
"""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct

from angelia.channels.exchange import ChannelRequest, Exchanges
from angelia.channels.failures import CannotFetch, ChannelError, NotSent, Unsure
from angelia.channels.lenient import read
from angelia.channels.multipart import CHUNK, pieces
from angelia.channels.outgoing import OutFile
from angelia.channels.port import ChannelContext
from angelia.channels.settings import Secret
from angelia.channels.slack.refusals import UNNAMED, SlackRefusal, login_failed, no_file, told
from angelia.channels.slack.settings import SlackSettings, SlackWaits

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

_TOKEN = re.compile(r"(xox[a-z]|xapp)[\w.-]{8,400}", re.ASCII)


class SlackAsked(Struct, frozen=True):
    """How one call is made: by which token, and how many seconds it may go without a byte (0: a step's)."""

    token: Secret | None = None
    wait: float = 0.0


class _Answer(Struct, frozen=True):
    ok: bool
    error: str = ""
    needed: str = ""


class SlackApi:
    """One app's calls, each tried once."""

    def __init__(self, settings: SlackSettings, context: ChannelContext, timeouts: SlackWaits) -> None:
        self._settings, self._context = settings, context
        self._base = settings.api.rstrip("/")
        self._exchanges = Exchanges("Slack", timeouts.step)
        self._tokens: dict[Secret, str] = {}

    async def call(
        self, method: str, arguments: Mapping[str, object], kind: type[T], asked: SlackAsked | None = None
    ) -> T:
        """Call a method; its result as `kind`. What is neither words nor a number goes as JSON.

        Raises:
            ChannelError: as `Channel.send` says.
        """
        asked = asked or SlackAsked()
        content = urlencode({name: _form(value) for name, value in arguments.items()}).encode()
        headers = await self._authorized(asked.token or self._settings.token)
        headers["content-type"] = "application/x-www-form-urlencoded"
        request = ChannelRequest("POST", f"{self._base}/{method}", content, headers, asked.wait)
        async with self._exchange(request) as response:
            body = await response.aread()
        answer = _decoded(method, body, _Answer)
        if not answer.ok:
            raise told(SlackRefusal(error=answer.error, needed=answer.needed, seconds=_seconds(response)))
        return _decoded(method, body, kind)

    async def upload(self, url: str, file: OutFile) -> None:
        """Bring a file's bytes to where Slack wants them; nobody sees them yet.

        Raises:
            ChannelError: as `Channel.send` says, but never `Unsure`.
        """
        self._trusted(url)
        headers = {"content-type": "application/octet-stream", "content-length": str(file.size)}
        try:
            async with self._exchange(_hidden(url, pieces(file.path), headers)) as response:
                await response.aread()
        except Unsure as error:
            raise NotSent(error.what) from error

    async def respond(self, url: str, body: object) -> None:
        """Answer at the address that came with a command or a button.

        Raises:
            ChannelError: as `Channel.send` says.
        """
        self._trusted(url)
        content, headers = msgspec.json.encode(body), {"content-type": "application/json"}
        async with self._exchange(_hidden(url, content, headers)) as response:
            await response.aread()

    async def download(self, url: str) -> AsyncIterator[bytes]:
        """The bytes of a file. Who may not have it is led to a page to log in.

        Raises:
            CannotFetch, NotSent: as `Channel.fetch` says.
        """
        self._trusted(url)
        headers = await self._authorized(self._settings.token)
        try:
            async with self._exchange(ChannelRequest("GET", url, headers=headers)) as response:
                if response.status_code != 200:
                    raise no_file(f"It leads elsewhere ({response.status_code}).")
                async for piece in response.aiter_bytes(CHUNK):
                    yield piece
        except (CannotFetch, NotSent):
            raise
        except ChannelError as error:
            raise NotSent(error.what) from error

    async def close(self) -> None:
        """Let go of the connections. May be repeated."""
        await self._exchanges.close()

    async def _authorized(self, where: Secret) -> dict[str, str]:
        if where not in self._tokens:
            token = (await self._context.secret(where)).strip()
            if not _TOKEN.fullmatch(token):
                raise login_failed("what is configured as a token is none")
            self._tokens[where] = token
        return {"authorization": f"Bearer {self._tokens[where]}"}

    def _trusted(self, url: str) -> None:
        """Our token and people's files go only to Slack, or to where the settings lead."""
        place, home = urlsplit(url), urlsplit(self._base)
        slacks = place.scheme == "https" and f".{place.hostname}".endswith(".slack.com")
        if not slacks and (place.scheme, place.netloc) != (home.scheme, home.netloc):
            raise no_file(f"It is said to lie at {place.hostname or 'no place'}, which is not Slack's.")

    @asynccontextmanager
    async def _exchange(self, request: ChannelRequest) -> AsyncIterator["httpx2.Response"]:
        """A request and its response, if it is no refusal."""
        async with self._exchanges.exchange(request) as response:
            if response.status_code >= 400:
                _refuse(response, download=request.verb == "GET")
            yield response


def _hidden(url: str, content: Any, headers: Mapping[str, str]) -> ChannelRequest:
    """A request to an address with which anybody may do what it is for: it is shown nowhere."""
    parts = urlsplit(url)
    target = f"{parts.path}?{parts.query}".removesuffix("?")
    return ChannelRequest("POST", f"{parts.scheme}://{parts.netloc}/-", content, headers, target=target.encode())


def _refuse(response: "httpx2.Response", *, download: bool) -> None:
    if download and response.status_code in (401, 403, 404, 410):
        raise no_file(f"It says {response.status_code}.")
    raise told(SlackRefusal(response.status_code, seconds=_seconds(response)))


def _form(value: object) -> str:
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def _decoded(method: str, body: bytes, kind: type[T]) -> T:
    try:
        return read(body, kind)
    except msgspec.MsgspecError as error:
        raise Unsure(f"Slack's answer to {method} cannot be read: {error}.") from error


def _seconds(response: "httpx2.Response") -> float:
    after = response.headers.get("retry-after", "")
    return float(after) if after.isdigit() else UNNAMED
