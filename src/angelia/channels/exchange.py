"""One request over HTTP and its response, tried once; a failure says whether anything can have been done."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec import Struct

from angelia.channels.failures import NotSent, Unsure
from angelia.http.client import http_client

if TYPE_CHECKING:
    import httpx2

MakeClient = Callable[[str], Awaitable["httpx2.AsyncClient"]]

CONNECT = 10.0
"""Seconds for a connection."""

SENDING = 60.0
"""Seconds for which nothing of ours may get away, at least: the wait for an answer begins when all of it has."""


class ChannelRequest(Struct, frozen=True):
    """`url` may be logged; `target` is what is asked for of its host in place of its path, if that holds a secret.
    `wait` is in seconds without a byte of the answer, 0 for as long as usual.
    """

    verb: str
    url: str
    content: Any = None
    headers: Mapping[str, str] = {}
    wait: float = 0.0
    target: bytes = b""


class Exchanges:
    """The connections to one `network`, kept until they are closed. `wait` is as in `ChannelRequest`; `http` makes the
    client of a base URL, with the proxies and certificates of this machine if nobody says otherwise.
    """

    def __init__(self, network: str, wait: float, http: MakeClient = http_client) -> None:
        self._network = network
        self._http = http
        self._wait = wait
        self._opening = asyncio.Lock()
        self._clients: dict[str, httpx2.AsyncClient] = {}
        # at DEBUG it writes down the headers that leave, and tokens are among them
        logging.getLogger("hpack").setLevel(logging.INFO)

    @asynccontextmanager
    async def exchange(self, request: ChannelRequest) -> AsyncIterator["httpx2.Response"]:
        """A request and its response, of which nothing is read yet, whatever it says.

        Raises:
            NotSent: there was no connection.
            Unsure: it ended in any other way, also while the response was read.
        """
        import httpx2

        wait = request.wait or self._wait
        client = await self._client(request.url)
        built = client.build_request(
            request.verb,
            request.url,
            content=request.content,
            headers={"accept-encoding": "identity", **request.headers},
            timeout=httpx2.Timeout(wait, write=max(wait, SENDING), connect=CONNECT, pool=None),
            extensions={"target": request.target} if request.target else {},
        )
        try:
            response = await client.send(built, stream=True)
            try:
                yield response
            finally:
                await response.aclose()
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            why = f"{self._network} cannot be reached: {_words(error)}."
            raise NotSent(why, then="It is tried again.") from error
        except httpx2.RequestError as error:
            raise Unsure(f"{self._network} did not answer: {_words(error)}.") from error

    async def close(self) -> None:
        """Let go of the connections. May be repeated."""
        async with self._opening:
            clients, self._clients = self._clients, {}
            for client in clients.values():
                await client.aclose()

    async def _client(self, url: str) -> "httpx2.AsyncClient":
        parts = urlsplit(url)
        base = f"{parts.scheme}://{parts.netloc}"
        async with self._opening:
            if base not in self._clients:
                self._clients[base] = await self._http(base)
            return self._clients[base]


def _words(error: Exception) -> str:
    return f"{type(error).__name__} {error}".strip()
