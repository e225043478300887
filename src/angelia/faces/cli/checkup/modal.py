"""Looks at the sandboxes at Modal that are configured: whether its SDK is there, and lets us in."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from angelia.core.errors import AngeliaError
from angelia.faces.cli.checkup.finding import Finding, absent, broken, well
from angelia.sandboxes.modal.settings import ModalSettings
from angelia.service.assemble import House
from angelia.service.places import visited
from angelia.service.presets import Chosen, chosen

ROOM = "modal"
SECONDS = 60.0
"""Until Modal must have answered."""
_NOBODY = "angelia-doctor"
"""The name of a sandbox that there is not: whoever may ask for it may work there."""


async def look_at_modal(house: House) -> AsyncIterator[Finding]:
    """One question each, which costs nothing. No sandbox is started, since that would."""
    for name, at in _configured(house):
        yield await _asked(house, name, at)


async def leave_modal(house: House) -> AsyncIterator[Finding]:
    """Say that Modal is not asked."""
    for name, at in _configured(house):
        yield absent(name, f"{at.spec} was not looked at (--offline)")


def _configured(house: House) -> Iterator[tuple[str, Chosen]]:
    settings = house.loaded.config.sandbox
    for name in dict.fromkeys((settings.spec, *settings.presets)):
        at = chosen(settings, name)
        if at.spec.partition(":")[0] == ROOM:
            yield name, at


async def _asked(house: House, name: str, at: Chosen) -> Finding:
    from angelia.sandboxes.modal.service import Service

    settings = at.rooms[ROOM]
    assert isinstance(settings, ModalSettings)
    try:
        async with asyncio.timeout(SECONDS), visited(house, name, Path.cwd(), lambda _: None):
            await Service(settings).find(_NOBODY)
    except AngeliaError as error:
        seen = " ".join(part for part in (error.what, error.why) if part)
        return broken(name, seen, error.then or "Look at [sandbox.modal].")
    except TimeoutError:
        return broken(name, f"Modal did not answer within {SECONDS:.0f} s", "Try again; status.modal.com tells.")
    return well(name, f"{at.spec}: Modal lets us in; nothing was started there, since that costs money")
