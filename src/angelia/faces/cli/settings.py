"""`angelia config` and `grants`: what is set, and what was permitted."""

import asyncio
import sys
from typing import Any

import click
import msgspec

from angelia.core.errors import BadInput
from angelia.core.ids import short
from angelia.core.moment import when
from angelia.core.principal import OWNER
from angelia.faces.cli.options import loaded_from, open_app, settings_options
from angelia.faces.words.output import echo
from angelia.faces.words.paint import screen
from angelia.faces.words.widths import table
from angelia.service.settings.config import home_folder, listed
from angelia.store.tables.grants import Grant


@click.command(epilog="Examples:  angelia config  ·  angelia config path  ·  angelia config --set limits.max_steps=20")
@click.argument("what", metavar="[path]", required=False)
@settings_options
def config(what: str | None, **given: Any) -> int:
    """Show every setting and where its value came from, never a key; `config path` prints where the file is."""
    if what == "path":
        echo(home_folder() / "config.toml")
        return 0
    if what:
        raise BadInput(f"config takes nothing or `path`, and got {what!r}.", then="To change a setting, edit the file.")
    rows = [(key, msgspec.json.encode(value).decode(), origin) for key, value, origin in listed(loaded_from(given))]
    columns = screen().columns if sys.stdout.isatty() else 0
    echo("\n".join(table([("SETTING", "VALUE", "FROM"), *rows], columns)))
    return 0


@click.command(epilog="Examples:  angelia grants  ·  angelia grants revoke 3")
@click.argument("what", metavar="[revoke N]", nargs=-1)
@settings_options
def grants(what: tuple[str, ...], **given: Any) -> int:
    """List remembered permissions, or take one back."""
    match what:
        case ():
            return asyncio.run(_grants(given))
        case ("revoke", number) if number.isdecimal():
            return asyncio.run(_revoke(int(number), given))
        case _:
            raise BadInput(f"grants does not take {' '.join(what)!r}.", then="Example: angelia grants revoke 3")


async def _grants(given: dict[str, Any]) -> int:
    app = await open_app(given)
    rows = [_row(grant) for grant in await app.grants.list(OWNER)]
    if not rows:
        echo("Nothing is permitted beyond what the mode allows.", err=True)
        return 0
    head = ("N", "WHAT", "WHERE", "GIVEN", "UNTIL")
    echo("\n".join(table([head, *rows], screen().columns if sys.stdout.isatty() else 0)))
    return 0


def _row(grant: Grant) -> tuple[str, ...]:
    scope = f"conversation {short(grant.conversation)}" if grant.conversation else grant.workspace
    until = when(grant.until) if grant.until else "no end"
    return (str(grant.id), grant.pattern, scope, when(grant.given_at), until)


async def _revoke(number: int, given: dict[str, Any]) -> int:
    app = await open_app(given)
    await app.grants.revoke(OWNER, number)
    echo(f"Grant {number} is taken back.", err=True)
    return 0
