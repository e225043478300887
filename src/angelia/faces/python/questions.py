"""Questions of a turn go to the program's own callback, and its answer into the log."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import assert_never

from msgspec import Struct

from angelia.cancellation import cancel_and_wait
from angelia.core import entry as e
from angelia.core.asked import shown_question
from angelia.core.days import DAY_MS
from angelia.core.ids import CallId, ConversationId
from angelia.core.principal import OWNER
from angelia.faces.words.questions import No, Yes
from angelia.service.conversation.first_answer import NotOpen
from angelia.service.conversation.session import Session

logger = logging.getLogger("angelia.python")


class Question(Struct, frozen=True):
    """What a call waits for. `text` is the question and `whole` everything that a yes would be to, `why` the reason.

    `remember` is what a yes for longer than once would cover (`Yes(Scope.CONVERSATION)`), empty where it cannot be
    remembered. With `choices`, or where `own` is true, the model itself asks: answer with `Yes(answer="…")`.
    Control characters and what hides in the model's words are shown as signs, so all of it can be printed.
    """

    conversation: ConversationId
    call: CallId
    text: str
    whole: str
    why: str
    remember: str
    choices: tuple[str, ...]
    own: bool


Decision = Yes | No
Approve = Callable[[Question], Decision | Awaitable[Decision]]
"""Answers a question. A plain function runs in a thread, so that it may wait for a person."""

_NOBODY = "nobody is here who could answer"


class Questions:
    """Puts each open question of one conversation once; `failed` has what a callback raised, which stops the turn."""

    def __init__(self, session: Session, approve: Approve | None, clock: Callable[[], int]) -> None:
        self._session = session
        self._approve = approve
        self._clock = clock
        self._asking: dict[tuple[CallId, str], asyncio.Task[None]] = {}
        self.failed: BaseException | None = None

    def put(self) -> None:
        """Ask what is open and is not being asked; take back what is not open any more."""
        found = {(asked.call, asked.digest): asked for asked in self._session.questions()}
        for name in [name for name in self._asking if name not in found]:
            self._asking.pop(name).cancel()
        for name, asked in found.items():
            if name not in self._asking:
                self._asking[name] = asyncio.create_task(self._ask(asked))

    async def close(self) -> None:
        """Take every question back; they stay open in the log."""
        tasks, self._asking = tuple(self._asking.values()), {}
        await cancel_and_wait(*tasks)

    async def _ask(self, asked: e.ApprovalAsked) -> None:
        try:
            decision = await self._decision(asked)
        except Exception as error:  # noqa: BLE001 - theirs; it stops the turn, and is raised where they asked
            self.failed = error
            await self._session.stop(OWNER)
            return
        try:
            match decision:
                case Yes(scope=scope, days=days, answer=answer):
                    until = self._clock() + days * DAY_MS if days else 0
                    await self._session.approve(asked, by=OWNER, scope=scope, until=until, answer=answer)
                case No(why=why):
                    await self._session.refuse(asked, by=OWNER, why=why)
                case _:
                    assert_never(decision)
        except NotOpen as late:
            if late.answer and self._approve:  # else a stop has settled it, or nobody was asked here
                logger.warning("%s: %s", self._session.conversation, late)

    async def _decision(self, asked: e.ApprovalAsked) -> Decision:
        if self._approve is None:
            return No(_NOBODY)
        question = _question(self._session.conversation, asked)
        if inspect.iscoroutinefunction(self._approve):
            found = await self._approve(question)
        else:
            given = await asyncio.to_thread(self._approve, question)
            found = await given if inspect.isawaitable(given) else given
        if not isinstance(found, Yes | No):
            raise TypeError(f"`approve` has to return angelia.Yes or angelia.No, and returned {found!r}.")
        return found


def _question(conversation: ConversationId, asked: e.ApprovalAsked) -> Question:
    shown = shown_question(asked)
    own = asked.asks is e.QuestionKind.CHOICE
    return Question(conversation, asked.call, shown.title, shown.whole, shown.why, shown.pattern, shown.choices, own)
