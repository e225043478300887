"""The gateway as a service of this machine: its file is written, with what it needs, and the service manager told."""

import asyncio
import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from angelia.channels.registry import find_channel, read_settings
from angelia.core.errors import AngeliaError, BadInput
from angelia.faces.cli.other_programs import run, succeed
from angelia.faces.cli.progress import working
from angelia.faces.gateway.units import OURS, ServiceUnit
from angelia.service.chats.gateway_state import GatewayState, gateway_of
from angelia.service.settings.config import Loaded

PATIENCE_S = 30
"""How long a gateway may take to begin."""
_LOOK_S = 0.25


def begin_service(
    unit: ServiceUnit,
    loaded: Loaded,
    environ: Mapping[str, str],
    say: Callable[[str], None],
    patience: int = PATIENCE_S,
) -> None:
    """Write the unit, start it, say each step, and see its gateway begin within `patience` seconds. A unit of ours that
    is there is written anew. What the service needs of this environment goes into `gateway.env` before.

    Raises:
        BadInput: somebody else's file is there, or only root may write there; nothing was changed.
        ConfigError, MissingPart: a channel cannot be opened as it is configured; nothing was changed.
        AngeliaError: the service manager is not there, or refuses, or the gateway does not begin.
    """
    for door, section in loaded.config.channels.items():
        if section.get("enabled", True):
            read_settings(door, section, find_channel(door, section))
    before = gateway_of(loaded.home)
    try:
        if unit.path.exists() and OURS not in unit.path.read_text():
            raise BadInput(
                f"{unit.path} is there already, and not ours.", then="Move it away first; nothing was changed."
            )
        _keep_environment(loaded, environ, say)
        unit.path.parent.mkdir(parents=True, exist_ok=True)
        unit.path.write_text(unit.text)
    except PermissionError as error:
        raise BadInput(f"{unit.path} cannot be written.", "That is root's to do.", "Run it with sudo.") from error
    say(f"Written: {unit.path}")
    for command in unit.begin:
        succeed(command)
        say(f"Done: {shlex.join(command)}")
    if loaded.config.store:
        say("It begins once no other machine is the gateway of this store: angelia gateway status")
        return
    state = _new_gateway(unit, loaded.home, before, patience)
    say(f"It runs (process {state.pid}). How its channels are: angelia gateway status")


def restart_service(unit: ServiceUnit, home: Path, patience: int = PATIENCE_S) -> GatewayState:
    """End the service's gateway gracefully, start it again, and see it begin within `patience` seconds.

    Raises:
        AngeliaError: the service manager is not there, or refuses, or the gateway does not begin.
    """
    before = gateway_of(home)
    succeed(unit.restart)
    return _new_gateway(unit, home, before, patience)


def _new_gateway(unit: ServiceUnit, home: Path, before: GatewayState | None, patience: int) -> GatewayState:
    """The gateway that the service began, as soon as it says that it runs."""
    with working("waiting for the gateway"):
        if state := asyncio.run(_begun(home, before.life if before else "", patience)):
            return state
    raise AngeliaError(
        f"The service is there, but no gateway began within {patience} s.",
        f"What it said last: {run(unit.logs).last or 'nothing'}",
        "Mend that. The service goes on trying by itself, ever more seldom: `angelia gateway restart` does it at once.",
    )


async def _begun(home: Path, before: str, patience: int) -> GatewayState | None:
    for _ in range(round(patience / _LOOK_S)):
        state = gateway_of(home)
        if state and state.life != before:
            return state
        await asyncio.sleep(_LOOK_S)
    return None


def _keep_environment(loaded: Loaded, environ: Mapping[str, str], say: Callable[[str], None]) -> None:
    from angelia.models.catalog.vendors import vendors
    from angelia.service.settings.gateway_env import gateway_env, keep_variables, service_variables

    names = service_variables(vendors(), loaded.config)
    if kept := keep_variables(loaded.home, environ, names):
        say(f"Kept for the service: {', '.join(kept)}, in {gateway_env(loaded.home)}, which only you can read.")
        owner = loaded.home.stat()
        if os.getuid() != owner.st_uid:  # root's, of a unit of the machine: it is to be theirs
            os.chown(gateway_env(loaded.home), owner.st_uid, owner.st_gid)
