"""HTTP to a server: directly for one of the person's own settings, else only to addresses that were judged."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from angelia.tools.mcp import answer_size
from angelia.tools.mcp.refused_posts import RefusedPosts
from angelia.tools.mcp.server import Site
from angelia.tools.mcp.site_answers import SiteAnswers
from angelia.tools.mcp.standalone_stream import AfterStream, StandaloneStream
from angelia.tools.mcp.streams import TransportStreams
from angelia.tools.mcp.transports import TransportTrace
from angelia.tools.web.fetcher import Fetcher

CONNECT_S = 10.0
"""Seconds to connect, to write, and to wait for a free connection; how long an answer takes is the call's affair."""


@asynccontextmanager
async def site(
    to: Site,
    make: Callable[[], Awaitable[httpx2.AsyncClient]],
    headers: Mapping[str, str],
    trace: TransportTrace,
) -> AsyncIterator[TransportStreams]:
    """The transport of the site's kind over a client of its own. It may say as much at once as a program may in one
    line.
    """
    client = await make()
    client.headers.update(headers)
    client.timeout = httpx2.Timeout(CONNECT_S, read=None)
    stream = StandaloneStream()

    async def note(response: httpx2.Response) -> None:
        trace.answered(response.request.method, response.status_code)
        stream.note(response)

    client.event_hooks = {"response": [note]}
    if to.transport == "sse":
        posts = RefusedPosts(client)
        async with (
            sse_client(to.url, httpx_client_factory=posts.client) as (incoming, outgoing),
            posts.with_refusals(incoming) as heard,
        ):
            yield heard, outgoing
    else:
        through = SiteAnswers(client, trace.missed).client()
        transport = streamable_http_client(to.url, http_client=through, max_sse_event_size=answer_size.MOST_ANSWER)
        async with through, transport as (incoming, outgoing):
            yield incoming, AfterStream(outgoing, stream)


async def judged_client(url: str, fetcher: Fetcher) -> httpx2.AsyncClient:
    """A client that connects to nothing but addresses that the egress policy allows; it uses no proxy."""
    secure = url.startswith("https:")
    inner = httpx2.AsyncHTTPTransport(verify=await fetcher.tls() if secure else False, trust_env=False)
    return httpx2.AsyncClient(transport=_Judged(inner, fetcher), trust_env=False)


async def logged_in(client: httpx2.AsyncClient, url: str, fetcher: Fetcher, login: httpx2.Auth) -> httpx2.AsyncClient:
    """The same client for its own host, with a login. Whoever else the login leads to, which the site names, is
    reached at judged addresses alone, without a proxy.
    """
    judged = _Judged(httpx2.AsyncHTTPTransport(verify=await fetcher.tls(), trust_env=False), fetcher)
    return httpx2.AsyncClient(transport=_OwnOrJudged(client, url, judged), auth=login, trust_env=False)


class _OwnOrJudged(httpx2.AsyncBaseTransport):
    """Requests to the site's own origin go by its own client."""

    def __init__(self, own: httpx2.AsyncClient, url: str, judged: httpx2.AsyncBaseTransport) -> None:
        self._own, self._url = own, httpx2.URL(url)
        self._judged = judged

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it one way or the other."""
        origin = (request.url.scheme, request.url.host, request.url.port)
        if origin == (self._url.scheme, self._url.host, self._url.port):
            return await self._own.send(request, stream=True)
        return await self._judged.handle_async_request(request)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._own.aclose()
        await self._judged.aclose()


class _Judged(httpx2.AsyncBaseTransport):
    """Resolves and judges the host of each request, and connects to the very address that was judged."""

    def __init__(self, inner: httpx2.AsyncHTTPTransport, fetcher: Fetcher) -> None:
        self._inner, self._fetcher = inner, fetcher

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it; Host and the name for TLS stay those of the URL."""
        failure: httpx2.TransportError | None = None
        for address in await self._fetcher.judged_addresses(request.url):
            sent = httpx2.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": request.url.raw_host.decode("ascii")},
            )
            try:
                return await self._inner.handle_async_request(sent)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
        assert failure, "a host has at least one address, or was refused"
        raise failure

    async def aclose(self) -> None:
        """Close every connection."""
        await self._inner.aclose()
