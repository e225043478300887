"""What servers say about their models, each in its dialect."""

import json
from typing import Any

import pytest

from angelia.core.errors import ModelError
from angelia.core.failure import FailureKind
from angelia.core.profile import Ability
from angelia.http.server import HttpServer
from angelia.models.catalog.listing import ListedModel, list_models, probe_local
from angelia.models.catalog.vendors import vendor, vendors
from tests.models.loopback import Peer, Server, says
from tests.models.shapes import KEY

pytestmark = pytest.mark.anyio
YES, NO, UNKNOWN = Ability.YES, Ability.NO, Ability.UNKNOWN


def site(pages: dict[str, Any]) -> Any:
    """A server with these pages; everything else is not there."""

    async def answer(peer: Peer) -> None:
        path = peer.head.split(b" ")[1].decode().partition("?")[0]
        key = f"{path} {json.loads(peer.body)['model']}" if peer.body else path
        if key in pages:
            await says("200 OK", json.dumps(pages[key]).encode())(peer)
        else:
            await says("404 Not Found", b"{}")(peer)

    return answer


DIALECTS: dict[str, tuple[dict[str, Any], list[ListedModel]]] = {
    "openai": (
        {"/v1/models": {"data": [{"id": "gpt-5"}, {"id": "gpt-4o"}]}},
        [ListedModel("gpt-4o"), ListedModel("gpt-5")],
    ),
    "anthropic": (
        {"/v1/v1/models": {"data": [{"id": "claude-opus-5", "type": "model"}]}},
        [ListedModel("claude-opus-5")],
    ),
    "gemini": ({"/v1/models": {"data": [{"id": "models/gemini-3-flash"}]}}, [ListedModel("gemini-3-flash")]),
    "together": ({"/v1/models": [{"id": "qwen", "context_length": 32768}]}, [ListedModel("qwen", 32768)]),
    "groq": ({"/v1/models": {"data": [{"id": "llama", "context_window": 131072}]}}, [ListedModel("llama", 131072)]),
    "mistral": (
        {"/v1/models": {"data": [{"id": "m", "max_context_length": 4, "capabilities": {"vision": True}}]}},
        [ListedModel("m", 4, YES)],
    ),
    "openrouter": (
        {
            "/v1/models": {
                "data": [
                    {
                        "id": "a/b",
                        "context_length": 9,
                        "architecture": {"input_modalities": ["text"]},
                        "supported_parameters": ["tools", "reasoning"],
                    }
                ]
            }
        },
        [ListedModel("a/b", 9, NO, YES)],
    ),
    "vllm": ({"/v1/models": {"data": [{"id": "q", "max_model_len": 4096}]}}, [ListedModel("q", 4096)]),
    "llamacpp": (
        {
            "/v1/models": {"data": [{"id": "gemma.gguf", "meta": {"n_ctx_train": 32768}}]},
            "/props": {"default_generation_settings": {"n_ctx": 8192}, "modalities": {"vision": True}},
        },
        [ListedModel("gemma.gguf", 8192, YES)],
    ),
    "lmstudio": (
        {
            "/v1/models": {"data": [{"id": "qwen-vl"}, {"id": "embed"}]},
            "/api/v0/models": {
                "data": [
                    {"id": "qwen-vl", "type": "vlm", "max_context_length": 32768, "loaded_context_length": 4096},
                    {"id": "embed", "type": "embeddings"},
                ]
            },
        },
        [ListedModel("qwen-vl", 4096, YES)],
    ),
    "ollama": (
        {
            "/v1/models": {"data": [{"id": "a"}, {"id": "b"}, {"id": "c"}]},
            "/api/ps": {"models": [{"model": "a", "context_length": 16384}]},
            "/api/show a": {"capabilities": ["completion", "tools"]},
            "/api/show b": {"capabilities": ["completion", "vision"], "parameters": "stop x\nnum_ctx  8192\n"},
        },
        [ListedModel("a", 16384, NO, YES), ListedModel("b", 8192, YES, NO), ListedModel("c")],
    ),
}


@pytest.mark.parametrize("name", DIALECTS)
async def test_a_listing_is_understood(name: str, server: Server, http: HttpServer) -> None:
    pages, expected = DIALECTS[name]
    server.answers = [site(pages)]
    assert list(await list_models(vendor(name), http.client, KEY)) == expected


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        ("401 Unauthorized", b'{"error":{"message":"Incorrect API key provided"}}', FailureKind.LOGIN_REJECTED),
        ("200 OK", b"<html>", FailureKind.UNREACHABLE),
    ],
)
async def test_a_listing_that_fails_has_a_name(
    status: str, body: bytes, kind: FailureKind, server: Server, http: HttpServer
) -> None:
    server.answers = [says(status, body)]
    with pytest.raises(ModelError) as failed:
        await list_models(vendor("openai"), http.client, KEY)
    assert failed.value.failure.kind is kind


async def test_only_local_servers_that_speak_our_language_are_found(server: Server, http: HttpServer) -> None:
    server.answers = [site({"/v1/models": {"data": []}, "/other/models": {"hello": "world"}})]
    root = server.url.removesuffix("/v1")
    rows = vendors(
        {
            "ollama": {"base_url": server.url},
            "lmstudio": {"base_url": f"{root}/other"},
            "llamacpp": {"base_url": f"{root}/nothing"},
            "vllm": {"base_url": "http://127.0.0.1:1/v1"},
        }
    )
    assert await probe_local(http.client, rows) == ["ollama"]


async def test_only_models_that_answer_a_conversation_are_listed(server: Server, http: HttpServer) -> None:
    silent = ["text-embedding-3-large", "whisper-1", "gpt-4o-mini-tts", "gpt-image-1", "omni-moderation-latest"]
    silent += ["gpt-realtime", "dall-e-3", "gpt-4o-transcribe", "sora-2", "gemini-embedding-001", "imagen-4.0", "tts-1"]
    speaks = ["gpt-5", "o4-mini", "claude-sonnet-5", "gemini-3.8-flash", "qwen3-vl:8b", "deepseek-ocr"]
    rows: list[dict[str, object]] = [{"id": name} for name in (*silent, *speaks)]
    rows += [
        {"id": "m-embeds", "capabilities": {"completion_chat": False}},
        {"id": "bge", "type": "embedding"},
        {"id": "paints", "architecture": {"output_modalities": ["image"]}},
        {"id": "paints-and-talks", "architecture": {"output_modalities": ["image", "text"]}},
        {"id": "retired", "active": False},
    ]
    server.answers = [site({"/v1/models": {"data": rows}})]
    told = await list_models(vendor("openai"), http.client, KEY)
    assert [one.model for one in told] == sorted([*speaks, "paints-and-talks"])


async def test_a_local_model_that_only_embeds_is_not_listed(server: Server, http: HttpServer) -> None:
    pages = {
        "/v1/models": {"data": [{"id": "bge"}, {"id": "qwen"}]},
        "/api/ps": {"models": []},
        "/api/show bge": {"capabilities": ["embedding"]},
        "/api/show qwen": {"capabilities": ["completion", "tools"]},
    }
    server.answers = [site(pages)]
    told = await list_models(vendor("ollama"), http.client, KEY)
    assert [one.model for one in told] == ["qwen"]
