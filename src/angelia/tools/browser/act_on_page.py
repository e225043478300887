"""The tool `browser_act`: click, type and the like; several steps in one call, up to the first surprise."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from angelia.browsers.chromium.browser import ChromiumBrowser
from angelia.browsers.port import ActFailed, ActOutcome
from angelia.browsers.snapshot import PageLook, changes
from angelia.core.content import CallStatus, Media, Text
from angelia.core.crash import crash_point
from angelia.core.errors import BadInput
from angelia.policy.verdict import Effect, ReadPath, SeePage, SendTo, WritePath
from angelia.tools.browser.page_logins import PageLogins
from angelia.tools.browser.page_secrets import PageSecrets
from angelia.tools.browser.session import BrowserContext, judged_tab, origin_at, remember_judged, told
from angelia.tools.files.paths import led
from angelia.tools.port import SandboxAccess, ToolOutcome, Traits

if TYPE_CHECKING:
    from angelia.browsers.chromium.tab import Tab

MOST_WAIT = 30.0
"""Seconds that a `wait` step may take."""

Pointing = Literal["click", "double_click", "right_click", "hover", "drag", "scroll"]
Telling = Literal["fill", "choose", "press", "wait", "dialog", "close"]
Carrying = Literal["download", "upload"]


class Step(Struct, frozen=True, forbid_unknown_fields=True):
    """One act.

    fill and choose take `text`; press a key in `text` (Enter, Control+a); scroll `up`, `down` or views as a number;
    drag goes to the reference in `text`; wait for words in `text`; dialog `accept`, `dismiss` or the words to answer.
    download clicks and takes the file (put at the path in `text`, if any); upload gives the file at `text`.
    """

    do: Pointing | Telling | Carrying
    ref: Annotated[str, Meta(description="Such as e7, from the last look.")] = ""
    text: str = ""
    secret: Annotated[str, Meta(description="fill: the handle of a secret, in place of `text`.")] = ""


class ActOnPageArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """What to do, in order; it stops at the first step that is not done, or when the page moves to another site."""

    steps: Annotated[tuple[Step, ...], Meta(min_length=1, max_length=20)]
    tab: str = ""


class ActOnPage:
    """Acts as a person would: pointer and keys, by the references of the last look."""

    name = "browser_act"
    description = (
        "Click, fill, choose, press keys, scroll, drag, wait, answer dialogs, download and upload on the page; "
        "says what has changed."
    )
    arguments: type[Struct] = ActOnPageArguments
    traits = Traits()

    def __init__(self, browser: ChromiumBrowser, secrets: PageSecrets, logins: PageLogins) -> None:
        self._browser, self._secrets = browser, secrets
        self._logins = logins

    async def effects(self, arguments: ActOnPageArguments, context: SandboxAccess) -> Sequence[Effect]:
        """Whoever runs the page learns what is done there, and gets what is uploaded; downloads are put at their paths.

        Raises:
            BadInput: there is no such tab, or a secret is named where none is typed.
            PolicyDenied: a secret is not kept for the site at which it is wanted.
        """
        if any(step.secret and (step.do != "fill" or step.text) for step in arguments.steps):
            raise BadInput("`secret` is for a fill step, in place of `text`.")
        try:
            tab = self._browser.tab(arguments.tab)
            origins = remember_judged(tab, [ref for step in arguments.steps for ref in _refs(step)], context)
            wanted = [(step.secret, origin_at(tab, step.ref)) for step in arguments.steps if step.secret]
        except ActFailed as failed:
            raise BadInput(str(failed)) from failed
        uploads = [step.text for step in arguments.steps if step.do == "upload"]
        downloads = [step.text for step in arguments.steps if step.do == "download" and step.text]
        what = ", ".join(dict.fromkeys(step.do for step in arguments.steps))
        return (
            SeePage(origins[0]),
            *[SendTo(one, what, tuple(uploads)) for one in origins],
            *[ReadPath(path, await led(context, path)) for path in uploads],
            *[WritePath(path, await led(context, path)) for path in downloads],
            *self._logins.used(origins),
            *self._secrets.effects(wanted),
        )

    async def run(self, arguments: ActOnPageArguments, context: BrowserContext) -> ToolOutcome:
        """Do it, as far as it goes.

        Raises:
            BrowserGone: the browser has ended; the step under way may have been done or not.
        """
        try:
            async with self._browser.control.agent():
                return await self._steps(arguments, judged_tab(self._browser, arguments.tab, context), context)
        except ActFailed as refused:
            return ToolOutcome((Text(f"{refused.outcome}: {refused}"),), CallStatus.ERROR)

    async def _steps(self, arguments: ActOnPageArguments, tab: "Tab", context: BrowserContext) -> ToolOutcome:
        lines, failed = [], False
        files = list[Media]()
        before = tab.seen
        for number, step in enumerate(arguments.steps, 1):
            shown = " ".join(word for word in (step.do, step.ref) if word)
            try:
                judged_tab(self._browser, tab.name, context, *_refs(step))
                crash_point("page.before_act")
                said = await self._take(tab, step, files, context)
                crash_point("page.acted")
                await tab.settled()
            except ActFailed as stopped:
                lines.append(f"{number}. {shown}: {stopped.outcome}: {stopped}")
                failed = True
                break
            lines.append(f"{number}. {shown}: {ActOutcome.DONE}{said}")
            if tab.name not in self._browser.tabs:
                return ToolOutcome((Text("\n".join([*lines, "The tab is closed."])),))
        if left := len(arguments.steps) - len(lines):
            lines.append(f"({left} not begun)")
        words = "\n".join([*lines, "", await self._after(tab, before)])
        outcome = self._secrets.told(await told(self._browser, tab, words, context), tab)
        outcome = await self._logins.told(outcome, tab)
        return ToolOutcome((*outcome.parts, *files), CallStatus.ERROR if failed else CallStatus.OK)

    async def _after(self, tab: "Tab", before: PageLook | None) -> str:
        if tab.dialog is not None:
            return str(tab.dialog)
        if tab.stuck:
            return "(not looked at)"
        try:
            return changes(before, await tab.look())
        except ActFailed as failed:
            return f"{failed.outcome}: {failed}"

    async def _take(  # noqa: C901 - one closed vocabulary, one line a kind
        self, tab: "Tab", step: Step, files: list[Media], context: BrowserContext
    ) -> str:
        """Do one step; what is said of it beside that it was done."""
        from angelia.tools.browser.page_files import download, upload

        match step.do:
            case "download":
                media, said = await download(self._browser, tab, _ref(step), step.text, context)
                files.append(media)
                return f", {said}"
            case "upload":
                return f", {await upload(self._browser, tab, _ref(step), step.text, context)}"
            case "click":
                await tab.click(_ref(step))
            case "double_click":
                await tab.click(_ref(step), count=2)
            case "right_click":
                await tab.click(_ref(step), button="right")
            case "fill" if step.secret:
                return await self._secrets.fill(tab, _ref(step), step.secret, origin_at(tab, step.ref))
            case "fill":
                await tab.fill(_ref(step), step.text)
            case "choose":
                await tab.choose(_ref(step), step.text)
            case "hover":
                await tab.hover(_ref(step))
            case "drag":
                await tab.drag(_ref(step), step.text)
            case "press":
                await tab.press(step.text, step.ref)
            case "scroll":
                await tab.scroll(_views(step.text), step.ref)
            case "wait":
                await tab.wait_for(step.text, MOST_WAIT)
            case "dialog":
                words = "" if step.text in {"accept", "dismiss"} else step.text
                await tab.answer(accept=step.text != "dismiss", text=words)
            case "close":
                await self._browser.close_tab(tab.name)
        return ""


def _refs(step: Step) -> list[str]:
    """The elements of a step."""
    return [ref for ref in (step.ref, step.text if step.do == "drag" else "") if ref]


def _ref(step: Step) -> str:
    if not step.ref:
        raise ActFailed(ActOutcome.UNFIT, f"{step.do} needs a `ref`.")
    return step.ref


def _views(text: str) -> float:
    try:
        return {"": 1.0, "down": 1.0, "up": -1.0}.get(text.strip().lower()) or float(text)
    except ValueError:
        raise ActFailed(ActOutcome.UNFIT, f"scroll takes up, down or a number of views, not {text!r}.") from None
