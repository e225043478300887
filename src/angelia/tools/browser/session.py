"""What the browser's tools share: the conversation's browser, and what is said of a page."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.origins import origin
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.browsers.snapshot import PageLook
from angelia.core.content import BlobRef, Text
from angelia.core.text import one_line, shorten
from angelia.tools.port import BlobAccess, MediaAccess, ProgressAccess, SandboxAccess, ToolOutcome
from angelia.tools.web.outside_words import as_data

if TYPE_CHECKING:
    from angelia.browsers.chromium.tab import Tab


class BrowserContext(BlobAccess, MediaAccess, ProgressAccess, SandboxAccess, Protocol):
    """What the browser's tools use of their call; `led` keeps the origin that was judged."""


JUDGED = "browser origin"
"""Under this name, and the number of a frame, `led` keeps where pages were when the call was judged."""


def remember_judged(tab: "Tab", refs: Sequence[str], context: SandboxAccess) -> list[str]:
    """The origins that an act on these references tells something: the page's, and those of frames.

    Raises:
        ActFailed: the frame of a reference is gone.
    """
    page = origin(tab.url)
    context.led[JUDGED] = page
    origins = [page]
    for ref in refs:
        theirs = origin_at(tab, ref)
        context.led[_judged(ref)] = theirs
        origins.append(theirs)
    return list(dict.fromkeys(origins))


def origins_in(tab: "Tab") -> list[str]:
    """Of the page, and of the frames that were looked into."""
    found = [origin(tab.url), *map(tab.frames.origin, tab.frames.known())]
    return list(dict.fromkeys(one for one in found if one))


def origin_at(tab: "Tab", ref: str) -> str:
    """Of the document to which a reference belongs.

    Raises:
        ActFailed: its frame is gone.
    """
    return tab.frames.origin_of(ref) or origin(tab.url)


def judged_tab(browser: ChromiumBrowser, name: str, context: SandboxAccess, *refs: str) -> "Tab":
    """The tab, if it and the frames of these references are still where they were when the policy was asked.

    Raises:
        ActFailed: there is no such tab, or its page or a frame has moved elsewhere by itself.
    """
    tab = browser.tab(name)
    page = origin(tab.url)
    places = {JUDGED: page} | {_judged(ref): origin_at(tab, ref) for ref in refs}
    for where, now in places.items():
        if now != (judged := context.led.get(where, "")):
            what = "page" if where == JUDGED else "frame"
            why = f"The {what} has moved from {judged or 'nowhere'} to {now or 'nowhere'} by itself. "
            raise ActFailed(ActOutcome.REFUSED, f"{why}Look again, then decide.")
    return tab


def _judged(ref: str) -> str:
    frame = ref.partition("e")[0]
    return f"{JUDGED} {frame}" if frame else JUDGED


async def told(
    browser: ChromiumBrowser, tab: "Tab", words: str, context: BrowserContext, *, whole: PageLook | None = None
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
