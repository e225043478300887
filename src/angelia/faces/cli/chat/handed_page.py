"""The page that a question hands over, in a window on this desktop for as long as the question is open."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from angelia.core import entry as e
from angelia.core.asked import shown_question
from angelia.core.errors import AngeliaError, BadInput
from angelia.core.ids import CallId
from angelia.core.principal import OWNER
from angelia.engine.live import Committed, LiveEvent

if TYPE_CHECKING:
    from angelia.browsers.chromium.browser import ChromiumBrowser
    from angelia.service.conversation.conversations import Conversations
    from angelia.service.conversation.session import Session

INSTEAD = (
    "Answer here, by a number or in words. Where you have to press something on the page itself, have the model do "
    "this in a conversation on the page of `angelia web`, which shows it live."
)
CLOSED = (
    "The window is closed, and the page is no longer in your hand. The question stays: answer it here, or open the "
    "window again by /window."
)
LOST = "The page of this question is gone with its browser, so no window is opened. Answer: the model opens it again."


class HandedPage:
    """That of one conversation. A question opens its window once by itself, and whichever answer comes first counts."""

    def __init__(self, session: "Session", conversations: "Conversations", note: Callable[[str], None]) -> None:
        """`note` tells the person what there is to be told."""
        self._session, self._conversations = session, conversations
        self._note = note
        self._call = CallId("")
        self._shown: set[CallId] = set()
        self._window: asyncio.Task[str] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._forget = session.live.watch(self._see)

    def _see(self, event: LiveEvent) -> None:
        if isinstance(event, Committed):
            self.look()

    def look(self) -> None:
        """Open the window of the oldest open question if that hands a page over; close that of an answered one."""
        asked = next(iter(self._session.questions()), None)
        if self._window is not None and (asked is None or asked.call != self._call):
            self._window.cancel()
        if asked is not None and _hands_over(asked) and asked.call not in self._shown:
            self._begin(asked)

    def open_again(self) -> None:
        """Open the window that was closed, or could not be opened.

        Raises:
            BadInput: the oldest open question hands no page over, or its window is there.
        """
        asked = next(iter(self._session.questions()), None)
        if asked is None or not _hands_over(asked):
            raise BadInput("No page is handed over to you now.", then="Ask Angelia for it.")
        if self._tasks:
            raise BadInput("The window is open already.", then="It may lie behind others.")
        self._begin(asked)

    def _begin(self, asked: e.ApprovalAsked) -> None:
        self._shown.add(asked.call)
        task = asyncio.create_task(self._show(asked))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        """Close the window, and look no longer. An answer that was given in it is stored when this returns."""
        self._forget()
        if self._window is not None:
            self._window.cancel()
        await asyncio.gather(*self._tasks)

    def _browser(self, call: CallId) -> "ChromiumBrowser | None":
        """That of the conversation in which a call asks: this one, or a child of it."""
        name, dot, _ = call.partition(".")
        child = next((one.child for one in self._session.children if dot and one.call == name), None)
        asking = self._conversations.sessions.get(child.id) if child else self._session
        return self._conversations.toolbox(asking).browser if asking else None

    async def _show(self, asked: e.ApprovalAsked) -> None:
        from angelia.browsers.chromium.display import display_of  # what is heavy is loaded with the first window
        from angelia.browsers.chromium.page_window import HandedQuestion, page_window
        from angelia.browsers.port import ActFailed

        browser, shown = self._browser(asked.call), shown_question(asked)
        if browser is None or not browser.tabs:
            self._note(LOST)
            return
        try:
            opening = page_window(browser, HandedQuestion(shown.title, shown.choices), display_of(instead=INSTEAD))
            self._call, self._window = asked.call, (window := asyncio.create_task(opening))
            await asyncio.wait([window])
            if window.cancelled():
                return
            if answer := window.result():
                await self._session.approve(asked, by=OWNER, answer=answer)
            else:
                self._note(CLOSED)
        except (AngeliaError, ActFailed) as failed:
            self._note(str(failed))


def _hands_over(asked: e.ApprovalAsked) -> bool:
    return asked.asks is e.QuestionKind.CHOICE and asked.picture is not None
