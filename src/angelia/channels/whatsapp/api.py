"""Calls of the Graph API over HTTP: one request and one answer each, tried once."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from angelia.channels.exchange import ChannelRequest, Exchanges
from angelia.channels.failures import CannotFetch, ChannelError, Later, NotSent, Rejected, Unsure
from angelia.channels.multipart import CHUNK, Field, Multipart, UploadField
from angelia.channels.whatsapp import refusals
from angelia.channels.whatsapp.settings import WhatsAppSettings

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

_META = (".fbsbx.com", ".fbcdn.net", ".whatsapp.net", ".facebook.com")
"""Where Meta keeps media: our token goes nowhere else."""

_USAGE = "x-business-use-case-usage"
"""How long to wait, in minutes ("Rate limits", `estimated_time_to_regain_access`)."""

_MOST_GUESSES = 5
"""Waits that are not told grow up to 4^5 seconds, 17 minutes."""


class _Use(Struct, frozen=True):
    estimated_time_to_regain_access: float = 0.0


class Graph:
    """Calls about one phone number. `answer` is the seconds without a byte after which a call is given up."""

    def __init__(
        self,
        settings: WhatsAppSettings,
        token: Callable[[], Awaitable[str]],
        answer: float,
    ) -> None:
        self._phone, self._base = settings.phone, f"{settings.api.rstrip('/')}/{settings.version}"
        self._read_token = token
        self._exchanges = Exchanges("WhatsApp", answer)
        self._floods: dict[str, int] = {}

    async def look(self, silence: float) -> None:
        """Ask for the phone number itself, which tells whether we are let in.

        Raises:
            ChannelError: as `Channel.run` says.
        """
        async with self._exchange("GET", f"{self._base}/{self._number}?fields=id", wait=silence) as response:
            _checked(response.status_code, await response.aread(), 0.0)

    async def post(self, what: str, body: Mapping[str, Any], kind: type[T], to: str = "") -> T:
        """Post to the phone number's `what`; floods are counted by whom it goes `to`.

        Raises:
            ChannelError: as `Channel.send` says.
        """
        content, headers = msgspec.json.encode(body), {"content-type": "application/json"}
        async with self._exchange("POST", f"{self._base}/{self._number}/{what}", content, headers) as response:
            answer = await response.aread()
            self._checked(response, answer, to)
        return _decoded(answer, kind)

    async def upload(self, upload: UploadField) -> str:
        """Bring a file to WhatsApp, where nobody sees it yet; its id.

        Raises:
            ChannelError: as `Channel.send` says, but never `Unsure`.
        """
        fields = [
            Field("messaging_product", b"whatsapp", "text/plain"),
            Field("type", upload.mime.encode(), "text/plain"),
        ]
        form = Multipart(fields, [upload])
        try:
            async with self._exchange(
                "POST", f"{self._base}/{self._number}/media", form.body(), form.headers
            ) as response:
                answer = await response.aread()
                self._checked(response, answer, "")
            return _decoded(answer, _Uploaded).id
        except Unsure as error:
            raise NotSent(error.what) from error

    async def download(self, media: str) -> AsyncIterator[bytes]:
        """The bytes of something that somebody sent, in pieces.

        Raises:
            CannotFetch, NotSent: as `Channel.fetch` says.
        """
        try:
            async with self._exchange("GET", f"{self._base}/{media}?phone_number_id={self._number}") as response:
                answer = await response.aread()
                _checked(response.status_code, answer, 0.0)
            place = _decoded(answer, _Place)
            self._trusted(place.url)
            size = 0
            async with self._exchange("GET", place.url) as response:
                if response.status_code != 200:
                    _checked(response.status_code, await response.aread(), 0.0)
                async for piece in response.aiter_bytes(CHUNK):
                    size += len(piece)
                    yield piece
            if size != int(place.file_size):
                raise NotSent(f"WhatsApp brought {size} of {place.file_size} bytes.")
        except (CannotFetch, NotSent):
            raise
        except Rejected as error:
            raise CannotFetch(f"The file cannot be had from WhatsApp any more. {error.what}") from error
        except ChannelError as error:
            raise NotSent(error.what) from error

    async def close(self) -> None:
        """Let go of the connections. May be repeated."""
        await self._exchanges.close()

    @property
    def _number(self) -> str:
        if not self._phone.isdigit():
            raise refusals.login_failed(f"the setting `phone` is {self._phone!r}, and has to be a phone number's id")
        return self._phone

    def _trusted(self, url: str) -> None:
        """The token goes only to Meta, or to where the settings lead."""
        place, home = urlsplit(url), urlsplit(self._base)
        if place.netloc == home.netloc and place.scheme == home.scheme:
            return
        if place.scheme != "https" or not f".{place.hostname}".endswith(_META):
            raise CannotFetch(f"The file is said to lie at {place.hostname}, which is not Meta's.")

    def _checked(self, response: "httpx2.Response", answer: bytes, to: str) -> None:
        """Count how often in a row patience was asked for, since a wait is rarely told ("131056": 4^X seconds)."""
        asked = _asked(response.headers)
        tries = self._floods.get(to, 0)
        seconds = asked or guessed_wait(tries)
        try:
            _checked(response.status_code, answer, seconds)
        except Later:
            self._floods[to] = tries + 1
            raise
        self._floods.pop(to, None)

    @asynccontextmanager
    async def _exchange(
        self,
        verb: str,
        url: str,
        content: Any = None,
        headers: Mapping[str, str] = {},
        wait: float = 0.0,
    ) -> AsyncIterator["httpx2.Response"]:
        """One request, with our token, and its response."""
        token = (await self._read_token()).strip()
        if not token:
            raise refusals.login_failed("there is no token where the setting `token` points to")
        headers = {"authorization": f"Bearer {token}", **headers}
        async with self._exchanges.exchange(ChannelRequest(verb, url, content, headers, wait)) as response:
            yield response


class _Uploaded(Struct, frozen=True):
    id: str


class _Place(Struct, frozen=True):
    url: str
    file_size: int | str = 0


def _checked(status: int, answer: bytes, seconds: float) -> None:
    if status >= 300:
        raise refusals.told(status, refusals.read(answer), seconds)


def _decoded(answer: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(answer, type=kind)
    except msgspec.MsgspecError as error:
        raise Unsure(f"WhatsApp's answer cannot be read: {error}.") from error


def guessed_wait(tries: int) -> float:
    """Seconds to wait where WhatsApp does not say, after so many floods in a row, of any number ("131056": 4^X).

    >>> guessed_wait(2), guessed_wait(100_000)
    (16.0, 1024.0)
    """
    return 4.0 ** min(tries, _MOST_GUESSES)


def _asked(headers: Mapping[str, str]) -> float:
    """The seconds that a response asks to wait; 0 where it does not say."""
    if (after := headers.get("retry-after", "")).isdigit():
        return float(after)
    try:
        uses = msgspec.json.decode(headers.get(_USAGE, "{}"), type=dict[str, Sequence[_Use]])
    except msgspec.MsgspecError:
        return 0.0
    return 60.0 * max((use.estimated_time_to_regain_access for one in uses.values() for use in one), default=0.0)
