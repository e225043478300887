"""A conversation in this process: the real app, store, tools and wires, without the start of a process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ending import Ending
from angelia.core.principal import OWNER
from angelia.policy.approvers import nobody
from angelia.service.app import App
from angelia.service.conversation.session import Session
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.service.settings.config import load
from tests.promise.lives import Place
from tests.promise.pipes import PATIENCE_S

F = TypeVar("F", bound=e.Fact)


class Conversation(Struct, frozen=True):
    """An open conversation, driven from its first message on."""

    app: App
    session: Session

    async def say(self, text: str, arrival: e.Arrival = e.Arrival.STEER) -> None:
        """A person speaks."""
        await self.session.say([Text(text)], address=TERMINAL, arrival=arrival)

    async def ending(self) -> Ending:
        """Wait for the end of everything that is to be done; how the last turn ended.

        Raises:
            TimeoutError: it does not end.
        """
        async with asyncio.timeout(PATIENCE_S):
            closed = await self.session.settled()
        assert closed is not None
        return closed.ending

    def facts(self, kind: type[F]) -> list[F]:
        """The facts of this kind so far."""
        return [entry.fact for entry in self.session.log.entries if isinstance(entry.fact, kind)]

    def words(self) -> list[str]:
        """What was queued for the person at the end of each turn."""
        closing = [fact for fact in self.facts(e.DeliveryQueued) if fact.origin in ("answer", "ending")]
        return ["".join(part.text for part in fact.parts if isinstance(part, Text)) for fact in closing]


@asynccontextmanager
async def conversation(place: Place, *, again: bool = False, driven: bool = True) -> AsyncIterator[Conversation]:
    """A new conversation in a place, or the last one `again`; somebody else drives it if it is not `driven` here."""
    loaded = load(place.home, place.env, place.sets, {"model": f"{place.wire}:m"})
    app = await App.open(loaded, place.env)
    try:
        session = await (_last(app) if again else _new(app, place))
        if driven:
            await app.conversations.employ(session, loaded.config.model, approvers=nobody)
        yield Conversation(app, session)
    finally:
        await app.close()


async def _new(app: App, place: Place) -> Session:
    return app.conversations.begin(door="terminal", workspace=place.workspace)


async def _last(app: App) -> Session:
    last = (await app.transcript.conversations(OWNER, 1))[0]
    return await app.conversations.resume(last.id, door="terminal")
