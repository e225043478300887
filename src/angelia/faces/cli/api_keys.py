"""`angelia web keys`: the keys by which other programs speak to Angelia."""

import asyncio
import sys
from typing import Any

import click

from angelia.core.entry import AdminAct
from angelia.core.moment import when
from angelia.core.principal import OWNER
from angelia.faces.cli.options import Amount, open_app, open_to_read, settings_options
from angelia.faces.words.output import echo
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table


@click.group(
    invoke_without_command=True,
    epilog=("\b\nExamples:\n  angelia web keys add open-webui --day-cost 2\n  angelia web keys remove open-webui"),
)
@click.pass_context
def keys(ctx: click.Context) -> int | None:
    """List the keys of programs that speak to Angelia. Only their hashes are stored (`angelia docs api`)."""
    return None if ctx.invoked_subcommand else int(ctx.invoke(list_keys))


@keys.command("list")
@settings_options
def list_keys(**given: Any) -> int:
    """List the keys. Says what each is good for, its caps, and where its conversations work."""
    return asyncio.run(_list_keys(given))


async def _list_keys(given: dict[str, Any]) -> int:
    from angelia.faces.web.api_keys import ApiKeys
    from angelia.store.tables.key_value import KeyValue

    home = await open_to_read(given)
    found = await ApiKeys(KeyValue(home.db), home.db.clock).list()
    if not found:
        echo("There are no keys; `angelia web keys add NAME` makes one.", err=True)
        return 0
    rows = [
        (
            *(key.name, key.scope, when(key.since), _capped(key.max_cost), _capped(key.day_cost)),
            *(key.folder or "its own", key.preset or "-"),
        )
        for key in found
    ]
    head = ("NAME", "SCOPE", "SINCE", "A TURN", "A DAY", "FOLDER", "PRESET")
    echo("\n".join(table([head, *rows], screen().columns * sys.stdout.isatty())))
    return 0


def _capped(cost: float) -> str:
    return f"${cost:g}" if cost else "-"


@keys.command("add")
@click.argument("name")
@click.option(
    "--scope",
    type=click.Choice(["read", "chat", "admin"]),
    default="chat",
    show_default=True,
    help="read: what was said under it. chat: to speak. admin: what needs a yes waits for yours, on the page.",
)
@click.option("--max-cost", type=Amount(min=0), default=0.0, help="US dollars that one turn may cost.")
@click.option("--day-cost", type=Amount(min=0), default=0.0, help="US dollars of a day (UTC's).")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, exists=True, resolve_path=True),
    help="Where its conversations work (default: a folder of the key's own).",
)
@click.option("--preset", default="", help="Sandbox preset or spec in which they work (default: `sandbox.spec`).")
@settings_options
def add_key(name: str, scope: str, **given: Any) -> int:
    """Make a key for a program; it is shown once, on stdout."""
    terms = {term: given.pop(term) or usual for term, usual in _NO_TERMS.items()}
    return asyncio.run(_add_key(name, terms, scope, given))


_NO_TERMS: dict[str, Any] = {"max_cost": 0.0, "day_cost": 0.0, "folder": "", "preset": ""}


async def _add_key(name: str, terms: dict[str, Any], scope: str, given: dict[str, Any]) -> int:
    from angelia.faces.web.api_keys import ApiKeys, KeyScope, KeyTerms
    from angelia.service.places.presets import chosen

    app = await open_app(given)
    try:
        chosen(app.loaded.config.sandbox, terms["preset"])
        await app.audit.record(AdminAct.API_KEY_ADDED, OWNER, f"{name}, {scope}")
        secret = await ApiKeys(app.key_value, app.clock).add(name, KeyScope(scope), KeyTerms(**terms))
    finally:
        await app.close()
    echo(secret)
    echo("This is the only time that it is shown. Programs send it as `Authorization: Bearer KEY`.", err=True)
    return 0


@keys.command("remove")
@click.argument("name")
@settings_options
def remove_key(name: str, **given: Any) -> int:
    """End a key. What was said under it stays, and what it began goes on."""
    return asyncio.run(_remove_key(name, given))


async def _remove_key(name: str, given: dict[str, Any]) -> int:
    from angelia.faces.web.api_keys import ApiKeys

    app = await open_app(given)
    try:
        keys = ApiKeys(app.key_value, app.clock)
        await keys.require(name)
        await app.audit.record(AdminAct.API_KEY_REMOVED, OWNER, name)
        await keys.remove(name)
    finally:
        await app.close()
    echo(f"The key {name} opens nothing any more.", err=True)
    return 0
