"""Vendors of models that search: asked as each documents it, with what they cite as results."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from angelia.channels.settings import Secret
from angelia.service.settings.tokens import Tokens
from angelia.service.web_search import WebSearch
from angelia.tools.web.search_providers import SearchHit, SearchProvider, SearchQuery, read_hits
from angelia.tools.web.search_settings import SearchModel, SearchSettings
from angelia.tools.web.searcher import Searcher, SearchFailed
from angelia.tools.web.vendor_search import VENDORS
from tests.tools.test_search import KEY, QUERY, Service, Time, key

pytestmark = pytest.mark.anyio

PLUM = "https://plum.example/a"
TEXT = "Here is what I found.\nPlums are ripe in August ([plum.example](https://plum.example/a))."
CITED = {
    "type": "url_citation",
    "start_index": TEXT.index("([plum"),
    "end_index": len(TEXT) - 1,
    "url": f"{PLUM}?utm_source=openai",
    "title": "Plums",
}
MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": TEXT, "annotations": [CITED]}]}
OPENAI = {
    "output": [
        {
            "type": "web_search_call",
            "action": {"type": "search", "sources": [{"type": "url", "url": "https://read.example/"}]},
        },
        MESSAGE,
    ]
}
ANTHROPIC = {
    "content": [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "ripe plums"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s1",
            "content": [
                {"type": "web_search_result", "url": PLUM, "title": "Plums", "page_age": "August 2, 2026"},
                {"type": "web_search_result", "url": "https://old.example/", "title": "Old", "page_age": "May 1, 2020"},
                {"type": "web_search_result", "url": "https://read.example/", "title": "", "page_age": None},
            ],
        },
        {
            "type": "text",
            "text": "They are ripe in August.",
            "citations": [
                {"type": "web_search_result_location", "url": PLUM, "cited_text": "Plums are ripe in August."}
            ],
        },
    ]
}
GEMINI = {
    "candidates": [
        {
            "groundingMetadata": {
                "groundingChunks": [
                    {"web": {"uri": PLUM, "title": "Plums"}},
                    {"web": {"uri": "https://read.example/", "title": ""}},
                ],
                "groundingSupports": [{"segment": {"text": "Plums are ripe in August."}, "groundingChunkIndices": [0]}],
            }
        }
    ]
}
XAI = {"output": [MESSAGE], "citations": [PLUM, "https://read.example/"]}
REPLIES: Mapping[str, Any] = {"openai": OPENAI, "anthropic": ANTHROPIC, "gemini": GEMINI, "xai": XAI}
STRANGE: list[Any] = [
    [],
    "words",
    None,
    {"output": 3, "content": "x", "candidates": None, "citations": 3},
    {"output": [{"action": 3, "content": [{"annotations": [{"start_index": "x", "url": 3}]}]}, 3], "citations": [3]},
    {"content": [{"type": "web_search_tool_result", "content": [3, {"url": None, "page_age": 3}]}, {"citations": 3}]},
    {
        "candidates": [
            3,
            {"groundingMetadata": {"groundingChunks": [{"web": 3}], "groundingSupports": [{"segment": 3}]}},
        ]
    },
    {"candidates": [{"groundingMetadata": {"groundingSupports": [{"groundingChunkIndices": [[]], "segment": []}]}}]},
]
PATHS = {
    "openai": "/openai/responses",
    "anthropic": "/anthropic/messages",
    "gemini": "/gemini/models/m-1:generateContent",
    "xai": "/xai/responses",
}


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    service = Service()
    server = await asyncio.start_server(service.serve, "127.0.0.1", 0)
    service.port = server.sockets[0].getsockname()[1]
    async with server:
        yield service


def row(service: Service, name: str) -> SearchProvider:
    return VENDORS[name].provider("m-1", f"http://127.0.0.1:{service.port}/{name}")


@pytest.mark.parametrize("name", VENDORS)
async def test_what_a_vendors_model_cites_is_a_result_with_its_words(service: Service, name: str) -> None:
    service.answering(name, REPLIES[name])
    found = await Searcher([row(service, name)], key, Time(), pause_seconds=1).search(QUERY)
    assert found.provider == name
    first, *others = found.hits
    assert (first.title, first.url) == ("Plums", PLUM)
    assert first.passage.startswith("Plums are ripe in August")
    assert [hit.url for hit in others] == ["https://read.example/"], "what was read, once each, and nothing too old"


async def test_each_vendor_is_asked_as_it_documents(service: Service) -> None:
    for name, reply in REPLIES.items():
        service.answering(name, reply)
        await Searcher([row(service, name)], key, Time(), pause_seconds=1).search(QUERY)
    sent = {target: (headers, json.loads(body)) for _, target, headers, body in service.asked}
    assert list(sent) == list(PATHS.values())
    for name in ("openai", "xai"):
        headers, body = sent[PATHS[name]]
        assert headers["authorization"] == f"Bearer {KEY}"
        assert (body["model"], body["store"]) == ("m-1", False)
        assert body["tools"] == [{"type": "web_search", "filters": {"allowed_domains": ["plum.example"]}}]
    assert sent[PATHS["openai"]][1]["include"] == ["web_search_call.action.sources"]
    headers, body = sent[PATHS["anthropic"]]
    assert (headers["x-api-key"], headers["anthropic-version"]) == (KEY, "2023-06-01")
    (tool,) = body["tools"]
    assert (tool["type"], tool["allowed_domains"]) == ("web_search_20250305", ["plum.example"])
    headers, body = sent[PATHS["gemini"]]
    assert (headers["x-goog-api-key"], body["tools"]) == (KEY, [{"google_search": {}}])
    assert all("ripe plums" in str(body) and "2026-07-01" in str(body) for _, body in sent.values())


@pytest.mark.parametrize("name", VENDORS)
async def test_a_model_that_did_not_search_has_found_nothing(service: Service, name: str) -> None:
    said = {"output": [], "content": [{"type": "text", "text": "I think in August."}], "candidates": [{}]}
    service.answering(name, said)
    with pytest.raises(SearchFailed, match=f"{name} found nothing"):
        await Searcher([row(service, name)], key, Time(), pause_seconds=1).search(QUERY)


async def test_a_vendors_search_that_failed_is_a_fault(service: Service) -> None:
    failed = {"type": "web_search_tool_result", "content": {"type": "e", "error_code": "max_uses_exceeded"}}
    service.answering("anthropic", {"content": [failed]})
    with pytest.raises(SearchFailed, match="its search ended with max_uses_exceeded"):
        await Searcher([row(service, "anthropic")], key, Time(), pause_seconds=1).search(QUERY)


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize("reply", STRANGE)
def test_a_reply_of_another_kind_holds_nothing(name: str, reply: object) -> None:
    hits: list[SearchHit] = read_hits(VENDORS[name].provider("m-1"), msgspec.json.encode(reply), SearchQuery("plums"))
    assert hits == []


async def test_a_vendor_is_asked_once_a_model_of_it_is_named(tmp_path: Path) -> None:
    environ = {"OPENAI_API_KEY": "key-of-the-models", "XAI_API_KEY": "other"}
    nobody = WebSearch(SearchSettings(), environ, Tokens(environ))
    assert nobody.providers == (), "a key that is there for models alone lets nobody search"
    (tmp_path / "key").write_text("key-of-a-file")
    (tmp_path / "key").chmod(0o600)
    chosen = SearchModel("grok-x", Secret(file=str(tmp_path / "key")), "http://127.0.0.1:1/v1")
    search = WebSearch(SearchSettings(openai=SearchModel("gpt-x"), xai=chosen), environ, Tokens(environ))
    assert [(one.name, one.url) for one in search.providers] == [
        ("openai", "https://api.openai.com/v1"),
        ("xai", "http://127.0.0.1:1/v1"),
    ]
    assert [await search.key(one) for one in search.providers] == ["key-of-the-models", "key-of-a-file"]
