"""The tool `browser_hand_over`: what only the person can do (a code, a CAPTCHA, a yes on their phone), and then on."""

from collections.abc import Sequence
from typing import Annotated, Protocol

from msgspec import Meta, Struct

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.origins import origin
from angelia.browsers.port import ActFailed
from angelia.browsers.snapshot import PageLook, changes
from angelia.core.content import CallStatus, Text
from angelia.core.crash import crash_point
from angelia.core.errors import BadInput
from angelia.core.ids import CallId
from angelia.core.text import one_line
from angelia.policy.verdict import Effect, HandOverPage
from angelia.tools.browser.look_at_page import picture_name
from angelia.tools.browser.page_logins import PageLogins
from angelia.tools.browser.session import BrowserContext, told
from angelia.tools.port import CallAccess, MediaAccess, PeopleAccess, ToolOutcome, Traits

CHOICES = ("Done", "I cannot")


class HandOverContext(BrowserContext, CallAccess, PeopleAccess, Protocol):
    """What it uses of its call."""


class AskingContext(CallAccess, MediaAccess, Protocol):
    """What it uses while its question is put."""


class HandOverArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What the person is to do."""

    why: Annotated[str, Meta(description="What they are to do or tell you, in a sentence.", min_length=1)]
    tab: str = ""


class _Handed(Struct, frozen=True):
    """What a call was asked with, and where the page was: its answer is to this, wherever the page has gone since."""

    effect: HandOverPage
    tab: str
    life: int
    seen: PageLook | None


class HandPageOver:
    """Parks the turn as `ask_user` does, with the page's picture, and comes back with what has changed."""

    name = "browser_hand_over"
    description = (
        "Show the user the page, and wait until they have done what only they can: read a code, solve a CAPTCHA, "
        "confirm on their phone, pay."
    )
    arguments: type[Struct] = HandOverArguments
    traits = Traits(replayable=True)

    def __init__(self, browser: ChromiumBrowser, logins: PageLogins) -> None:
        self._browser, self._logins = browser, logins
        self._handed: dict[CallId, _Handed] = {}

    async def effects(self, arguments: HandOverArguments, context: AskingContext) -> Sequence[Effect]:
        """The question, with the picture of the moment: the same each time that the policy asks about this call.

        Raises:
            BadInput: there is no such page (any more).
        """
        known = self._handed.get(context.call)
        if known is None or known.life != self._browser.life:
            try:
                known = await self._asked(arguments, context)
            except ActFailed as failed:
                raise BadInput(str(failed)) from failed
            self._handed[context.call] = known
            crash_point("page.pictured")
        return (known.effect,)

    async def _asked(self, arguments: HandOverArguments, context: AskingContext) -> _Handed:
        tab = self._browser.tab(arguments.tab)
        before = await tab.look()
        crash_point("page.before_handing_over")
        picture = await context.to_media(await tab.picture(), picture_name(before.url))
        title = f"{one_line(arguments.why, 600)}\n\n{before.head()}"
        effect = HandOverPage(origin(tab.url), title, CHOICES, picture)
        return _Handed(effect, tab.name, self._browser.life, before)

    async def run(self, arguments: HandOverArguments, context: HandOverContext) -> ToolOutcome:
        """What the person said, and what has changed on the page meanwhile.

        Raises:
            BrowserGone: the browser has ended.
        """
        crash_point("page.handed_back")
        handed = self._handed.pop(context.call)
        said = Text(f"The user answered: {context.answer.strip() or 'yes'}")
        self._browser.control.handed_back()
        try:
            tab = self._browser.tab(handed.tab)
            if (now := origin(tab.url)) != handed.effect.origin:
                return ToolOutcome((said, Text(f"The page has moved to {now or 'nowhere'} meanwhile: look at it.")))
            after = str(tab.dialog) if tab.dialog is not None else changes(handed.seen, await tab.look())
        except ActFailed as failed:
            return ToolOutcome((said, Text(f"{failed.outcome}: {failed}")), CallStatus.ERROR)
        outcome = await self._logins.told(await told(self._browser, tab, after, context), tab)
        return ToolOutcome((said, *outcome.parts))
