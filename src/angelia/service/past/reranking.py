"""The hundred best hits of a search by words, ordered anew by a model of the person's choice."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from angelia.context.usage_meter import money
from angelia.core.entry import NO_PAYMENT, Payment, Usage
from angelia.core.errors import AngeliaError, ConfigError, ModelError
from angelia.core.text import one_line
from angelia.models.catalog.prices import flat_cost
from angelia.models.port import Credential
from angelia.models.rankers.embeddings import EmbeddingRanker
from angelia.models.rankers.port import Ranker
from angelia.service.models.catalog import ModelCatalog
from angelia.service.past.find_past import FoundPast
from angelia.store.log.ranked_search import RankedFound, RankedHit

if TYPE_CHECKING:
    import httpx2

CANDIDATES = 100
"""Hits that are compared with the question; more costs more than it finds."""


class Reranking:
    """See `OrdersAnew`; `spec` is the setting `ranker`, and `redact` hides known secrets."""

    candidates = CANDIDATES
    """See there."""

    def __init__(self, spec: str, catalog: ModelCatalog, redact: Callable[[str], str], *, offline: bool) -> None:
        """`offline`: only a model on the person's own machines is asked."""
        self._spec = spec
        self._catalog = catalog
        self._redact = redact
        self._offline = offline

    @property
    def may_cost(self) -> Payment:
        """See `OrdersAnew`."""
        return Payment(self._spec, -1) if self._leaves and not self._offline else NO_PAYMENT

    @property
    def _leaves(self) -> bool:
        vendor = self._catalog.rows.get(self._spec.partition(":")[0])
        return vendor is not None and not vendor.local

    async def best(self, question: str, found: RankedFound, limit: int) -> FoundPast:
        """The first `limit` hits in the ranker's order; in that of the words where it could not be asked."""
        if len(found.hits) < 2:
            return FoundPast(_only(found, found.hits[:limit]))
        if self._leaves and self._offline:
            told = f"Ordered by words alone: the setting `network` is off, and {self._spec} is not on this machine."
            return FoundPast(_only(found, found.hits[:limit]), told)
        texts = [self._redact(_whole(hit)) for hit in found.hits]
        try:
            scored = await self._ranker().scores(self._redact(question), texts)
        except AngeliaError as error:
            why = one_line(str(error), 300).rstrip(".")
            told = f"Ordered by words alone: {self._spec} could not be asked ({why})."
            left = isinstance(error, ModelError)  # then it may have been paid for
            return FoundPast(_only(found, found.hits[:limit]), told, self._paid(0) if left else NO_PAYMENT)
        order = sorted(range(len(texts)), key=lambda at: -scored.scores[at])
        hits = [found.hits[at] for at in order[:limit]]
        paid = self._paid(scored.tokens)
        told = f"The first {len(texts)} by their words were ordered anew by {self._spec}{_cost(paid)}."
        return FoundPast(_only(found, hits), told, paid)

    def _paid(self, tokens: int) -> Payment:
        if not self._leaves:
            return NO_PAYMENT
        prices = self._catalog.profile(self._spec).prices
        return Payment(self._spec, flat_cost(prices, Usage(input=tokens)) if tokens else -1)

    def _ranker(self) -> Ranker:
        kind, _, model = self._spec.partition(":")
        vendor = self._catalog.rows.get(kind)
        if vendor is None or not model or kind == "local":
            raise ConfigError(
                f"The setting `ranker` is {self._spec!r}, which names no model of a server.",
                then="Write vendor:model, such as openai:text-embedding-3-small.",
            )

        async def reach() -> "tuple[httpx2.AsyncClient, Credential]":
            client = await self._catalog.client(vendor)
            if client is None:
                raise ConfigError(f"{kind} has no address at which it could be asked.", then="Name another vendor.")
            return client, (await self._catalog.credentials(self._spec))[0]

        return EmbeddingRanker(model, reach)


def _whole(hit: RankedHit) -> str:
    """A message with what stood beside it: alone it often does not say what it is about."""
    return "\n".join(one.text for one in (hit.found, hit.earlier, hit.later) if one)


def _only(found: RankedFound, hits: Sequence[RankedHit]) -> RankedFound:
    return replace(found, hits=tuple(hits))


def _cost(paid: Payment) -> str:
    """What it cost, as the end of a sentence; empty where nobody is paid."""
    if not paid.cost:
        return ""
    return f" for {money(paid.cost)}" if paid.cost > 0 else ", and nobody knows what that cost"
