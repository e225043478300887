"""The tool `browser_script`: runs JavaScript in a page, as its developers do in their console."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.port import ActFailed
from angelia.browsers.snapshot import MOST, changes
from angelia.core.content import CallStatus, Text
from angelia.core.errors import BadInput
from angelia.core.text import shorten
from angelia.policy.verdict import Effect, RunScript
from angelia.tools.browser.session import BrowserContext, judged_tab, remember_judged, told
from angelia.tools.port import SandboxAccess, ToolOutcome, Traits


class RunScriptArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What to run."""

    code: Annotated[
        str, Meta(description="An expression, or statements with `return`; may await.", min_length=1, max_length=20_000)
    ]
    ref: Annotated[str, Meta(description="An element, given to the code as `element`.")] = ""
    tab: str = ""


class RunScriptInPage:
    """Runs what the model writes in the page's own world; a person is shown all of it first."""

    name = "browser_script"
    description = "Run JavaScript in the page, and read what it returns; only where browser_look and _act do not do."
    arguments: type[Struct] = RunScriptArguments
    traits = Traits()

    def __init__(self, browser: ChromiumBrowser) -> None:
        self._browser = browser

    async def effects(self, arguments: RunScriptArguments, context: SandboxAccess) -> Sequence[Effect]:
        """It can do there whatever the page itself can.

        Raises:
            BadInput: there is no such tab.
        """
        try:
            tab = self._browser.tab(arguments.tab)
            *_, where = remember_judged(tab, [arguments.ref], context)
        except ActFailed as failed:
            raise BadInput(str(failed)) from failed
        return (RunScript(where, arguments.code),)

    async def run(self, arguments: RunScriptArguments, context: BrowserContext) -> ToolOutcome:
        """Run it, and tell what it returned and what has changed.

        Raises:
            BrowserGone: the browser has ended; it may have run or not.
        """
        try:
            async with self._browser.control.agent():
                tab = judged_tab(self._browser, arguments.tab, context, arguments.ref)
                before = tab.seen
                value = await tab.script(arguments.code, arguments.ref)
                await tab.settled()
                after = str(tab.dialog) if tab.dialog is not None else changes(before, await tab.look())
        except ActFailed as failed:
            return ToolOutcome((Text(f"{failed.outcome}: {failed}"),), CallStatus.ERROR)
        shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
        outcome = await told(self._browser, tab, f"{shorten(shown, MOST)}\n\n{after}", context)
        if len(shown) <= MOST:
            return outcome
        return msgspec.structs.replace(outcome, full=await context.blobs.put(shown.encode(), mime="text/plain"))
