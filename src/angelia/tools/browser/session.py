"""What the browser's tools share: the conversation's browser, and what is said of a page."""

from collections.abc import Sequence
from typing import Protocol

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.chromium.tab import Tab, origin
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.browsers.snapshot import PageLook
from angelia.core.content import BlobRef, Text
from angelia.core.text import one_line, shorten
from angelia.tools.port import BlobAccess, MediaAccess, ProgressAccess, SandboxAccess, ToolOutcome
from angelia.tools.web.outside_words import as_data


class BrowserContext(BlobAccess, MediaAccess, ProgressAccess, SandboxAccess, Protocol):
    """What the browser's tools use of their call; `led` keeps the origin that was judged."""


JUDGED = "browser origin"
"""Under this name `led` keeps where the page was when the call was judged."""


def judged_tab(browser: ChromiumBrowser, name: str, context: SandboxAccess) -> Tab:
    """The tab, if it is still where it was when the policy was asked.

    Raises:
        ActFailed: there is no such tab, or its page has moved elsewhere by itself.
    """
    tab = browser.tab(name)
    now, judged = origin(tab.url), context.led.get(JUDGED, "")
    if now != judged:
        why = f"The page has moved from {judged or 'nowhere'} to {now or 'nowhere'} by itself. Look again, then decide."
        raise ActFailed(ActOutcome.REFUSED, why)
    return tab


async def told(
    browser: ChromiumBrowser, tab: Tab, words: str, context: BrowserContext, *, whole: PageLook | None = None
) -> ToolOutcome:
    """A result about a page: what it shows as data of its origin, then what its wall held back."""
    tabs = f", tab {tab.name} of {', '.join(browser.tabs)}" if len(browser.tabs) > 1 else ""
    text = as_data(words, f"{origin(tab.url) or 'an empty page'}{tabs}")
    if refused := held_back(browser.refused()):
        text += f"\n{refused}"
    full: BlobRef | None = None
    if whole is not None:
        lines = "\n".join(line.shown() for line in whole.lines)
        full = await context.blobs.put(f"{whole.head()}\n{lines}\n".encode(), mime="text/plain")
    return ToolOutcome((Text(text),), full=full)


def held_back(refused: Sequence[str]) -> str:
    """What a page was not let through to, in one line."""
    if not refused:
        return ""
    more = f", and {len(refused) - 3} more" if len(refused) > 3 else ""
    return shorten(f"(Its wall held back: {'; '.join(one_line(one, 160) for one in refused[:3])}{more})", 700)
