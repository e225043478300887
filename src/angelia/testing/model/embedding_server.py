"""A scripted model of embeddings behind real HTTP on loopback: OpenAI's `/v1/embeddings`.

It is strict: a request that the vendor's reference does not allow is refused as the vendor refuses it.
"""

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from angelia.testing.model.http1 import Answering, HttpRequest
from angelia.testing.model.loopback import ScriptedHttpServer

MOST_TEXTS = 2_048
"""Texts of one request (OpenAI reference, "Create embeddings", `input`)."""


class _Order(Struct, frozen=True, forbid_unknown_fields=True):
    model: str
    input: str | list[str]
    encoding_format: str = "float"


class EmbeddingFailure(Struct, frozen=True):
    """A refusal with that status and message."""

    status: int
    said: str


Embedding = Callable[[str], Sequence[float]]


class EmbeddingServer(ScriptedHttpServer):
    """A server for the length of an `async with`; `embed` makes a text a vector, `failure` is answered in its place.

    `orders` are the texts of each request, `keys` with which key it came.
    """

    def __init__(self, embed: Embedding, failure: EmbeddingFailure | None = None) -> None:
        super().__init__()
        self.embed = embed
        self.failure = failure
        self.orders: list[list[str]] = []
        self.keys: list[str] = []

    async def answer(self, given: HttpRequest, out: Answering) -> None:
        """See `ScriptedHttpServer`."""
        texts = _texts(given)
        if isinstance(texts, list):
            self.orders.append(texts)
            self.keys.append(given.headers.get("authorization", "").removeprefix("Bearer "))
        refused = texts if isinstance(texts, EmbeddingFailure) else self.failure
        if refused:
            await out.whole(refused.status, msgspec.json.encode({"error": {"message": refused.said}}))
            return
        assert isinstance(texts, list)
        data = [{"object": "embedding", "index": at, "embedding": self.embed(text)} for at, text in enumerate(texts)]
        usage = {"prompt_tokens": sum(len(text) // 4 + 1 for text in texts)}
        # In reverse, since nothing says that they come in order.
        await out.whole(200, msgspec.json.encode({"object": "list", "data": data[::-1], "usage": usage}))


def _texts(given: HttpRequest) -> list[str] | EmbeddingFailure:
    if (given.method, given.path) != ("POST", "/v1/embeddings"):
        return EmbeddingFailure(404, f"Invalid URL ({given.method} {given.path})")
    try:
        order = msgspec.json.decode(given.body, type=_Order)
    except msgspec.MsgspecError as error:
        return EmbeddingFailure(400, str(error))
    texts = [order.input] if isinstance(order.input, str) else order.input
    if not 0 < len(texts) <= MOST_TEXTS or not all(texts):
        return EmbeddingFailure(400, "'$.input' is invalid.")
    return texts
