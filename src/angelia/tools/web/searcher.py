"""Asks one search service after the other, until one has an answer."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

import httpx2
from msgspec import Struct

from angelia.core.errors import AngeliaError, ConfigError
from angelia.http.client import http_client
from angelia.tools.web.search_providers import SEARXNG, SearchCall, SearchHit, SearchProvider, SearchQuery, read_hits

CONNECT_S = 10.0
_MOST = 5_000_000
"""Bytes of a reply."""

Key = Callable[[SearchProvider], Awaitable[str]]
"""The key of a service; raises ConfigError where there is none."""


class SearchFailed(AngeliaError):
    """Nobody had an answer; says who was asked, and what each said."""


class SearchFault(Exception):
    """One service could not be asked; `pause` is how long it is to be left alone, in seconds, None for as usual."""

    def __init__(self, why: str, pause: float | None = None) -> None:
        self.why, self.pause = why, pause
        super().__init__(why)


class SearchAnswer(Struct, frozen=True):
    """What one service found, and a sentence for each that was asked before it."""

    provider: str
    hits: Sequence[SearchHit]
    notes: Sequence[str]


class Searcher:
    """The services of a home in their order, and which of them are left alone for now."""

    def __init__(
        self, providers: Sequence[SearchProvider], key: Key, clock: Callable[[], int], *, pause_seconds: float
    ) -> None:
        """`clock` is in milliseconds."""
        self.providers = tuple(providers)
        self._key, self._clock = key, clock
        self._pause = pause_seconds
        self._paused: dict[str, tuple[int, str]] = {}

    async def search(self, query: SearchQuery) -> SearchAnswer:
        """The first answer that is not empty: a service that finds nothing is no proof that there is nothing.

        Raises:
            SearchFailed: nobody found anything, or nobody could be asked.
        """
        notes = list[str]()
        for provider in self.providers:
            until, why = self._paused.get(provider.name, (0, ""))
            if (left := until - self._clock()) > 0:
                notes.append(f"{provider.name} is left alone for {_minutes(left)} more: {why}")
                continue
            try:
                hits = await self.ask(provider, query)
            except SearchFault as fault:
                pause = self._pause if fault.pause is None else fault.pause
                self._paused[provider.name] = (self._clock() + round(pause * 1000), fault.why)
                notes.append(f"{provider.name} could not be asked: {fault.why}")
                continue
            if hits:
                return SearchAnswer(provider.name, hits, notes)
            notes.append(f"{provider.name} found nothing.")
        raise SearchFailed(
            f"Nothing was found for “{query.words}”.",
            " ".join(notes),
            "Use other or fewer words, or fetch a page that is known to lead on.",
        )

    async def ask(self, provider: SearchProvider, query: SearchQuery) -> list[SearchHit]:
        """What one service finds.

        Raises:
            SearchFault: it has no key, cannot be reached, refuses, or says what nobody understands.
        """
        try:
            key = await self._key(provider) if provider.keyed else ""
            async with await http_client(provider.url) as client, asyncio.timeout(provider.seconds):
                status, headers, body = await _exchange(client, provider, provider.make(query, key))
        except ConfigError as error:
            raise SearchFault(str(error)) from error
        except TimeoutError as error:
            raise SearchFault(f"it did not answer within {provider.seconds:g} s.") from error
        except httpx2.HTTPError as error:
            raise SearchFault(f"{type(error).__name__}: {error}.") from error
        if status != 200 and provider.nothing and provider.nothing in body:
            return []
        if status != 200:
            raise _refused(provider, status, headers)
        try:
            return read_hits(provider, body, query)
        except ValueError as error:
            raise SearchFault(f"its reply cannot be read: {error}.") from error


async def _exchange(
    client: httpx2.AsyncClient, provider: SearchProvider, call: SearchCall
) -> tuple[int, Mapping[str, str], bytes]:
    url = f"{provider.url.rstrip('/')}/{call.path}"
    timeout = httpx2.Timeout(provider.seconds, connect=CONNECT_S)
    method = "GET" if call.body is None else "POST"
    asked = client.build_request(
        method, url, params=dict(call.params) or None, json=call.body, headers=dict(call.headers), timeout=timeout
    )
    response = await client.send(asked, stream=True)
    try:
        body = bytearray()
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _MOST:
                raise SearchFault(f"its reply is over {_MOST / 1e6:.0f} MB.")
        return response.status_code, response.headers, bytes(body)
    finally:
        await response.aclose()


def _refused(provider: SearchProvider, status: int, headers: Mapping[str, str]) -> SearchFault:
    wait = headers.get("retry-after", "")
    pause = float(wait) if wait.isdecimal() else None
    match status:
        case 403 if provider.name == SEARXNG.name:
            return SearchFault("it refuses JSON (HTTP 403): add `json` to search.formats in its settings.yml.", pause)
        case 401 | 403:
            return SearchFault(f"it refuses our key (HTTP {status}).", pause)
        case 402 | 429 | 432 | 433:  # the last two are Tavily's: the plan's limit, and pay-as-you-go's
            return SearchFault(f"its limit is reached (HTTP {status}).", pause)
        case _:
            return SearchFault(f"it answered HTTP {status}.", pause)


def _minutes(milliseconds: int) -> str:
    return f"{max(1, round(milliseconds / 60_000))} min"
