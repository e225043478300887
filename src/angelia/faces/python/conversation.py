"""One conversation of a program: questions are asked in it, and each gets the answer of its turn."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from angelia.core import entry as e
from angelia.core.content import Content, Text
from angelia.core.errors import BadInput
from angelia.core.ids import ConversationId, sortable_id
from angelia.faces.python.answers import Answer
from angelia.faces.python.questions import Approve, Questions
from angelia.faces.python.turn_stream import TurnStream
from angelia.faces.words.program_delivery import ProgramDelivery
from angelia.faces.words.turn_end import Following
from angelia.policy.approvers import nobody, owner_at

if TYPE_CHECKING:
    from angelia.service.app import App
    from angelia.service.conversation.session import Session
    from angelia.service.models.choice import ModelChoice
    from angelia.service.trajectories.trajectory import TrajectoryStep


PYTHON = e.Address("python")


class Conversation:
    """An open conversation; made by `Agent.conversation`, and left at the end of its `async with`.

    `id` names it, for `angelia show`, `angelia chat --resume` and the next program. Several questions may be asked at
    once: what comes while a turn runs is read by that turn, as it is in the terminal.
    """

    def __init__(self, app: "App", session: "Session", choice: "ModelChoice", approve: Approve | None) -> None:
        self._app = app
        self._session = session
        self._choice = choice
        self._approvers = owner_at(PYTHON) if approve else nobody
        self._delivery = ProgramDelivery(session, PYTHON.door, app.blobs, app.outbox_folder)
        self._questions = Questions(session, approve, app.clock)
        self._owed = bool(self._delivery.unsettled())
        self._employed = False

    @property
    def id(self) -> ConversationId:
        """Its name; in the store from the first question on."""
        return self._session.conversation

    @property
    def unfinished(self) -> bool:
        """Whether `resume` has something to do: a turn was open, or its answer was never handed over."""
        return bool(self._session.turn.opened) or self._owed

    @property
    def steps(self) -> "list[TrajectoryStep]":
        """All that was said and done in it, with the results of calls; see `angelia export` for other formats."""
        from angelia.service.trajectories.trajectory import trajectory_steps

        return trajectory_steps(self._session.log.entries)

    async def atif(self) -> str:
        """All of it as a document of ATIF, pictures by reference, without known secrets.

        Raises:
            NotFound: what it refers to is gone.
        """
        import json

        from angelia.service.trajectories.formats import as_atif
        from angelia.service.trajectories.read import MediaAs, media_urls, read_trajectory

        entries, blobs = self._session.log.entries, self._app.blobs
        urls = await media_urls(blobs, entries, MediaAs.REFERENCE)
        document = as_atif(await read_trajectory(blobs, self.id, entries), urls)
        return self._app.redaction.text(json.dumps(document, ensure_ascii=False))

    async def ask(self, question: str, *, files: Iterable[str | Path] = ()) -> Answer:
        """Ask, with files attached, and wait for the answer. If the waiting task is cancelled, the turn is stopped.

        Raises:
            NotAnswered: the turn ended in another way; `ending` is how.
            BadInput: there is no question, or a file cannot be read; nothing was asked.
            ConfigError, SandboxError: the model, the workspace or the sandbox cannot be had; nothing was asked.
            StoreError: the question could not be stored, and was not asked.
        """
        async with self.stream(question, files=files) as turn:
            return await turn.answer()

    @asynccontextmanager
    async def stream(self, question: str, *, files: Iterable[str | Path] = ()) -> AsyncIterator[TurnStream]:
        """Ask, and watch the turn: `async with talk.stream("…") as turn: async for event in turn: …`.

        Raises:
            As `ask`; of the turn itself by `TurnStream.answer`.
        """
        parts, notes = await self._parts(question, files)
        await self._employ()
        key = sortable_id(self._app.clock)
        turn = self._followed(Following(self._session.log.entries, key))
        try:
            for note in notes:
                turn.note(note)
            await self._session.say(parts, address=PYTHON, key=key)
            yield turn
        finally:
            await turn.close()

    async def resume(self) -> Answer:
        """Go on with what an earlier process left behind, and wait for its answer; see `unfinished`.

        Raises:
            BadInput: nothing was left.
            NotAnswered, ConfigError, SandboxError, StoreError: as `ask`.
        """
        if not self.unfinished:
            raise BadInput("Nothing is unfinished in this conversation.", then="Ask something.")
        await self._employ()
        self._owed = False
        turn = self._followed(Following(self._session.log.entries))
        try:
            return await turn.answer()
        finally:
            await turn.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._questions.close()
        await self._app.conversations.leave(self._session)

    async def _employ(self) -> None:
        if not self._employed:
            await self._app.conversations.employ(self._session, self._choice.spec, approvers=self._approvers)
            self._employed = True

    def _followed(self, following: Following) -> TurnStream:
        return TurnStream(self._session, self._delivery, self._questions, following)

    async def _parts(self, question: str, files: Iterable[str | Path]) -> tuple[list[Content], list[str]]:
        """What is said, and what has to be known of it."""
        parts: list[Content] = [Text(question)] if question.strip() else []
        notes = [self._choice.because] if self._choice.because else []
        profile = self._app.model_catalog.profile(self._choice.spec)
        for file in files:
            attached = await self._app.attachments.file(Path(file), profile)
            parts += attached.parts
            notes += attached.notes
        if not parts:
            raise BadInput("There is no question.", then="Example: await agent.ask('What is in this folder?')")
        return parts, notes
