"""`angelia gateway`: be reachable in chat networks."""

import asyncio
import gc
import sys
from pathlib import Path
from typing import Any

import click

from angelia.core.errors import BadInput
from angelia.faces.cli.options import loaded_from, open_app, settings_options
from angelia.faces.words.output import echo


@click.group(
    invoke_without_command=True,
    epilog="Examples:  angelia gateway  ·  angelia gateway --only telegram  ·  angelia gateway install --write",
)
@click.option("--only", multiple=True, metavar="CHANNEL", help="Open only this channel; may be given several times.")
@settings_options
@click.pass_context
def gateway(ctx: click.Context, /, only: tuple[str, ...], **given: Any) -> int | None:
    """Keep Angelia reachable in every configured chat network, until Ctrl-C or TERM ends it gracefully."""
    if ctx.invoked_subcommand is not None:
        return None
    gc.enable()  # it runs for months
    gc.freeze()
    return asyncio.run(_run(only, given))


async def _run(only: tuple[str, ...], given: dict[str, Any]) -> int:
    from angelia.faces.gateway.foreground import run
    from angelia.service.own_process import raise_descriptor_limit

    raise_descriptor_limit()
    return await run(await open_app(given), only)


@gateway.command(epilog="Example: angelia gateway install --write")
@click.option("--write", is_flag=True, help="Write the file; without it, it is only shown.")
@settings_options
def install(write: bool, **given: Any) -> int:
    """Start the gateway with this machine: a systemd user unit, or a launchd agent on macOS."""
    from angelia.faces.gateway.units import unit_for

    unit = unit_for(sys.platform, Path.home(), loaded_from(given).home)
    if not write:
        echo(unit.text)
        echo(f"This belongs into {unit.path}: angelia gateway install --write", err=True)
        return 0
    if unit.path.exists() and unit.path.read_text() != unit.text:
        raise BadInput(f"{unit.path} is there already, and differs.", then="Move it away first; nothing was changed.")
    unit.path.parent.mkdir(parents=True, exist_ok=True)
    unit.path.write_text(unit.text)
    echo(f"Written to {unit.path}. Now:")
    for command in unit.then:
        echo(f"  {command}")
    return 0
