"""The gateway as a service of this machine: its file is written, and the service manager told."""

import shlex
from collections.abc import Callable

from angelia.core.errors import BadInput
from angelia.faces.cli.other_programs import succeed
from angelia.faces.gateway.units import OURS, ServiceUnit


def begin_service(unit: ServiceUnit, say: Callable[[str], None]) -> None:
    """Write the unit and start it, and say each step. One that we wrote before is written anew.

    Raises:
        BadInput: somebody else's file is there, or only root may write there; nothing was changed.
        AngeliaError: the service manager is not there, or refuses.
    """
    try:
        if unit.path.exists() and OURS not in unit.path.read_text():
            raise BadInput(
                f"{unit.path} is there already, and not ours.", then="Move it away first; nothing was changed."
            )
        unit.path.parent.mkdir(parents=True, exist_ok=True)
        unit.path.write_text(unit.text)
    except PermissionError as error:
        raise BadInput(f"{unit.path} cannot be written.", "That is root's to do.", "Run it with sudo.") from error
    say(f"Written: {unit.path}")
    for command in unit.begin:
        succeed(command)
        say(f"Done: {shlex.join(command)}")
