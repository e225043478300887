"""The models that can be had now, as rows for every door."""

import asyncio
from collections.abc import Sequence

from angelia.context.usage_meter import count
from angelia.core.errors import ConfigError, ModelError
from angelia.core.profile import Ability, Prices
from angelia.models.catalog.listing import ListedModel, list_models, probe_local
from angelia.models.catalog.prices import PriceBook
from angelia.models.catalog.vendor import Vendor
from angelia.models.local.weights import MOST_WINDOW, WEIGHTS, weights_path
from angelia.models.port import Credential
from angelia.service.models.catalog import ModelCatalog

HEAD = ("MODEL", "WINDOW", "TAKES", "$ IN / OUT")
NONE_HERE = "No model can be had. Set a key such as OPENAI_API_KEY or ANTHROPIC_API_KEY, or start Ollama."

Rows = list[tuple[str, ...]]


async def models_to_be_had(catalog: ModelCatalog, words: str) -> tuple[Rows, list[str]]:
    """A head and a row for each model whose name holds all `words`, no head where there is none; and sentences: one
    for each vendor that did not answer, and one where nothing fits. Dollars are per million tokens.
    """
    vendors = await _reachable(catalog)
    answers = await asyncio.gather(*(_listed(catalog, vendor, key) for vendor, key in vendors))
    wanted = words.lower().split()
    rows: Rows = []
    troubles = []
    others = False
    for (vendor, _), answer in zip(vendors, answers, strict=True):
        if isinstance(answer, str):
            troubles.append(f"{vendor.name}: {answer}")
            continue
        told = [one for one in answer if all(word in f"{vendor.name}:{one.model}".lower() for word in wanted)]
        others = others or len(told) < len(answer)
        rows += await asyncio.to_thread(_rows, vendor, told)
    for name in WEIGHTS:
        if weights_path(name, catalog.weights).is_file():
            if all(word in f"local:{name}" for word in wanted):
                rows.append((f"local:{name}", count(MOST_WINDOW), "text only", "free"))
            else:
                others = True
    none = f"No model here has the words “{words}”. Without words all are listed." if others else NONE_HERE
    return ([HEAD, *rows], troubles) if rows else ([], [none, *troubles])


async def _reachable(catalog: ModelCatalog) -> list[tuple[Vendor, Credential]]:
    """Vendors with a key, and local servers that answer; one that shares address and key with another only once."""
    local = next(row for row in catalog.rows.values() if row.local and row.address())
    client = await catalog.client(local)
    answering = await probe_local(client, catalog.rows) if client else []
    found: dict[tuple[str, str], tuple[Vendor, Credential]] = {}
    for row in catalog.rows.values():
        if not row.address() or (row.local and row.name not in answering) or not catalog.keyring.has(row):
            continue
        key = (await catalog.keyring.pool(row))[0]
        found.setdefault((row.address(), key.secret), (row, key))
    return list(found.values())


async def _listed(catalog: ModelCatalog, vendor: Vendor, key: Credential) -> tuple[ListedModel, ...] | str:
    try:
        client = await catalog.client(vendor)
        return await list_models(vendor, client, key) if client else ()
    except (ModelError, ConfigError) as error:
        return str(error)


def _rows(vendor: Vendor, told: Sequence[ListedModel]) -> Rows:
    book = PriceBook(None)
    rows: Rows = []
    for one in told:
        name = f"{vendor.name}:{one.model}"
        known = book.learn(name, vendor.prices, one.window)
        price = "free" if vendor.local else _price(known.prices)
        rows.append((name, count(known.window) if known.window else "?", _takes(one), price))
    return rows


def _takes(one: ListedModel) -> str:
    able = [name for name, ability in (("images", one.images), ("tools", one.tools)) if ability is Ability.YES]
    return ", ".join(able) or ("text only" if one.images is one.tools is Ability.NO else "?")


def _price(prices: Prices) -> str:
    return f"{prices.input:g} / {prices.output:g}" if prices.input >= 0 else "?"
