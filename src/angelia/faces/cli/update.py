"""`angelia update` and `uninstall`: another version, tried on a copy before it counts; and the way out."""

import asyncio
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from angelia.core.counts import counted
from angelia.core.crash import crash_point
from angelia.core.errors import AngeliaError, BadInput
from angelia.core.version import PACKAGE_VERSION
from angelia.faces.cli.backup import TerminalSteps, usual_folder
from angelia.faces.cli.options import Whole, loaded_from, settings_options
from angelia.faces.cli.other_programs import run
from angelia.faces.cli.progress import working
from angelia.faces.cli.versions import Version, Versions, wheel_at
from angelia.faces.gateway.units import ServiceUnit, installed_unit
from angelia.faces.words.output import echo
from angelia.held_folder import HeldFolder
from angelia.installation import Installation, InstallWay, installation
from angelia.service.backups.backup import BackupPlan, back_up
from angelia.service.backups.restore import restore
from angelia.service.chats.gateway_state import GatewayState, gateway_of
from angelia.service.settings.config import Loaded

KEPT = 7
"""Backups that stay of those which updates make."""
_LOOK_S = 0.5


class Trial(Struct, frozen=True):
    """What a version made of a copy of the home: whether the store is in order, what `doctor` called broken."""

    store: int
    broken: dict[str, str]
    said: str


@click.command(
    epilog=("\b\nExamples:\n  angelia update --from angelia-0.2.0-py3-none-any.whl\n  angelia update --from dist/")
)
@click.option("--from", "place", metavar="WHEEL|FOLDER|URL", required=True, help="Where the new version is.")
@click.option("--patience", type=Whole(min=1), default=60, help="Seconds that the gateway may take to be back (60).")
@settings_options
def update(place: str, patience: int, **given: Any) -> int:
    """Back up, install the new version beside this one, try it on a copy, and switch; if it does not come up, switch
    back.
    """
    found = installation()
    if found.way is not InstallWay.SCRIPT:
        raise BadInput(
            f"This Angelia came by {found.way}, and is updated so: `{found.updating()}`.",
            then="Make a backup first: `angelia backup`. Only what `install.sh` set up is tried first and comes back.",
        )
    loaded = loaded_from(given)
    versions = Versions(found.prefix.parent.parent)
    before = versions.current()
    backup = _backed_up(loaded)
    wheel, needs = wheel_at(place)
    with working("installing the new version beside this one"):
        after = versions.add(wheel, found.extras, needs)
    try:
        number = after.number()
        _tried(backup, before, after, number)
    except BaseException:
        shutil.rmtree(after.folder, ignore_errors=True)
        raise
    crash_point("update.before_switch")
    return _switched(versions, before, after, number, loaded, patience)


def _backed_up(loaded: Loaded) -> Path:
    from angelia.service.stored_home import StoredHome

    plan = BackupPlan(usual_folder(loaded.home), keys=True, keep=KEPT)
    made = asyncio.run(back_up(StoredHome.open(loaded), plan, TerminalSteps()))
    echo(f"Backed up: {made.path}")
    return made.path


def _tried(backup: Path, before: Version, after: Version, number: str) -> None:
    """Let both versions look at a copy of the home.

    Raises:
        AngeliaError: the new one does worse; says at what. The home was not touched.
    """
    with working(f"trying {number} on a copy"):
        was, now = (_trial(backup, version) for version in (before, after))
    worse = " ".join(line for about, line in now.broken.items() if about not in was.broken)
    if now.store or worse:
        why = now.said if now.store else worse
        raise AngeliaError(f"Angelia {number} fails on a copy of your home.", why, f"{PACKAGE_VERSION} stays as it is.")
    echo(f"Tried on a copy: Angelia {number} reads it, and it is in order.")


def _trial(backup: Path, version: Version) -> Trial:
    with HeldFolder() as folder:
        home = folder / "home"
        asyncio.run(restore(backup, home, "", TerminalSteps()))
        doctor = version.try_on(home, "doctor", "--offline")  # it opens the store, and so migrates it
        store = version.try_on(home, "store", "verify")
        broken = {line.split()[1]: line for line in doctor.said.splitlines() if line.startswith("✘")}
        if doctor.code and not broken:
            broken["doctor"] = doctor.last
        return Trial(store.code, broken, store.last)


def _switched(versions: Versions, before: Version, after: Version, number: str, loaded: Loaded, patience: int) -> int:
    """Let the new version count, and the service with it; or the old one again."""
    home = loaded.home
    running, unit = gateway_of(home), installed_unit(sys.platform, Path.home(), home)
    versions.switch(after)
    crash_point("update.after_switch")
    if running is None or unit is None:
        versions.tidy(before, after)
        echo(f"Angelia {number} is in place of {PACKAGE_VERSION}.")
        if running is not None:
            echo(f"The gateway that runs (process {running.pid}) is the old one until you start it anew.", err=True)
        return 0
    why = _restarted(unit, home, running, number, patience)
    if not why:
        versions.tidy(before, after)
        echo(f"Angelia {number} is in place of {PACKAGE_VERSION}, and the gateway is back.")
        return 0
    echo(f"Angelia {number} did not come up: {why}", err=True)
    versions.switch(before)
    _forward_only(before, home)
    again = _restarted(unit, home, running, running.version, patience)
    shutil.rmtree(after.folder, ignore_errors=True)
    if again:
        raise AngeliaError(f"{PACKAGE_VERSION} is in place again, but its gateway is not back: {again}", "", _LOOK)
    echo(f"{PACKAGE_VERSION} is in place again, and its gateway is back. Nothing is lost.", err=True)
    return 1


_LOOK = "Look: angelia gateway logs"


def _restarted(unit: ServiceUnit, home: Path, running: GatewayState, number: str, patience: int) -> str:
    """Start the service anew, and wait until it is as well as it was; says why it is not, or nothing."""
    ran = run(unit.restart)
    if ran.code:
        return ran.last
    with working("waiting for the gateway"):
        return asyncio.run(_come_back(home, running, number, patience))


async def _come_back(home: Path, running: GatewayState, number: str, patience: int) -> str:
    """Wait for a gateway of that version whose channels are as well as they were; says what is missing, or nothing."""
    wanted = sorted(door for door, one in running.channels.items() if one.state == "connected")
    missing = f"after {patience} s no gateway of that version runs"
    for _ in range(round(patience / _LOOK_S)):
        state = gateway_of(home)
        if state and state.life != running.life and state.version == number:
            missing = ", ".join(f"{door} is {now}" for door in wanted if (now := _state(state, door)) != "connected")
            if not missing:
                return ""
        await asyncio.sleep(_LOOK_S)
    return missing


def _state(state: GatewayState, door: str) -> str:
    return state.channels[door].state if door in state.channels else "not open"


def _forward_only(before: Version, home: Path) -> None:
    """Where the new version changed the form of the store, the old one finds what was put aside before that.

    Raises:
        AngeliaError: the old version cannot read the store; says where its copy is.
    """
    ran = before.angelia("sessions", home=home)
    if ran.code:
        kept: Sequence[Path] = sorted(home.glob("angelia.db.v*"))
        raise AngeliaError(
            f"{PACKAGE_VERSION} is in place again, but cannot read the store any more: {ran.last}",
            f"As it was before: {kept[-1]}." if kept else "",
            "Restore the backup that was made at the beginning: angelia restore FILE.",
        )


@click.command(epilog=("\b\nExample:\n  angelia uninstall"))
@settings_options
def uninstall(**given: Any) -> int:
    """Say how Angelia is removed, and what stays. This removes nothing."""
    found, home = installation(), loaded_from(given).home
    unit = installed_unit(sys.platform, Path.home(), home)
    for line in _leaving(found, home, unit):
        echo(line)
    return 0


def _leaving(found: Installation, home: Path, unit: ServiceUnit | None) -> list[str]:
    lines = ["To take Angelia away:"]
    if unit:
        lines.append(f"  angelia gateway uninstall    # the service: {unit.path}")
    lines += [f"  {found.removing()}", "", "What stays, until you remove it yourself:"]
    backups = usual_folder(home)
    size = sum(path.lstat().st_size for path in home.rglob("*") if path.is_file())
    lines.append(f"  {home}    # conversations, files, settings, keys: {size / 1e6:.0f} MB")
    if backups.is_dir():
        lines.append(f"  {backups}    # {counted(len(list(backups.glob('angelia-*'))), 'backup')}")
    return lines
