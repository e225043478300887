"""Open questions of one session are put to the person by the client, and taken back when they are moot."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from angelia.acp.faults import Fault
from angelia.cancellation import cancel_and_wait, end_if_cancelled
from angelia.core import entry as e
from angelia.core.content import ToolCall
from angelia.core.days import DAY_MS
from angelia.core.errors import AngeliaError
from angelia.core.ids import CallId, call_that_asks
from angelia.core.principal import OWNER
from angelia.faces.acp import questions as q
from angelia.faces.acp.incoming import Elicited, Permission
from angelia.faces.acp.session_sender import Client
from angelia.service.conversation.first_answer import NotOpen

if TYPE_CHECKING:
    from angelia.service.conversation.session import Session


AGAIN_S = 2.0
"""The pause before a question is put again whose answer could not be stored."""

logger = logging.getLogger("angelia.acp")


class PermissionRequests:
    """One question, one request to the client; what it cannot ask at all is a no that says so.

    `in_words` is called with a question that can only be asked as text, `tell` with words for the person.
    """

    def __init__(
        self,
        session: "Session",
        client: Client,
        now: Callable[[], int],
        in_words: Callable[[e.ApprovalAsked], None],
        tell: Callable[[str], None],
    ) -> None:
        self._session = session
        self._client = client
        self._now = now
        self._in_words, self._tell = in_words, tell
        self._open: dict[tuple[CallId, str], asyncio.Task[None]] = {}

    def ask(self, asked: e.ApprovalAsked, call: ToolCall) -> None:
        """Put a question about a call, or that it asks while it runs, unless it is being put already."""
        if (name := (asked.call, asked.digest)) in self._open:
            return
        if asked.asks is e.QuestionKind.CHOICE and not asked.choices and not self._client.capabilities.forms:
            self._in_words(asked)
            return
        task = self._open[name] = asyncio.create_task(self._put(asked, call))
        task.add_done_callback(lambda done: self._put_away(name, done))

    def withdraw(self, question: CallId) -> None:
        """Somebody answered, or nobody needs to any more; of a call's id, with whatever it asks."""
        for name in [one for one in self._open if question in (one[0], call_that_asks(one[0]))]:
            self._open.pop(name).cancel()

    def _put_away(self, name: tuple[CallId, str], done: "asyncio.Task[None]") -> None:
        if self._open.get(name) is done:
            del self._open[name]

    async def close(self) -> None:
        """Take every question back; they stay open in the log."""
        await cancel_and_wait(*self._open.values())

    async def _put(self, asked: e.ApprovalAsked, call: ToolCall) -> None:
        """Put it until an answer is stored; the person hears of one that could not be."""
        while True:
            try:
                meant = await self._answer(asked, call)
            except Fault as fault:
                meant = q.AcpNo(f"the editor could not put the question: {fault.message}")
            try:
                await self._store(asked, meant)
                return
            except NotOpen as late:
                if late.answer:  # else a stop has settled it
                    self._tell(str(late))
                return
            except AngeliaError as error:
                end_if_cancelled()
                logger.warning("%s: an answer could not be stored: %s", self._session.conversation, error)
                self._tell(f"Your answer could not be stored, and you are asked again. {error}")
            await asyncio.sleep(AGAIN_S)

    async def _store(self, asked: e.ApprovalAsked, meant: q.Meant) -> None:
        match meant:
            case q.AcpYes(scope=scope, days=days, answer=answer):
                until = self._now() + days * DAY_MS if days else 0
                await self._session.approve(asked, by=OWNER, scope=scope, until=until, answer=answer)
            case q.AcpNo(why=why):
                await self._session.refuse(asked, by=OWNER, why=why)

    async def _answer(self, asked: e.ApprovalAsked, call: ToolCall) -> q.Meant:
        peer, session, workspace = self._client.peer, self._session.conversation, self._session.workspace
        if asked.asks is e.QuestionKind.CHOICE and self._client.capabilities.forms:
            return q.elicited(await peer.ask("elicitation/create", q.form(asked, call, session), Elicited))
        put = q.choice if asked.asks is e.QuestionKind.CHOICE else q.permission
        request = put(asked, call, session, workspace)
        return q.decided(asked, await peer.ask("session/request_permission", request, Permission))
