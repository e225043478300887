"""Looks at signals from outside: whether each could be taken in, and begins something."""

from collections.abc import AsyncIterator

from angelia.faces.cli.checkup.check_result import CheckResult, absent, broken, well
from angelia.service.app import App


async def look_at_signals(app: App) -> AsyncIterator[CheckResult]:
    """Each by its name; nothing is sent."""
    if not app.loaded.config.signals:
        return
    from angelia.service.schedule.signal_standing import standings

    for one in await standings(app.signal_services, app.loaded.config.gateway.listen):
        about = f"signal {one.name}"
        if one.fault:
            yield broken(about, one.fault, "`angelia signals` lists all of them.")
        elif not any(schedule.state == "active" for schedule in one.begins):
            yield absent(about, "nothing begins on it", f"angelia schedule add 'on signal {one.name}' WHAT")
        else:
            yield well(about, f"sent to {one.path}, begins {one.words}")
