"""Nearness by the angle between embeddings, from a server that speaks OpenAI's `/embeddings`.

One request carries the question and all passages (OpenAI reference, "Create embeddings": 2,048 texts of 8,192 tokens
each and 300,000 together at most). What comes back is compared by its own numbers, whatever their scale.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from operator import mul
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from angelia.core.errors import ModelError
from angelia.core.failure import Failure, FailureKind
from angelia.models.port import Credential
from angelia.models.rankers.port import PassageScores
from angelia.models.wires.failures import of_response, redacted
from angelia.models.wires.wire import bearer

if TYPE_CHECKING:
    import httpx2

PATH = "embeddings"
"""Below the base URL."""

MOST_CHARACTERS = 2_000
"""Of one passage: what it is about stands at its beginning, and a hundred of them are some 50,000 tokens."""

PATIENCE_S = 20.0
"""Seconds for the whole answer: somebody waits for a search."""

Reach = Callable[[], Awaitable[tuple["httpx2.AsyncClient", Credential]]]
"""The vendor's client and key.

Raises:
    KeyMissing, ConfigError: there is none, or the address is of no use.
"""


class _Request(Struct, frozen=True):
    model: str
    input: list[str]


class _Embedding(Struct, frozen=True):
    index: int
    embedding: tuple[float, ...]


class _Usage(Struct, frozen=True):
    prompt_tokens: int = 0


class _Answer(Struct, frozen=True):
    data: tuple[_Embedding, ...]
    usage: _Usage = _Usage()


class EmbeddingRanker:
    """One model of one vendor; see `port.Ranker`."""

    def __init__(self, model: str, reach: Reach) -> None:
        self._model = model
        self._reach = reach

    async def scores(self, question: str, passages: Sequence[str]) -> PassageScores:
        """See the port."""
        http, key = await self._reach()
        texts = [text[:MOST_CHARACTERS] for text in (question, *passages)]
        answer = _decoded(await _sent(http, key, _Request(self._model, texts)), http)
        vectors = [one.embedding for one in sorted(answer.data, key=lambda one: one.index)]
        if len(vectors) != len(texts) or len({len(one) for one in vectors}) != 1:
            raise _odd(http, f"{len(vectors)} embeddings for {len(texts)} texts, or of different lengths")
        return PassageScores(tuple(_cosine(vectors[0], one) for one in vectors[1:]), answer.usage.prompt_tokens)


async def _sent(http: "httpx2.AsyncClient", key: Credential, asked: _Request) -> bytes:
    import httpx2

    headers = {**bearer(key), "content-type": "application/json"}
    try:
        async with asyncio.timeout(PATIENCE_S):
            response = await http.post(PATH, content=msgspec.json.encode(asked), headers=headers)
    except TimeoutError:
        said = f"{http.base_url.host}: no answer within {PATIENCE_S:g} s"
        raise ModelError(Failure(FailureKind.UNREACHABLE, said=said)) from None
    except httpx2.RequestError as error:
        said = f"{http.base_url.host}: {type(error).__name__}: {error}"
        raise ModelError(redacted(Failure(FailureKind.UNREACHABLE, said=said), key.secret)) from error
    if not response.is_success:
        failure = of_response(response.status_code, response.headers, response.content, time.time())
        raise ModelError(redacted(failure, key.secret))
    return response.content


def _decoded(data: bytes, http: "httpx2.AsyncClient") -> _Answer:
    try:
        return msgspec.json.decode(data, type=_Answer)
    except msgspec.MsgspecError as error:
        raise _odd(http, str(error)) from error


def _odd(http: "httpx2.AsyncClient", why: str) -> ModelError:
    return ModelError(Failure(FailureKind.EMPTY_REPLY, said=f"{http.base_url.host} sent no embeddings: {why}"))


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    length = math.hypot(*one) * math.hypot(*other)
    return sum(map(mul, one, other)) / length if length else 0.0
