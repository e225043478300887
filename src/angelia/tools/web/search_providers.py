"""Search services, a row each: how they are asked, and where their replies say title, address and passage.

Sources: docs.searxng.org "Search API"; api-dashboard.search.brave.com "Web search"; docs.tavily.com "Tavily Search";
exa.ai/docs "Search"; the "API Server" of pypi.org/project/ddgs (9.16.1). All were read in November 2026.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import msgspec
from msgspec import Struct

from angelia.core.text import clean, one_line, shorten

PASSAGE = 500
"""Characters that one result is quoted with."""
_TITLE = 150


class SearchQuery(Struct, frozen=True):
    """What is looked for. `since` is a date (2026-11-02), `site` a host; each empty for any."""

    words: str
    site: str = ""
    since: str = ""
    count: int = 8


class SearchHit(Struct, frozen=True):
    """One result; `date` is as the service gives it, empty where it does not."""

    title: str
    url: str
    passage: str
    date: str = ""


class SearchCall(Struct, frozen=True):
    """A request below a service's address: GET with `params`, or POST with `body` as JSON."""

    path: str
    params: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    body: Mapping[str, Any] | None = None


def _as_it_is(found: Any) -> Any:
    return found


class SearchProvider(Struct, frozen=True):
    """A service. `make` is given a query and the key; `results` leads to the list of results in a reply, whose fields
    are named by the rest, `passage` and `date` by the first of several that is there. `nothing` is what a refusal says
    that only means that nothing was found; `arrange` puts a reply in that order first, where it has another. It is
    waited for `seconds`.
    """

    name: str
    url: str
    make: Callable[[SearchQuery, str], SearchCall]
    results: tuple[str, ...]
    passage: tuple[str, ...]
    date: str
    keyed: bool = True
    link: str = "url"
    nothing: bytes = b""
    arrange: Callable[[Any], Any] = _as_it_is
    seconds: float = 20.0


def _searxng(query: SearchQuery, _key: str) -> SearchCall:
    # its time ranges are a day, a month, a year: coarser than a date, so what is older is taken out afterwards
    return SearchCall("search", {"q": _with_site(query), "format": "json"})


def _brave(query: SearchQuery, key: str) -> SearchCall:
    since = {"freshness": f"{query.since}to{datetime.now(UTC).date().isoformat()}"} if query.since else {}
    params = {"q": _with_site(query), "count": str(min(query.count, 20)), "text_decorations": "false", **since}
    return SearchCall("web/search", params, {"X-Subscription-Token": key, "Accept": "application/json"})


def _tavily(query: SearchQuery, key: str) -> SearchCall:
    body: dict[str, Any] = {"query": query.words, "max_results": min(query.count, 20)}
    if query.site:
        body["include_domains"] = [query.site]
    if query.since:
        body["start_date"] = query.since
    return SearchCall("search", headers={"Authorization": f"Bearer {key}"}, body=body)


def _exa(query: SearchQuery, key: str) -> SearchCall:
    body: dict[str, Any] = {"query": query.words, "numResults": query.count, "contents": {"highlights": True}}
    if query.site:
        body["includeDomains"] = [query.site]
    if query.since:
        body["startPublishedDate"] = f"{query.since}T00:00:00.000Z"
    return SearchCall("search", headers={"x-api-key": key}, body=body)


def _ddgs(query: SearchQuery, _key: str) -> SearchCall:
    # as with SearXNG; what it finds has no date, so that the nearest longer range is all there is
    asked = {"query": _with_site(query), "max_results": str(query.count)}
    if query.since:
        days = (datetime.now(UTC).date() - date.fromisoformat(query.since)).days
        asked |= next(({"timelimit": name} for name, most in _RANGES if days <= most), {})
    return SearchCall("search/text", asked)


_RANGES = (("d", 1), ("w", 7), ("m", 30), ("y", 365))


def _with_site(query: SearchQuery) -> str:
    return f"{query.words} site:{query.site}" if query.site else query.words


SEARXNG = SearchProvider("searxng", "", _searxng, ("results",), ("content",), "publishedDate", keyed=False)
DDGS = SearchProvider(
    *("ddgs", "", _ddgs, ("results",), ("body",), ""), keyed=False, link="href", nothing=b"No results found"
)
"""The addresses of these two are the person's own."""
PROVIDERS = {
    provider.name: provider
    for provider in (
        SEARXNG,
        SearchProvider(
            "brave", "https://api.search.brave.com/res/v1", _brave, ("web", "results"), ("description",), "page_age"
        ),
        SearchProvider("tavily", "https://api.tavily.com", _tavily, ("results",), ("content",), "published_date"),
        SearchProvider("exa", "https://api.exa.ai", _exa, ("results",), ("highlights", "text"), "publishedDate"),
        DDGS,
    )
}


def read_hits(provider: SearchProvider, body: bytes, query: SearchQuery) -> list[SearchHit]:
    """The results in a reply, best first, each address once; what is known to be older than `query.since` is left out.

    Raises:
        ValueError: it is no JSON, or has no list of results where the service puts it.
    """
    found: Any = provider.arrange(msgspec.json.decode(body))
    for part in provider.results:
        # a service that found nothing may leave out the part that results stand in
        found = found.get(part, {} if part != provider.results[-1] else []) if isinstance(found, dict) else None
    if not isinstance(found, list):
        raise ValueError(f"no results at {'.'.join(provider.results)}")  # noqa: TRY004 - of the reply, not an argument
    hits: dict[str, SearchHit] = {}
    for one in found:
        if isinstance(one, dict) and (hit := _hit(provider, one)) and not _older(hit.date, query.since):
            hits.setdefault(hit.url, hit)
    return list(hits.values())[: query.count]


def _hit(provider: SearchProvider, one: Mapping[str, Any]) -> SearchHit | None:
    url = one.get(provider.link)
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        return None
    passage = next((text for name in provider.passage if (text := _text(one.get(name)))), "")
    title = one_line(clean(_text(one.get("title"))), _TITLE)
    return SearchHit(
        title or url, clean(url), shorten(one_line(clean(passage)), PASSAGE), _text(one.get(provider.date))
    )


def _text(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " … ".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _older(day: str, since: str) -> bool:
    """Whether a date is known, as ISO 8601 begins, to be before another."""
    return bool(since and len(day) >= 10 and day[:4].isdigit() and day[:10] < since)
