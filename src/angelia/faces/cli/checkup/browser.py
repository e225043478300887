"""Looks at the browser: whether there is one, starts behind its wall, and cannot get past it; or runs without one."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from angelia.browsers.address import RemoteAddress
from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.chromium.program import missing_program
from angelia.browsers.chromium.wall import NoWall, no_wall
from angelia.browsers.port import ActFailed, BrowserMissing
from angelia.core.errors import AngeliaError, PolicyDenied
from angelia.faces.cli.checkup.check_result import CheckResult, absent, broken, well
from angelia.service.app import App
from angelia.service.browser_address import remote_browser


async def look_at_browser(app: App) -> AsyncIterator[CheckResult]:
    """A page is asked for that may not be reached: the trial says that it was asked for, and that it was refused."""
    if remote := remote_browser(app.loaded, lambda: app.secret_refs):
        yield await _elsewhere(remote)
        return
    if missing := missing_program():
        yield absent("browser", missing.what.rstrip("."), missing.then.rstrip("."))
        return
    if found := await asyncio.to_thread(no_wall):
        yield await _unwalled(found)
        return
    asked: list[str] = []

    async def nothing(origin: str, _host: str, _port: int) -> Sequence[str]:
        asked.append(origin)
        raise PolicyDenied(f"{origin} is not reached.", "This is a trial.")

    browser = ChromiumBrowser(nothing)
    try:
        tab = await browser.opened()
        await tab.go("http://doctor.example/")
        if asked:
            yield well("browser", "starts behind its wall; pages reach only what the policy allows")
        else:
            yield broken("browser", "a page did not ask our proxy", "Report this; do without the browser until then.")
    except (ActFailed, AngeliaError) as error:
        yield broken("browser", f"it does not start: {error}", "Start it by hand and see what it says.")
    finally:
        await browser.close()


async def _unwalled(found: NoWall) -> CheckResult:
    """It does work, if it keeps its own sandbox."""
    browser = ChromiumBrowser(_nothing)
    try:
        await browser.opened()
    except (ActFailed, AngeliaError) as error:
        return broken("browser", f"there is no wall for it here ({found.why}), and without: {error}", found.mend)
    finally:
        await browser.close()
    return absent("browser", f"it runs without a wall, so each site is asked about: {found.why}", found.mend)


async def _nothing(origin: str, _host: str, _port: int) -> Sequence[str]:
    raise PolicyDenied(f"{origin} is not reached.", "This is a trial.")


async def _elsewhere(remote: RemoteAddress) -> CheckResult:
    browser = ChromiumBrowser(_nothing, remote=remote)
    try:
        await browser.opened()
    except BrowserMissing as missing:
        return broken("browser", f"{missing.what} {missing.why}".strip(), missing.then)
    except (ActFailed, AngeliaError) as error:
        return broken("browser", f"the one at {browser.elsewhere} opens no page: {error}", "Start it anew.")
    finally:
        await browser.close()
    return well("browser", f"the one at {browser.elsewhere} answers; no wall of ours: each site is asked about")
