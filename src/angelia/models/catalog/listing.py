"""What a server says about its own models: their names, windows and abilities."""

import asyncio
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from angelia.core.errors import UNREADABLE, ModelError
from angelia.core.failure import Failure, FailureKind
from angelia.core.profile import Ability
from angelia.models.catalog.vendor import Rows, Vendor
from angelia.models.catalog.vendors import local_servers, vendors
from angelia.models.port import Credential
from angelia.models.wires.failures import of_response, redacted
from angelia.models.wires.wire import bearer

if TYPE_CHECKING:
    import httpx2

WINDOWS = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length")
"""Under which names servers tell a model's window: vLLM, LM Studio, OpenRouter and Together, Groq, Mistral."""

PROBE_SECONDS = 0.5
"""How long a server on this machine may take to say that it is there."""


_SILENT = (
    r"embed|rerank|moderation|whisper|transcri|diari[sz]|(^|[-_/])(tts|asr)([-_/]|$)|dall-e|sora|imagen|veo-|image-gen"
    r"|(gpt|grok|chatgpt)(-[\w.]+)*-(image|video|imagine)|realtime|text-to-|speech|^(babbage|davinci)-"
)
"""A pattern of names: models that answer no conversation, where vendors do not say what theirs do (OpenAI, Groq, xAI,
Gemini).
"""
_OTHER_TYPES = {"embedding", "embeddings", "image", "audio", "moderation", "rerank", "transcribe", "video"}
"""What Together and LM Studio call models that answer no conversation."""


class ListedModel(Struct, frozen=True):
    """One model as its server tells of it. `window` is tokens, 0 if it does not say."""

    model: str
    window: int = 0
    images: Ability = Ability.UNKNOWN
    tools: Ability = Ability.UNKNOWN


async def list_models(vendor: Vendor, http: "httpx2.AsyncClient", credential: Credential) -> tuple[ListedModel, ...]:
    """The models that the server offers to this credential, by name. `http` has the vendor's base URL.

    Raises:
        ModelError: the server refuses, or cannot be reached.
    """
    anthropic = vendor.wire == "anthropic"
    login = {"x-api-key": credential.secret, "anthropic-version": "2023-06-01"} if anthropic else bearer(credential)
    answer = await _json(http, "v1/models?limit=1000" if anthropic else "models", login, credential.secret)
    rows = answer.get("data") or answer.get("models") if isinstance(answer, Mapping) else answer
    models = [_listed(row) for row in rows or () if isinstance(row, Mapping) and _speaks(row)]
    if vendor.local:
        models = await _told_more(models, http)
    return tuple(sorted(models, key=lambda one: one.model))


async def probe_local(http: "httpx2.AsyncClient", rows: Rows | None = None) -> list[str]:
    """The local servers that answer now, all asked at once; `http` is any client for `http://`."""
    rows = rows or vendors()
    servers = local_servers(rows)

    async def answers(address: str) -> bool:
        import httpx2

        try:
            async with asyncio.timeout(PROBE_SECONDS):
                response = await http.get(f"{address}/models")
            return response.is_success and isinstance(response.json().get("data"), list)
        except (httpx2.HTTPError, TimeoutError, ValueError, AttributeError):
            return False

    there = await asyncio.gather(*(answers(address) for address in servers.values()))
    return [name for name, answered in zip(servers, there, strict=True) if answered]


def _speaks(row: Mapping[str, Any]) -> bool:
    """Whether a model of a listing answers a conversation, as far as its row or its name says so.

    >>> [_speaks({"id": name}) for name in ("gpt-5", "text-embedding-3-large", "gpt-4o-mini-tts", "whisper-1")]
    [True, False, False, False]
    """
    name = row.get("id") or row.get("name")
    able, gives = row.get("capabilities"), (row.get("architecture") or {}).get("output_modalities")
    if not name or row.get("type") in _OTHER_TYPES or row.get("active") is False:
        return False
    if isinstance(able, Mapping) and able.get("completion_chat") is False:  # Mistral
        return False
    if isinstance(gives, list):  # OpenRouter
        return "text" in gives
    return not re.search(_SILENT, str(name), re.IGNORECASE)


def _listed(row: Mapping[str, Any]) -> ListedModel:
    """A row of a listing, in whichever dialect."""
    meta: Mapping[str, Any] = row.get("meta") or {}
    told = [value for name in WINDOWS if isinstance(value := row.get(name), int)]
    takes = (row.get("architecture") or {}).get("input_modalities")
    able = row.get("capabilities")
    images, tools = Ability.UNKNOWN, Ability.UNKNOWN
    if isinstance(takes, list):
        images = Ability.YES if "image" in takes else Ability.NO
    elif isinstance(able, Mapping) and isinstance(able.get("vision"), bool):
        images = Ability.YES if able["vision"] else Ability.NO
    elif row.get("type") in {"llm", "vlm"}:  # LM Studio
        images = Ability.YES if row["type"] == "vlm" else Ability.NO
    if isinstance(offered := row.get("supported_parameters"), list):
        tools = Ability.YES if "tools" in offered else Ability.NO
    name = str(row.get("id") or row.get("name")).removeprefix("models/")
    return ListedModel(name, told[0] if told else int(meta.get("n_ctx") or 0), images, tools)


async def _told_more(models: list[ListedModel], http: "httpx2.AsyncClient") -> list[ListedModel]:
    """What servers on one's own machine tell at addresses of their own, where there are such addresses."""
    root = str(http.base_url.copy_with(path="/"))
    props, studio, running = await asyncio.gather(
        _maybe(http, f"{root}props"), _maybe(http, f"{root}api/v0/models"), _maybe(http, f"{root}api/ps")
    )
    if settings := props.get("default_generation_settings"):  # llama.cpp
        sees = (props.get("modalities") or {}).get("vision")
        images = Ability.UNKNOWN if sees is None else Ability.YES if sees else Ability.NO
        window = int(settings.get("n_ctx") or 0)
        return [ListedModel(one.model, window or one.window, images, one.tools) for one in models]
    if rows := [row for row in studio.get("data") or () if row.get("type") in {"llm", "vlm"}]:
        return [_listed(row) for row in rows]
    if "models" in running:  # Ollama; a window is only sure once the model runs
        windows = {row.get("model"): int(row.get("context_length") or 0) for row in running["models"]}
        shown = await asyncio.gather(*(_shown(one, windows.get(one.model, 0), http, root) for one in models))
        return [one for one in shown if one]
    return models


async def _shown(model: ListedModel, running: int, http: "httpx2.AsyncClient", root: str) -> ListedModel | None:
    """Ollama's card of a model: what it can, and the window it was given; None for one that embeds alone."""
    card = await _maybe(http, f"{root}api/show", {"model": model.model})
    able = card.get("capabilities")
    if not isinstance(able, list):
        return ListedModel(model.model, running)
    if "completion" not in able:
        return None
    given = [line.split()[1] for line in str(card.get("parameters", "")).splitlines() if line.startswith("num_ctx")]
    images = Ability.YES if "vision" in able else Ability.NO
    tools = Ability.YES if "tools" in able else Ability.NO
    return ListedModel(model.model, running or int(given[0] if given else 0), images, tools)


async def _maybe(http: "httpx2.AsyncClient", url: str, body: object = None) -> dict[str, Any]:
    """An answer that may not exist: `{}` if it does not."""
    import httpx2

    try:
        response = await (http.get(url) if body is None else http.post(url, json=body))
        answer = response.json() if response.is_success else {}
    except (httpx2.HTTPError, ValueError):
        return {}
    return answer if isinstance(answer, dict) else {}


async def _json(http: "httpx2.AsyncClient", path: str, headers: dict[str, str], secret: str) -> Any:
    import httpx2

    try:
        response = await http.get(path, headers=headers)
        if not response.is_success:
            failure = of_response(response.status_code, response.headers, response.content, time.time())
            raise ModelError(redacted(failure, secret))
        return msgspec.json.decode(response.content)
    except httpx2.RequestError as error:
        said = f"{http.base_url.host}: {str(error) or type(error).__name__}"
        raise ModelError(Failure(FailureKind.UNREACHABLE, said=said)) from error
    except UNREADABLE as error:
        said = f"{http.base_url.host} answered with something that is no list of models."
        raise ModelError(Failure(FailureKind.UNREACHABLE, said=said)) from error
