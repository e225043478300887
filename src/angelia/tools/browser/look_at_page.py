"""The tool `browser_look`: what a page shows now, in words or as a picture."""

from collections.abc import Sequence
from typing import Annotated, Literal
from urllib.parse import urlsplit

from msgspec import Meta, Struct
from msgspec.structs import replace

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.port import ActFailed
from angelia.browsers.snapshot import found
from angelia.core.content import CallStatus, Text
from angelia.policy.verdict import Effect, NoEffect, SeePage
from angelia.tools.blob_names import pointer
from angelia.tools.browser.page_logins import PageLogins
from angelia.tools.browser.session import BrowserContext, origins_in, told
from angelia.tools.port import ToolOutcome, Traits


class LookAtPageArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What to look at; nothing for what is in view."""

    find: Annotated[str, Meta(description="Words or a regular expression, looked for on the whole page.")] = ""
    under: Annotated[str, Meta(description="A reference: that element alone, all of it.")] = ""
    picture: Annotated[bool, Meta(description="A screenshot beside the words.")] = False
    whole: Annotated[bool, Meta(description="The whole page instead of what is in view.")] = False
    read: Annotated[
        Literal["", "console", "cookies"],
        Meta(description="Instead: what its scripts said to developers, or the names of its cookies."),
    ] = ""
    tab: str = ""


class LookAtPage:
    """Looks, and changes nothing."""

    name = "browser_look"
    description = "See the page in the browser as it is now: what is in view, what `find` finds, or a screenshot."
    arguments: type[Struct] = LookAtPageArguments
    traits = Traits(reads_only=True, replayable=True)

    def __init__(self, browser: ChromiumBrowser, logins: PageLogins) -> None:
        self._browser, self._logins = browser, logins

    async def effects(self, arguments: LookAtPageArguments, context: object) -> Sequence[Effect]:
        """The page was opened by a call that was judged; but what logins show there is not for everybody."""
        try:
            shown = origins_in(self._browser.tab(arguments.tab)) or [""]
        except ActFailed:
            return (NoEffect(),)  # there is nothing to see, as `run` says
        return (*map(SeePage, shown), *self._logins.used(shown))

    async def run(self, arguments: LookAtPageArguments, context: BrowserContext) -> ToolOutcome:
        """Look.

        Raises:
            BrowserGone: the browser has ended.
        """
        try:
            async with self._browser.control.agent():
                tab = self._browser.tab(arguments.tab)
                if arguments.read:
                    words = tab.console.words() if arguments.read == "console" else await tab.cookies()
                    return await told(self._browser, tab, words, context)
                whole = arguments.whole or bool(arguments.find or arguments.under)
                look = await tab.look(whole=whole, under=arguments.under)
                picture = b""
                if arguments.picture:
                    picture = await tab.picture(whole=arguments.whole, ref=arguments.under)
        except ActFailed as failed:
            return ToolOutcome((Text(f"{failed.outcome}: {failed}"),), CallStatus.ERROR)
        words = found(look, arguments.find) if arguments.find else look.words()
        outcome = await told(self._browser, tab, f"{look.head()}\n{words}", context, whole=look if whole else None)
        if not picture:
            return outcome
        media = await context.to_media(picture, picture_name(look.url))
        named = Text(f"Its picture, for send_file: {pointer(media.blob)}")
        return replace(outcome, parts=(*outcome.parts, named, media))


def picture_name(url: str) -> str:
    """What the picture of a page is called.

    >>> picture_name("https://example.com/a")
    'example.com.webp'
    """
    return f"{urlsplit(url).hostname or 'page'}.webp"
