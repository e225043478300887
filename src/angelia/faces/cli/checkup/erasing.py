"""Looks at what is erased: by the settings, and people whose erasing was begun and is not finished."""

from collections.abc import AsyncIterator

from angelia.core.counts import counted
from angelia.core.days import DAY_MS
from angelia.faces.cli.checkup.check_result import CheckResult, broken, well
from angelia.service.app import App


async def look_at_erasing(app: App) -> AsyncIterator[CheckResult]:
    """A finding for each where there is something to say."""
    for who in await app.person_erasure.begun():
        yield broken("people", f"{who} is not erased to the end", f"angelia people erase {who}")
    rule = app.retention
    if rule.rules:
        found = await rule.over(rule.settings.warn * DAY_MS)
        staying = sum(1 for one in found if one.stays)
        going = f"{len(found) - staying} to go within {counted(rule.settings.warn, 'day')}"
        yield well("retention", f"conversations: {going}; kept although it is time: {staying} (`angelia retention`)")
