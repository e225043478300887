"""The same without `await`: the agent lives on a thread of its own, and every call waits for it."""

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from angelia.core.errors import BadInput
from angelia.core.ids import ConversationId
from angelia.faces.python.agent import Agent
from angelia.faces.python.answers import Answer
from angelia.faces.python.conversation import Conversation
from angelia.faces.python.events import Event
from angelia.faces.python.questions import Approve
from angelia.faces.python.turn_stream import TurnStream
from angelia.tools.port import Tool

T = TypeVar("T")


class LoopThread:
    """An event loop on a thread of its own, for programs that have none."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="angelia", daemon=True)
        self._thread.start()

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        """Its result. A Ctrl-C while waiting cancels it, and is raised once it has ended."""
        came: Future[T] = Future()

        async def do() -> None:
            try:
                came.set_result(await doing)
            except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                came.set_exception(error)

        doing_it = asyncio.run_coroutine_threadsafe(do(), self._loop)
        try:
            return came.result()
        except KeyboardInterrupt:
            doing_it.cancel()
            wait([came])
            raise

    def close(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class BlockingTurn:
    """A turn to iterate over: see `TurnStream`."""

    def __init__(self, loop: LoopThread, turn: TurnStream) -> None:
        self._loop, self._turn = loop, turn

    def __iter__(self) -> Iterator[Event]:
        events = aiter(self._turn)

        async def following() -> Event | None:
            return await anext(events, None)

        while (event := self._loop.run(following())) is not None:
            yield event

    def answer(self) -> Answer:
        """See `TurnStream.answer`."""
        return self._loop.run(self._turn.answer())

    def stop(self) -> None:
        """See `TurnStream.stop`."""
        self._loop.run(self._turn.stop())


class BlockingConversation:
    """See `Conversation`."""

    def __init__(self, loop: LoopThread, talk: Conversation) -> None:
        self._loop, self._talk = loop, talk

    @property
    def id(self) -> ConversationId:
        """See `Conversation.id`."""
        return self._talk.id

    @property
    def unfinished(self) -> bool:
        """See `Conversation.unfinished`."""
        return self._talk.unfinished

    def ask(self, question: str, *, files: Iterable[str | Path] = ()) -> Answer:
        """See `Conversation.ask`."""
        return self._loop.run(self._talk.ask(question, files=files))

    @contextmanager
    def stream(self, question: str, *, files: Iterable[str | Path] = ()) -> Iterator[BlockingTurn]:
        """See `Conversation.stream`."""
        with _within(self._loop, self._talk.stream(question, files=files)) as turn:
            yield BlockingTurn(self._loop, turn)

    def resume(self) -> Answer:
        """See `Conversation.resume`."""
        return self._loop.run(self._talk.resume())


class BlockingAgent:
    """`Agent` for programs without an event loop, and for notebooks: the same arguments, and no `await`.

    `approve` and tools that are plain functions run on other threads than the one that asks.

        with BlockingAgent(model="anthropic:claude-sonnet-5-5", workspace="garden") as agent:
            print(agent.ask("Which bed brought more?"))
    """

    def __init__(
        self,
        *,
        model: str = "",
        tools: Sequence[Tool] = (),
        workspace: str | Path = "",
        home: str | Path = "",
        settings: Mapping[str, Any] | None = None,
        approve: Approve | None = None,
    ) -> None:
        self._agent = Agent(
            model=model, tools=tools, workspace=workspace, home=home, settings=settings, approve=approve
        )
        self._loop: LoopThread | None = None

    def __enter__(self) -> Self:
        self._loop = LoopThread()
        try:
            self._loop.run(self._agent.__aenter__())
        except BaseException:
            self._loop.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop, self._loop = self._loop, None
        if loop:
            try:
                loop.run(self._agent.__aexit__(kind, error, trace))
            finally:
                loop.close()

    def ask(self, question: str, *, files: Iterable[str | Path] = (), conversation: str = "") -> Answer:
        """See `Agent.ask`."""
        return self._running.run(self._agent.ask(question, files=files, conversation=conversation))

    @contextmanager
    def conversation(self, id: str = "") -> Iterator[BlockingConversation]:  # noqa: A002 - it is one
        """See `Agent.conversation`."""
        loop = self._running
        with _within(loop, self._agent.conversation(id)) as talk:
            yield BlockingConversation(loop, talk)

    @contextmanager
    def stream(
        self, question: str, *, files: Iterable[str | Path] = (), conversation: str = ""
    ) -> Iterator[BlockingTurn]:
        """See `Agent.stream`."""
        with self.conversation(conversation) as talk, talk.stream(question, files=files) as turn:
            yield turn

    @property
    def _running(self) -> LoopThread:
        if self._loop is None:
            raise BadInput("The agent is not open.", then="Use it within `with BlockingAgent(…) as agent:`.")
        return self._loop


@contextmanager
def _within(loop: LoopThread, opened: AbstractAsyncContextManager[T]) -> Iterator[T]:
    """An `async with` whose inside is here."""

    async def entered() -> T:
        return await opened.__aenter__()

    async def left() -> None:
        await opened.__aexit__(None, None, None)

    found = loop.run(entered())
    try:
        yield found
    finally:
        loop.run(left())
