"""`angelia gateway`: be reachable in chat networks."""

import asyncio
import gc
import logging
import os
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from angelia.core.errors import BadInput
from angelia.faces.cli.options import Whole, loaded_from, open_app, settings_options
from angelia.faces.cli.other_programs import become, run, succeed
from angelia.faces.cli.service import PATIENCE_S, begin_service, restart_service
from angelia.faces.gateway.units import ServiceUnit, installed_unit, unit_for
from angelia.faces.words.output import echo
from angelia.faces.words.widths import table
from angelia.installation import installation

if TYPE_CHECKING:
    from angelia.service.app import App
    from angelia.service.chats.gateway import Gateway

logger = logging.getLogger("angelia.gateway")

patience_option = click.option(
    "--patience",
    type=Whole(min=1),
    default=PATIENCE_S,
    help=f"Seconds that it may take to start ({PATIENCE_S}).",
)


@click.group(
    invoke_without_command=True,
    epilog=("\b\nExamples:\n  angelia gateway\n  angelia gateway --only telegram\n  angelia gateway install"),
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
    from angelia.faces.gateway.foreground import run as run_channels
    from angelia.service.own_process import raise_descriptor_limit

    raise_descriptor_limit()
    app = await open_app(given)
    return await run_channels(app, only, partial(_page, app) if app.loaded.config.web.in_gateway else None)


async def _page(app: "App", gateway: "Gateway") -> None:
    """The page beside the channels, which go on without it where it cannot be served."""
    from angelia.faces.cli.doctor import look_through
    from angelia.faces.web.conversations.gateway_chats import GatewayChats
    from angelia.faces.web.door import WebDoor

    door = WebDoor(app, lambda offline: look_through(app, offline=offline), GatewayChats(gateway))
    await door.run(app.loaded.config.web.listen)


@gateway.command(epilog=("\b\nExamples:\n  angelia gateway install\n  angelia gateway install --show"))
@click.option("--system", is_flag=True, help="For the whole machine (systemd, as root), not for your login.")
@click.option("--show", is_flag=True, help="Only show the file and the commands; nothing is changed.")
@patience_option
@settings_options
def install(system: bool, show: bool, patience: int, **given: Any) -> int:
    """Start the gateway now and with this machine. It is a systemd unit, or a launchd agent on macOS; keys of this
    environment are kept for it in `gateway.env`.
    """
    unit = _unit(given, system=system)
    if show:
        echo(unit.text)
        echo(f"This belongs into {unit.path}. Then:", err=True)
        for command in unit.begin:
            echo(f"  {shlex.join(command)}", err=True)
        return 0
    begin_service(unit, loaded_from(given), os.environ, echo, patience)
    if unit.hint:
        echo(f"You may want: {unit.hint}")
    return 0


@gateway.command(epilog=("\b\nExample:\n  angelia gateway status && echo reachable"))
@settings_options
def status(**given: Any) -> int:
    """Say whether the gateway runs and is reachable. Exit code 1 if not: a health check needs nothing else."""
    from angelia.core.moment import when
    from angelia.service.chats.gateway_state import gateway_of

    home = loaded_from(given).home
    unit = installed_unit(sys.platform, Path.home(), loaded_from(given).home)
    service = f"{unit.kind} ({run(unit.ask).last})" if unit else "none"
    state = gateway_of(home)
    if state is None:
        echo(f"No gateway runs for {home}. Service: {service}.")
        return 1
    echo(f"Angelia {state.version} runs since {when(state.began)} (process {state.pid}). Service: {service}.")
    rows = [(door, one.state, f"since {when(one.since)}", one.why) for door, one in state.channels.items()]
    for line in table(rows):
        echo(line)
    return 0 if state.well else 1


@gateway.command(epilog=("\b\nExample:\n  angelia gateway restart"))
@patience_option
@settings_options
def restart(patience: int, **given: Any) -> int:
    """End the service's gateway gracefully, and start it again."""
    state = restart_service(_service(given), loaded_from(given).home, patience)
    echo(f"Restarted (process {state.pid}). How its channels are: angelia gateway status")
    return 0


@gateway.command(epilog=("\b\nExample:\n  angelia gateway stop"))
@settings_options
def stop(**given: Any) -> int:
    """End the service's gateway gracefully. The machine starts it again with its next start, or you do."""
    succeed(_service(given).stop)
    echo("Stopped. What is under way goes on at the next start: angelia gateway restart")
    return 0


@gateway.command(epilog=("\b\nExamples:\n  angelia gateway logs\n  angelia gateway logs --follow"))
@click.option("--follow", "-f", is_flag=True, help="Go on printing as more comes.")
@settings_options
def logs(follow: bool, **given: Any) -> int:
    """Print the last hundred lines that the service's gateway wrote."""
    unit = _service(given)
    become(unit.follow if follow else unit.logs)
    return 0


@gateway.command(epilog=("\b\nExample:\n  angelia gateway uninstall"))
@settings_options
def uninstall(**given: Any) -> int:
    """End the service for good and remove its file. The home stays as it is."""
    unit = _service(given)
    for command in unit.end:
        succeed(command)
    unit.path.unlink()
    for command in unit.after:
        succeed(command)
    echo(f"Ended, and removed: {unit.path}. The home stays: {loaded_from(given).home}")
    return 0


def _unit(given: dict[str, Any], *, system: bool) -> ServiceUnit:
    return unit_for(sys.platform, Path.home(), loaded_from(given).home, installation().python, system=system)


def _service(given: dict[str, Any]) -> ServiceUnit:
    if unit := installed_unit(sys.platform, Path.home(), loaded_from(given).home):
        return unit
    raise BadInput("There is no service of this home.", then="`angelia gateway install` makes one.")
