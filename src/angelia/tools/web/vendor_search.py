"""Search by vendors of models, a row each: one of their models searches, and cites what it found.

Sources: developers.openai.com "Web search" (Responses API); docs.claude.com "Web search tool" (`web_search_20250305`);
ai.google.dev "Grounding with Google Search"; docs.x.ai "Web Search" and "Citations". All were read in November 2026.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import Struct

from angelia.tools.web.search_providers import SearchCall, SearchProvider, SearchQuery

SECONDS = 90.0
"""A model that searches takes its time."""
_MOST_TOKENS = 4096
_MOST_SEARCHES = 3
_TRACE = "utm_source=openai"


class SearchVendor(Struct, frozen=True):
    """`env` is the variable that holds its key, `make` is given a query, the key and the model; `arrange` makes of a
    reply what a search service answers.
    """

    name: str
    url: str
    env: str
    make: Callable[[SearchQuery, str, str], SearchCall]
    arrange: Callable[[Any], Any]

    def provider(self, model: str, url: str = "") -> SearchProvider:
        """The service whose searches this model makes; `url` in place of the vendor's own."""

        def asked(query: SearchQuery, key: str) -> SearchCall:
            return self.make(query, key, model)

        fields = ("results",), ("passage",), "date"
        return SearchProvider(self.name, url or self.url, asked, *fields, arrange=self.arrange, seconds=SECONDS)


def _asked(query: SearchQuery, *, site: bool = False) -> str:
    """What the vendor's model is to do. `site`: its tool takes no host."""
    newer = f" Only what is newer than {query.since} counts." if query.since else ""
    words = f"{query.words} site:{query.site}" if site and query.site else query.words
    return (
        f"Search the web for the words below. Tell in a sentence each what the {query.count} best results say about "
        f"them, and cite each.{newer}\n\n{words}"
    )


def _responses(more: Mapping[str, Any], query: SearchQuery, key: str, model: str) -> SearchCall:
    tool: dict[str, Any] = {"type": "web_search"}
    if query.site:
        tool["filters"] = {"allowed_domains": [query.site]}
    said = [{"role": "user", "content": _asked(query)}]
    body = {"model": model, "input": said, "tools": [tool], "store": False, **more}
    return SearchCall("responses", headers={"Authorization": f"Bearer {key}"}, body=body)


def _anthropic(query: SearchQuery, key: str, model: str) -> SearchCall:
    tool: dict[str, Any] = {"type": "web_search_20250305", "name": "web_search", "max_uses": _MOST_SEARCHES}
    if query.site:
        tool["allowed_domains"] = [query.site]
    said = [{"role": "user", "content": _asked(query)}]
    body = {"model": model, "max_tokens": _MOST_TOKENS, "messages": said, "tools": [tool]}
    return SearchCall("messages", headers={"x-api-key": key, "anthropic-version": "2023-06-01"}, body=body)


def _gemini(query: SearchQuery, key: str, model: str) -> SearchCall:
    said = [{"role": "user", "parts": [{"text": _asked(query, site=True)}]}]
    body = {"contents": said, "tools": [{"google_search": {}}]}
    return SearchCall(f"models/{model}:generateContent", headers={"x-goog-api-key": key}, body=body)


def _cited_in_responses(found: Any) -> Any:
    """Citations with the words before them, then addresses that were read and not cited."""
    cited, read = list[Mapping[str, Any]](), list[object]()
    for item in _each(found, "output"):
        read += [source.get("url") for source in _each(item.get("action"), "sources")]
        for part in _each(item, "content"):
            text = str(part.get("text", ""))
            for one in _each(part, "annotations"):
                before = text[: one["start_index"]] if isinstance(one.get("start_index"), int) else ""
                passage = before.rstrip(" ([").rpartition("\n")[2]
                cited.append({"title": one.get("title"), "url": _own(one.get("url")), "passage": passage})
    read += _listed(found, "citations")
    return {"results": [*cited, *({"url": _own(url)} for url in read)]}


def _cited_by_anthropic(found: Any) -> Any:
    """Results in their order, with what was cited of each.

    Raises:
        ValueError: its search failed.
    """
    listed, cited = list[dict[str, Any]](), dict[str, list[str]]()
    for block in _each(found, "content"):
        for one in _each(block, "citations"):
            cited.setdefault(str(one.get("url")), []).append(str(one.get("cited_text", "")))
        content = block.get("content")
        if block.get("type") == "web_search_tool_result" and isinstance(content, dict):
            raise ValueError(f"its search ended with {content.get('error_code', 'an error')}")
        if block.get("type") == "web_search_tool_result":
            listed += [{**one, "date": _iso(one.get("page_age"))} for one in _each(block, "content")]
    return {"results": [{**one, "passage": cited.get(str(one.get("url")), [])} for one in listed]}


def _cited_by_gemini(found: Any) -> Any:
    """What each source was cited for. Its addresses lead over one of Google's own."""
    listed = list[dict[str, Any]]()
    for candidate in _each(found, "candidates"):
        ground = _part(candidate, "groundingMetadata")
        passages: dict[str, list[str]] = {}
        for support in _each(ground, "groundingSupports"):
            for index in _listed(support, "groundingChunkIndices"):
                passages.setdefault(str(index), []).append(str(_part(support, "segment").get("text", "")))
        for index, chunk in enumerate(_each(ground, "groundingChunks")):
            web = _part(chunk, "web")
            listed.append({"title": web.get("title"), "url": web.get("uri"), "passage": passages.get(str(index), [])})
    return {"results": listed}


def _listed(within: Any, name: str) -> list[Any]:
    """A list of an object, as far as both are there."""
    found = within.get(name) if isinstance(within, dict) else None
    return found if isinstance(found, list) else []


def _each(within: Any, name: str) -> Iterator[dict[str, Any]]:
    """The objects in such a list."""
    yield from (one for one in _listed(within, name) if isinstance(one, dict))


def _part(within: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An object of an object; empty if there is none."""
    found = within.get(name)
    return found if isinstance(found, dict) else {}


def _own(url: object) -> object:
    """An address without what OpenAI appends to it."""
    return url.removesuffix(f"?{_TRACE}").removesuffix(f"&{_TRACE}") if isinstance(url, str) else url


def _iso(day: object) -> str:
    """A date as Anthropic writes it (April 30, 2026); empty for another (3 weeks ago)."""
    try:
        return datetime.strptime(str(day), "%B %d, %Y").date().isoformat()  # noqa: DTZ007 - a day, wherever it is
    except ValueError:
        return ""


_SOURCES = {"tool_choice": "required", "include": ["web_search_call.action.sources"]}
VENDORS = {
    vendor.name: vendor
    for vendor in (
        SearchVendor(
            *("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
            partial(_responses, _SOURCES),
            _cited_in_responses,
        ),
        SearchVendor("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", _anthropic, _cited_by_anthropic),
        SearchVendor(
            *("gemini", "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY"), _gemini, _cited_by_gemini
        ),
        SearchVendor("xai", "https://api.x.ai/v1", "XAI_API_KEY", partial(_responses, {}), _cited_in_responses),
    )
}
