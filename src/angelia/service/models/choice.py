"""Which model is used when nobody named one: a key in the environment, a local server, or the embedded model."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from angelia.core.errors import AngeliaError, ConfigError, ModelError
from angelia.models.catalog.credentials import NO_KEY
from angelia.models.catalog.vendors import vendors
from angelia.models.local.weights import found_weights, offered_weights, to_be_got
from angelia.service.models.catalog import ModelCatalog
from angelia.service.settings.config import Config
from angelia.store.tables.key_value import KeyValue

if TYPE_CHECKING:
    from angelia.models.catalog.listing import ListedModel

FAVOURITES = {
    "anthropic": "claude-sonnet-5-5",
    "openai": "gpt-6.1-sol",
    "openrouter": "openrouter/auto",
    "gemini": "gemini-3.8-flash",
    "xai": "grok-4.7",
    "mistral": "mistral-medium-latest",
    "deepseek": "deepseek-chat",
    "groq": "openai/gpt-oss-120b",
}
"""The model that a key alone stands for: each vendor's general one as of November 2026 (names from genai-prices)."""

LISTING_SECONDS = 3.0
"""How long a server in a vendor's place may take to say which models it has."""

AskYes = Callable[[str], Awaitable[bool]]
"""Puts a yes-or-no question to the person."""


class ModelChoice(Struct, frozen=True):
    """A model, and the sentence that says why it is this one; empty when the person named it. `embedded` is what is
    left where nothing else was found.
    """

    spec: str
    because: str = ""
    embedded: bool = False


class LocalModelOffer(Struct, frozen=True):
    """A model on a server of this machine; `earlier` is what the person said about that server: yes, or nothing."""

    vendor: str
    spec: str
    earlier: str


async def choose(named: str, model_catalog: ModelCatalog, key_value: KeyValue, ask: AskYes | None) -> ModelChoice:
    """The model to use. Without anybody to `ask`, a local server is used only after an earlier yes."""
    if choice := await _without_asking(named, model_catalog):
        return choice
    async for offer in _offers(model_catalog, key_value):
        yes = bool(offer.earlier)
        if not yes and ask is not None:
            model = offer.spec.partition(":")[2]
            yes = await ask(f"A {offer.vendor} server answers on this machine. Use its model {model} from now on?")
            await key_value.put(_key(offer.vendor), "yes" if yes else "no")
        if yes:
            return ModelChoice(offer.spec, f"Using {offer.spec}: a {offer.vendor} server answers on this machine.")
    name = offered_weights(model_catalog.weights)
    return ModelChoice(
        f"local:{name}",
        f"Using the small embedded model {name} (free, on this machine): it does simple things in a folder. "
        "For real work set a key such as OPENAI_API_KEY or ANTHROPIC_API_KEY, or start Ollama.",
        embedded=True,
    )


async def likely(named: str, model_catalog: ModelCatalog, key_value: KeyValue) -> str:
    """The model that a conversation would begin with if the person said yes to the first local server; asks nobody."""
    if choice := await _without_asking(named, model_catalog):
        return choice.spec
    embedded = f"local:{offered_weights(model_catalog.weights)}"
    return await anext((offer.spec async for offer in _offers(model_catalog, key_value)), embedded)


async def must_be_had(config: Config, model_catalog: ModelCatalog, key_value: KeyValue) -> str:
    """The first of the model and its fallbacks that there is a key, or there are weights, for. Nothing is asked.

    Raises:
        ConfigError: there is none; says why of each.
    """
    chosen = (await choose(config.model, model_catalog, key_value, None)).spec
    causes = []
    for spec in (chosen, *config.fallback):
        try:
            if weights := to_be_got(spec, model_catalog.weights):
                found_weights(weights.name, model_catalog.weights)
            await model_catalog.credentials(spec)
            return spec
        except AngeliaError as error:
            causes.append(str(error))
    then = "`angelia setup` finds one, or takes a key."
    raise ConfigError("There is no model to answer with.", " ".join(causes), then)


def at_hand(model_catalog: ModelCatalog) -> tuple[str, ...]:
    """The models that the keys stand for, each vendor's general one; none of vendors whose server is another."""
    known = vendors_with_keys(model_catalog)
    return tuple(f"{vendor}:{FAVOURITES[vendor]}" for vendor in known if not placed_at(vendor, model_catalog))


def vendors_with_keys(model_catalog: ModelCatalog) -> tuple[str, ...]:
    """The vendors of general models that there is a key for, the first choice first."""
    return tuple(name for name in FAVOURITES if model_catalog.keyring.has(model_catalog.rows[name]))


def placed_at(vendor: str, model_catalog: ModelCatalog) -> str:
    """Where the server is that stands in the vendor's place, such as by `OPENAI_BASE_URL`; empty for its own."""
    address = model_catalog.address(vendor)
    return "" if address == vendors()[vendor].base_url else address


async def listed_in_place(vendor: str, model_catalog: ModelCatalog) -> "tuple[ListedModel, ...]":
    """What the server in a vendor's place offers, the vendor's general model first if it has that; that model alone if
    it does not tell, or not in time.
    """
    from angelia.models.catalog.listing import ListedModel, list_models  # nobody is asked where a model is named

    row, usual = model_catalog.rows[vendor], ListedModel(FAVOURITES[vendor])
    try:
        async with asyncio.timeout(LISTING_SECONDS):
            client, pool = await model_catalog.client(row), await model_catalog.keyring.pool(row)
            listed = await list_models(row, client, pool[0]) if client and pool else ()
    except (AngeliaError, TimeoutError):
        return (usual,)
    return tuple(sorted(listed, key=lambda one: one.model != usual.model)) or (usual,)


async def _without_asking(named: str, model_catalog: ModelCatalog) -> ModelChoice | None:
    if named:
        return ModelChoice(named)
    for vendor in vendors_with_keys(model_catalog):
        address = placed_at(vendor, model_catalog)
        model = (await listed_in_place(vendor, model_catalog))[0].model if address else FAVOURITES[vendor]
        spec = f"{vendor}:{model}"
        there = f" at {address}, which is set as the address of {vendor}" if address else ""
        return ModelChoice(spec, f"Using {spec}{there}: there is a key for {vendor}.")
    return None


async def _offers(model_catalog: ModelCatalog, key_value: KeyValue) -> AsyncIterator[LocalModelOffer]:
    """What local servers have, except those that the person does not want."""
    from angelia.models.catalog.listing import list_models

    for vendor in await local_vendors(model_catalog):
        earlier = await key_value.get(_key(vendor))
        row = model_catalog.rows[vendor]
        client = await model_catalog.client(row)
        if earlier == "no" or client is None:
            continue
        try:
            offered = await list_models(row, client, NO_KEY)
        except ModelError:
            continue
        if offered:
            yield LocalModelOffer(vendor, f"{vendor}:{offered[0].model}", earlier)


def _key(vendor: str) -> str:
    return f"local-server:{vendor}"


async def local_vendors(model_catalog: ModelCatalog) -> list[str]:
    """The vendors whose servers answer on this machine. Any client will do: one is borrowed from the first of them."""
    from angelia.models.catalog.listing import probe_local

    local = next(row for row in model_catalog.rows.values() if row.local and row.address())
    client = await model_catalog.client(local)
    return await probe_local(client, model_catalog.rows) if client else []
