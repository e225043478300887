"""One turn that a program waits for: its events as they come, and the answer at its end."""

import asyncio
from collections.abc import AsyncIterator

from angelia.cancellation import cancel_and_wait
from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.principal import OWNER
from angelia.engine.live import Committed, LiveEvent
from angelia.faces.python.answers import Answer, NotAnswered
from angelia.faces.python.events import Event, EventReader, Noted
from angelia.faces.python.questions import Questions
from angelia.faces.words.program_delivery import ProgramDelivery
from angelia.faces.words.turn_end import Following, totals, words_of
from angelia.service.conversation.session import Session


class TurnStream:
    """Iterate over it for the turn's events; await `answer()` for what it came to. Both may be done, or one alone.

    It is the value of `async with agent.stream(…)`. Who leaves that block before the turn has ended stops the turn.
    """

    def __init__(self, session: Session, delivery: ProgramDelivery, questions: Questions, following: Following) -> None:
        self._session = session
        self._delivery = delivery
        self._questions = questions
        self._following = following
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._notes: list[str] = []
        self._reader = EventReader()
        for entry in session.log.entries:
            self._reader.learn(entry)
        self._forget = session.live.watch(self._see)
        self._waiting = asyncio.create_task(self._wait())
        self._answer: asyncio.Task[Answer] | None = None
        questions.put()

    def note(self, text: str) -> None:
        """Have a sentence read by whoever watches, and put among the notes of the answer."""
        self._notes.append(text)
        self._events.put_nowait(Noted(text))

    async def __aiter__(self) -> AsyncIterator[Event]:
        """Every event until the turn has ended; then it raises as `answer` does, so that no ending is overlooked."""
        while (event := await self._events.get()) is not None:
            yield event
        await self.answer()

    async def answer(self) -> Answer:
        """The answer; waits for it. If the task that waits here is cancelled, the turn is stopped, and says so.

        Raises:
            NotAnswered: the turn ended in another way; `ending` is how.
            AngeliaError: the conversation could not be driven on (another process took it over, the disk is full).
            Exception: what the program's own `approve` raised; the turn was stopped.
        """
        try:
            await asyncio.shield(self._waiting)
        except asyncio.CancelledError:
            await self.stop()
            raise
        self._answer = self._answer or asyncio.create_task(self._come_to())
        return await asyncio.shield(self._answer)

    async def stop(self) -> None:
        """Stop the turn, and wait until it has ended; its ending is `endings.Cancelled`."""
        if not self._waiting.done():
            await self._session.stop(OWNER)
            await asyncio.shield(self._waiting)

    async def close(self) -> None:
        """Watch no longer; a turn that has not ended is stopped."""
        try:
            await self.stop()
        finally:
            self._forget()
            await cancel_and_wait(self._waiting)  # `answer` has raised what it came to

    def _see(self, event: LiveEvent) -> None:
        for one in self._reader.read(event):
            if isinstance(one, Noted):
                self._notes.append(one.text)
            self._events.put_nowait(one)
        if isinstance(event, Committed):
            self._questions.put()

    async def _wait(self) -> None:
        try:
            await self._session.wait(self._following.over)
        finally:
            self._events.put_nowait(None)

    async def _come_to(self) -> Answer:
        files, notes = await self._delivery.hand_over()
        if self._questions.failed:
            raise self._questions.failed
        log, closed = self._session.log.entries, self._following.closed
        fact, spent = log[closed - 1].fact, totals(log[self._following.opened - 1 : closed])
        assert isinstance(fact, e.TurnClosed)
        answer = Answer(
            words_of(log, closed, fact.ending),
            self._session.conversation,
            spent.model,
            tuple(files),
            tuple(dict.fromkeys([*self._notes, *notes])),
            spent.usage,
            spent.dollars,
        )
        if isinstance(fact.ending, end.Answered):
            return answer
        raise NotAnswered(fact.ending, answer)
