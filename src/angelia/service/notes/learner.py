"""Learns notes from one conversation while it rests: one request to a model that the person named, and never a wait."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from msgspec import Struct

from angelia.cancellation import cancel_and_wait
from angelia.context.in_view import outside_words
from angelia.context.learning import LearntNote, WordsToLearn, learning_prompt, learnt_notes, words_to_learn
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.crash import crash_point
from angelia.core.errors import AngeliaError
from angelia.core.ids import delivery_id
from angelia.core.principal import ANGELIA
from angelia.engine.compaction import Summariser, Written
from angelia.service.conversation.session import Session
from angelia.service.notes.conversation_notes import MOST_OUTSIDE, MOST_WAITING, ConversationNotes, NoteSources
from angelia.store.tables.notes import Holds

_MOST_TOKENS = 1_000
"""Of a reply."""

logger = logging.getLogger("angelia.service.notes")


class LearningSources(Struct, frozen=True):
    """What learning is made with. `ask` is the model; `allowed` says whether the caps of the day leave room for it;
    `rest_s` seconds pass after a turn before anything is looked at.
    """

    ask: Summariser
    allowed: Callable[[], Awaitable[bool]]
    rest_s: float


class Learner:
    """One conversation's. A look that was begun and not ended is not begun again: it may have been paid."""

    def __init__(
        self, session: Session, notes: ConversationNotes, sources: NoteSources, learning: LearningSources
    ) -> None:
        self._session = session
        self._notes = notes
        self._sources = sources
        self._learning = learning
        self._task: asyncio.Task[None] | None = None

    def look(self) -> None:
        """A turn is over: look a moment later, unless it goes on by then."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
            self._task.add_done_callback(_told_failure)

    async def close(self) -> None:
        """Look no more; what is under way is given up."""
        await cancel_and_wait(self._task)

    async def _look(self) -> None:
        await asyncio.sleep(self._learning.rest_s)
        words = words_to_learn(self._session.log.entries, self._session.owner)
        if self._session.turn.opened or words is None or not await self._learning.allowed():
            return
        model = self._learning.ask.model
        await self._session.log.append(e.LearningAsked(words.upto, model))
        crash_point("learning.asked")
        try:
            written = await self._learning.ask.write(learning_prompt(words), _MOST_TOKENS)
        except AngeliaError as failed:
            logger.warning("nothing was learnt from %s: %s", self._session.conversation, failed)
            await self._session.log.append(e.LearningEnded(words.upto, model, why=failed.what))
            return
        await self._keep(words, written)

    async def _keep(self, words: WordsToLearn, written: Written) -> None:
        found = learnt_notes(written.text, words)
        outside = outside_words(self._session.log.entries, self._session.owner)[-MOST_OUTSIDE:]
        while True:  # somebody else may have taken the numbers
            fresh = [(note, about) for note in found if (about := await self._fresh(note, waits=bool(outside)))]
            number = await self._sources.notes.next_number()
            proposed = [
                e.NoteProposed(
                    number + n, about.scope, about.about, note.kind, self._text(note), ANGELIA, outside=outside
                )
                for n, (note, about) in enumerate(fresh)
            ]
            kept = [] if outside else [e.NoteKept(note.number, ANGELIA) for note in proposed]
            numbers = tuple(note.number for note in proposed)
            nothing = "nothing new was in it, or too many notes wait already" if found else "nothing new was in it"
            why = "" if proposed else nothing
            model = self._learning.ask.model
            ended = e.LearningEnded(words.upto, model, numbers, why, written.usage, written.cost)
            if await self._session.log.append(*proposed, *kept, ended, *self._notices(proposed, words.upto)):
                return

    async def _fresh(self, note: LearntNote, *, waits: bool) -> Holds | None:
        """Where a note would hold; nothing where it is known there, or too many wait."""
        scopes = self._notes.scopes
        about = next((one for one in scopes if one.scope is note.scope), scopes[0] if scopes else None)
        if about is None:
            return None
        waiting = await self._sources.notes.at([about], ("waits",))
        known = [*waiting, *await self._sources.notes.at([about])]
        if any(one.text.casefold() == self._text(note).casefold() for one in known):
            return None
        return None if waits and len(waiting) >= MOST_WAITING else about

    def _text(self, note: LearntNote) -> str:
        return self._sources.redact(note.text)

    def _notices(self, notes: list[e.NoteProposed], upto: int) -> list[e.DeliveryQueued]:
        opener = self._session.turn.opener
        if opener is None or not notes:
            return []
        lines = [self._notes.told(note, waits=bool(note.outside)).notice for note in notes]
        name = delivery_id(self._session.conversation, f"l{upto}")
        return [e.DeliveryQueued(name, opener.address, (Text("\n".join(lines)),), "notice")]


def _told_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (failed := task.exception()):
        logger.error("learning failed", exc_info=failed)
