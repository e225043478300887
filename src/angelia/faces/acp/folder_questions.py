"""Whether the instructions of a session's folder are trusted: put by the client, once for each version."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from angelia.acp.faults import Fault
from angelia.cancellation import cancel_and_wait
from angelia.context.prompt.facts import UntrustedFile
from angelia.core.content import ToolCall
from angelia.core.errors import AngeliaError
from angelia.core.ids import CallId, sortable_id
from angelia.faces.acp import calls
from angelia.faces.acp import incoming as i
from angelia.faces.acp import outgoing as o
from angelia.faces.acp import results as r
from angelia.faces.acp.session_sender import Client
from angelia.faces.words.folder_file import asked_about, fenced, not_followed
from angelia.service.skills.conversation_skills import unseen_in_words

if TYPE_CHECKING:
    from angelia.service.app import App
    from angelia.service.conversation.session import Session

_OPTIONS = (
    r.PermissionOption("trust", "Follow these instructions, in this version", "allow_always"),
    r.PermissionOption("decline", "No: they are data", "reject_always"),
    r.PermissionOption("later", "Not now", "reject_once"),
)

logger = logging.getLogger("angelia.acp")


class FolderQuestions:
    """Those of one session. `tell` sends updates to the client. No turn waits for an answer: it holds from the next."""

    def __init__(
        self, app: "App", session: "Session", client: Client, tell: Callable[[Iterable[o.Update]], None]
    ) -> None:
        self._app = app
        self._session = session
        self._client = client
        self._tell = tell
        self._asked: set[str] = set()
        self._told: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Look at the folder, and ask if there is something to be asked; between two turns."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())

    async def close(self) -> None:
        """Take back what is being asked."""
        await cancel_and_wait(self._task)

    async def _look(self) -> None:
        prompt = self._app.conversations.prompt(self._session)
        try:
            await prompt.look()
            file = prompt.in_question
            if file is not None and file.version not in self._asked:
                self._asked.add(file.version)
                await self._ask(file)
            else:
                self._say_once(not_followed(prompt.facts.folder, prompt.where))
            await prompt.skills.look()
            self._say_once(unseen_in_words(prompt.skills.unseen_news()))
        except AngeliaError as error:
            logger.warning("%s: the folder's instructions: %s", self._session.conversation, error)

    async def _ask(self, file: UntrustedFile) -> None:
        """One question, as one tool call of the client's, with the whole file in it."""
        call = ToolCall(CallId(f"folder_{sortable_id()}"), "Instructions of this folder", "{}")
        about = f"{asked_about(file, most=0)}\n\n{fenced(file.text)}"
        self._tell([calls.made(call, self._session.workspace)])
        question = calls.in_question(call, self._session.workspace, about)
        request = r.RequestPermission(self._session.conversation, question, _OPTIONS)
        try:
            answer = await self._client.peer.ask("session/request_permission", request, i.Permission)
            meant = answer.outcome.option_id if answer.outcome.outcome == "selected" else ""
        except Fault as fault:
            logger.warning("%s: the editor could not ask: %s", self._session.conversation, fault.message)
            meant = ""
        if meant in ("trust", "decline"):
            prompt = self._app.conversations.prompt(self._session)
            try:
                await prompt.answer(file, trusted=meant == "trust", at=self._app.clock())
            except AngeliaError as error:
                self._asked.discard(file.version)
                self._end(call, "failed", f"Your answer could not be stored; you are asked again later. {error}")
                raise
        if meant == "trust":
            self._end(call, "completed", "The model follows this version from the next message on.")
        else:
            self._end(call, "failed", not_followed(file, self._app.conversations.prompt(self._session).where))

    def _end(self, call: ToolCall, status: str, words: str) -> None:
        self._tell([o.CallChanged(call.id, status=status, content=(o.AcpShown(o.AcpWords(words)),))])

    def _say_once(self, words: str) -> None:
        if words and words not in self._told:
            self._tell([o.AgentChunk(o.AcpWords(f"{words}\n\n"), f"s{sortable_id()}")])
        self._told.add(words)
