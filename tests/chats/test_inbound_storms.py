"""Messages come in by the thousand, twice and out of order, while lives end: each has one disposition that is seen."""

import asyncio
import random
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from angelia.channels.capabilities import Kind
from angelia.channels.incoming import Envelope, IncomingMessage, OfferedFile
from angelia.core import entry as e
from angelia.core.crash import on_crash_point
from angelia.core.principal import OWNER
from angelia.engine.state import Turn, advance
from angelia.testing.channels.recording_channel import WITHOUT_EDIT, FarEnd
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, say, slowly
from tests.chats.storm import Killed, hurry
from tests.chats.town import OPEN, Town, envelope, town
from tests.examples import TIMES

pytestmark = pytest.mark.anyio

CHATS, MESSAGES = (100, 100) if TIMES else (20, 10)
"""Ten thousand messages in `make soak`."""
LONG_S = 10.0
"""How long a model thinks: so long that a chat says a dozen things meanwhile."""
DEADLY = 3 / (CHATS * MESSAGES)
"""The chance that a life ends at a crash point: some twenty lives in all."""

KEYED = (e.UserSaid, e.CommandGiven, e.TurnedAway, e.SetAside)


def answer(request: ReceivedRequest) -> Step:
    """Says what it was told last, after a while in which much more is said."""
    return slowly(say(f"heard {request.heard.last_words.split()[-1]}"), first=LONG_S)


def traffic(chance: random.Random) -> dict[str, list[Envelope]]:
    """What people do in each chat: mostly words, some verbs, some files that cannot be fetched, some emptiness."""
    chats: dict[str, list[Envelope]] = {}
    for chat in range(CHATS):
        name = f"c{chat}"
        for number in range(MESSAGES):
            what = chance.choices(
                [
                    IncomingMessage(f"message {name}.{number}"),
                    IncomingMessage("/status"),
                    IncomingMessage("/stop"),
                    IncomingMessage("", (OfferedFile(Kind.DOCUMENT, "nowhere", "lost.bin"),)),
                    IncomingMessage(""),
                ],
                [90, 3, 1, 3, 3],
            )[0]
            chats.setdefault(name, []).append(envelope(what, chat=name, key=f"{name}.{number}"))
    return chats


class Storm:
    """The networks' side: what was not acknowledged is brought again."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.left = traffic(self.chance)
        self.died = asyncio.Event()

    def strike(self, point: str) -> None:
        """Perhaps the life ends here; the store's own threads are killed elsewhere, with their process."""
        here = threading.current_thread() is threading.main_thread()
        if here and not self.died.is_set() and self.chance.random() < DEADLY:
            self.died.set()
            raise Killed

    async def bring(self, life: Town) -> None:
        """Bring everything that is left, all chats side by side, until it is over or the life ends."""
        await asyncio.gather(*(self._chat(life, chat) for chat in tuple(self.left)))

    async def _chat(self, life: Town, chat: str) -> None:
        left = self.left[chat]
        while left and not self.died.is_set():
            near = self.chance.randrange(min(len(left), 3))
            one = left[near]
            try:
                await life.channel.bring(one)
                if self.chance.random() < 0.05:
                    await life.channel.bring(one)
            except (Killed, asyncio.CancelledError):
                return
            if self.died.is_set():
                return  # nobody was there to acknowledge it
            left.remove(one)


async def live(folder: Path, server: ModelServer, far: FarEnd, storm: Storm) -> bool:
    """One life; whether everything was brought and answered in it."""
    storm.died.clear()
    with suppress(Killed):
        async with town(folder, server, far, capabilities=WITHOUT_EDIT) as life:
            hurry(life.app.db)
            on_crash_point(storm.strike)
            try:
                await storm.bring(life)
                while not storm.died.is_set():
                    if not any(storm.left.values()) and await at_rest(life):
                        return True
                    with suppress(TimeoutError):
                        async with asyncio.timeout(0.05):
                            await storm.died.wait()
            finally:
                on_crash_point(None)
    return False


async def at_rest(life: Town) -> bool:
    """Whether nothing is worked on or waits for it, and nothing is on its way.

    The logs are asked, since a life does not have everything open that an earlier one left to it.
    """
    if any(turn.opened or turn.unread for turn in life.turns()):
        return False
    for reached in await life.app.doors.of_door(OWNER, "chat"):
        turn = advance(Turn(), await life.app.transcript.entries(reached.conversation))
        if turn.opened or turn.unread:
            return False
    return not await life.app.outbox.pending("chat")


async def test_every_message_has_one_disposition_that_is_seen(tmp_path: Path) -> None:
    far, storm, lives = FarEnd(), Storm(11), 0
    expected = {one.key for chat in storm.left.values() for one in chat}
    async with ModelServer(answer) as server:
        while True:
            lives += 1
            if await live(tmp_path, server, far, storm):
                break
        async with town(tmp_path, server, far, OPEN, WITHOUT_EDIT) as life:
            found: Counter[str] = Counter()
            for chat in (f"c{number}" for number in range(CHATS)):
                facts = await life.facts(chat)
                found.update(fact.key for fact in facts if isinstance(fact, KEYED))
                assert unseen(facts) == []
    assert lives > 3
    assert found == Counter(expected)


def unseen(facts: list[e.AnyFact]) -> list[str]:
    """Dispositions that nobody saw: messages no request carried and no ending covers, answers that did not arrive."""
    heard = {seq for fact in facts if isinstance(fact, e.ModelAsked) for seq in fact.heard}
    last_end = max((seq for seq, fact in enumerate(facts, 1) if isinstance(fact, e.TurnClosed)), default=0)
    settled = {fact.id: fact.status for fact in facts if isinstance(fact, e.DeliverySettled)}
    wrong = []
    for seq, fact in enumerate(facts, 1):
        match fact:
            case e.UserSaid(key=key) if seq not in heard and seq > last_end:
                wrong.append(f"{key} was never answered")
            case e.DeliveryQueued(id=delivery) if settled.get(delivery) is None:
                wrong.append(f"{delivery} is not settled")
            case e.CommandGiven(key=key) | e.TurnedAway(key=key):
                if not any(isinstance(one, e.DeliveryQueued) and one.id.endswith(f".k{key}") for one in facts):
                    wrong.append(f"{key} was not replied to")
            case _:
                pass
    return wrong
