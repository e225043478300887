"""Looks at the sandboxes at Modal that are configured: whether its SDK is there, and lets us in."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from angelia.core.errors import AngeliaError
from angelia.faces.cli.checkup.check_result import CheckResult, absent, broken, well
from angelia.sandboxes.modal.settings import ModalSettings
from angelia.service.app import App
from angelia.service.places.presets import Chosen, chosen

CHANNEL = "modal"
SECONDS = 60.0
"""Until Modal must have answered."""
_NOBODY = "angelia-doctor"
"""The name of a sandbox that there is not: whoever may ask for it may work there."""


async def look_at_modal(app: App) -> AsyncIterator[CheckResult]:
    """One question each, which costs nothing. No sandbox is started, since that would."""
    for name, at in _configured(app):
        yield await _asked(app, name, at)


async def leave_modal(app: App) -> AsyncIterator[CheckResult]:
    """Say that Modal is not asked."""
    for name, at in _configured(app):
        yield absent(name, f"{at.spec} was not looked at (--offline)")


def _configured(app: App) -> Iterator[tuple[str, Chosen]]:
    settings = app.loaded.config.sandbox
    for name in dict.fromkeys((settings.spec, *settings.presets)):
        at = chosen(settings, name)
        if at.spec.partition(":")[0] == CHANNEL:
            yield name, at


async def _asked(app: App, name: str, at: Chosen) -> CheckResult:
    from angelia.sandboxes.modal.service import Service

    settings = at.settings[CHANNEL]
    assert isinstance(settings, ModalSettings)
    try:
        async with asyncio.timeout(SECONDS), app.places.visited(name, Path.cwd(), lambda _: None):
            await Service(settings).find(_NOBODY)
    except AngeliaError as error:
        seen = " ".join(part for part in (error.what, error.why) if part)
        return broken(name, seen, error.then or "Look at [sandbox.modal].")
    except TimeoutError:
        return broken(name, f"Modal did not answer within {SECONDS:.0f} s", "Try again; status.modal.com tells.")
    return well(name, f"{at.spec}: Modal lets us in; nothing was started there, since that costs money")
