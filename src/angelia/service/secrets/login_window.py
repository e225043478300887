"""Logging in by hand: a window of the browser, in which a person does what they do, and a profile that keeps it."""

import asyncio

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.port import ActFailed, BrowserGone
from angelia.tools.page_access import LentProfile

EVERY_S = 0.25
"""So often the logins are kept: with the window's end the browser ends, and nothing can be asked of it any more."""


async def log_in_by_hand(browser: ChromiumBrowser, held: LentProfile, url: str, done: "asyncio.Future[None]") -> str:
    """Open an address in a window that has the profile's logins, and keep what becomes of them.

    It ends when the person closes the window, or when `done` is set. Returns why the page could not be loaded, if so:
    the window stays, since they can go elsewhere in it.

    Raises:
        BrowserMissing: there is no browser that could show one.
        ConfigError: the logins cannot be written.
    """
    fault = ""
    try:
        tab = await browser.opened()
        await browser.log_in(held.origins, held.logins)
        try:
            await tab.go(url)
        except ActFailed as failed:
            fault = str(failed)
        while browser.tabs and not done.done():
            held.keep(await browser.logins(held.origins, held.logins))
            await asyncio.wait([done], timeout=EVERY_S)
        if browser.tabs:
            held.keep(await browser.logins(held.origins, held.logins))
    except BrowserGone:
        pass  # the person has closed the window; what was there was kept a moment ago
    return fault
