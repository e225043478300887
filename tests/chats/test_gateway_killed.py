"""Gateways are killed again and again, anywhere, while people go on talking to them."""

import asyncio
import random
import signal
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from angelia.channels.capabilities import IncomingKind
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.service.chats.messages import AGAIN
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import Database
from angelia.store.tables.chat_bindings import ChatBindings
from angelia.testing.channels.network import Thing
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, say
from angelia.testing.networks.telegram_server import TelegramServer
from angelia.testing.networks.telegram_world import GROUP, HERE
from tests.chats.gateway_lives import PATIENCE_S, Story, seen
from tests.examples import TIMES
from tests.nursery import LivingChild, Nursery

pytestmark = pytest.mark.anyio

KILLS, PEOPLE = 200 if TIMES else 24, 4
"""Two hundred in `make soak`."""
CALLS = 14
"""A life is over after at most so many requests to the network and the model; an answer takes some ten."""
POINTS = (
    "append.before_commit",
    "append.after_commit",
    "delivery.started",
    "delivery.sent",
    "preview.sent",
    "preview.drafted",
)


def answer(request: ReceivedRequest) -> Step:
    """Says something that it never said before."""
    return say(f"Answer {request.number} to {request.heard.last_words.split()[-1]}.")


class Talk(Story):
    """Somebody says something in each life."""

    said = 0

    async def say_more(self) -> str:
        """One more message; its last word is told only once."""
        self.said += 1
        word = f"w{self.said}w"
        await self.network.bring(Thing(IncomingKind.TEXT, self.where, f"tell me about {word}"))
        return word

    @property
    def calls(self) -> int:
        """How often the network and the model were asked."""
        return len(self.network.requests) + len(self.model.requests)

    def answered(self, word: str) -> bool:
        """Whether there is an answer to it, and not only its beginning."""
        return any(text.endswith(f"to {word}.") for text in seen(self.network.arrived).texts)

    async def facts(self) -> list[e.AnyFact]:
        """The log."""
        db = Database.open(self.home)
        try:
            conversation = await ChatBindings(db).conversation(e.Address("telegram", self.where.chat))
            assert conversation is not None
            return [one.fact for one in await Transcript(db).entries(conversation)]
        finally:
            db.close()


async def begun(chat: Talk, nursery: Nursery, folder: str, at: str = "") -> LivingChild:
    return await nursery.bear(["gateway"], chat.env, Path(tempfile.mkdtemp(dir=folder)), at=at)


async def until(chat: Talk, child: LivingChild, word: str, calls: float) -> None:
    """Until the life has ended itself, made so many calls, or answered."""
    before = chat.calls
    done = asyncio.create_task(chat.network.when(lambda: chat.calls >= before + calls or chat.answered(word)))
    either: list[asyncio.Future[Any]] = [child.status, done]
    try:
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    finally:
        done.cancel()


async def killed_often(chat: Talk, nursery: Nursery, folder: str, chance: random.Random) -> None:
    """Lives that end at a random occurrence of a crash point, or else at a random call; and one that ends well."""
    for _ in range(KILLS // PEOPLE):
        word = await chat.say_more()
        at = f"{chance.choice(POINTS)}:{chance.randint(1, 12)}" if chance.random() < 0.5 else ""
        child = await begun(chat, nursery, folder, at)
        await until(chat, child, word, chance.randint(1, CALLS))
        child.kill(signal.SIGKILL)
        assert (ended := await child.ended()).status == -signal.SIGKILL, ended.stderr
    word = await chat.say_more()
    child = await begun(chat, nursery, folder)
    await until(chat, child, word, float("inf"))
    child.kill(signal.SIGTERM)
    assert (ended := await child.ended()).status == 0, ended.stderr


async def what_is_broken(folder: Path, nursery: Nursery, seed: int) -> list[str]:
    """A talk with a gateway of its own, in private or in a group, and what is not as it was promised."""
    async with ModelServer(answer) as model, TelegramServer() as network:
        chat = Talk(folder / str(seed), model, network, where=GROUP if seed % 2 else HERE)
        with tempfile.TemporaryDirectory() as place:
            await killed_often(chat, nursery, place, random.Random(seed))
        facts = await chat.facts()
        return lost(facts, chat.said) + wrong(facts, seen(network.arrived).texts)


@pytest.mark.soak
async def test_killed_again_and_again_it_says_everything_once(tmp_path: Path) -> None:
    async with Nursery() as nursery:
        found = await asyncio.gather(*(what_is_broken(tmp_path, nursery, seed) for seed in range(PEOPLE)))
    assert found == [[]] * PEOPLE


def lost(facts: Sequence[e.AnyFact], said: int) -> list[str]:
    """Messages that were not taken in once, that no request carried, and turns that did not end."""
    keys = Counter(fact.key for fact in facts if isinstance(fact, e.UserSaid))
    heard = {seq for fact in facts if isinstance(fact, e.ModelAsked) for seq in fact.heard}
    spoken = [seq for seq, fact in enumerate(facts, 1) if isinstance(fact, e.UserSaid)]
    missing = [] if len(keys) == said else [f"{said} messages were sent, and {len(keys)} came in"]
    missing += [f"{key} came in {times} times" for key, times in keys.items() if times > 1]
    missing += [f"no request carried the message {seq}" for seq in spoken if seq not in heard]
    last = next(fact for fact in reversed(facts) if isinstance(fact, e.TurnClosed | e.UserSaid))
    return missing if isinstance(last, e.TurnClosed) else [*missing, "the last turn did not end"]


def wrong(facts: Sequence[e.AnyFact], shown: Sequence[str]) -> list[str]:
    """Deliveries that are not there once, but for a marked repeat or an end in doubt; and previews that were left."""
    texts = Counter(text for text in shown if not text.startswith(AGAIN))
    again = Counter(text.removeprefix(AGAIN).strip() for text in shown if text.startswith(AGAIN))
    status = {fact.id: fact.status for fact in facts if isinstance(fact, e.DeliverySettled)}
    queued, known = Counter[str](), Counter[str]()  # two turns that are given up say the same
    for fact in facts:
        if isinstance(fact, e.DeliveryQueued) and fact.origin != "notice":
            (text,) = (part.text for part in fact.parts if isinstance(part, Text))
            queued[text] += 1
            known[text] += status.get(fact.id) is e.DeliveryStatus.SENT
    doubts = queued.total() - known.total()
    found = [
        f"{text!r} was sent {times} times, and stands there {texts[text]} times, and {again[text]} times marked"
        for text, times in queued.items()
        if texts[text] > times or again[text] > times or texts[text] + again[text] < known[text]
    ]
    drafts = [text for text in texts if text.endswith("…")]
    if len(drafts) > again.total() + doubts:
        found.append(f"previews were left: {drafts}")
    told = sum("Nobody knows whether" in text for text in shown)
    return found if told >= doubts else [*found, f"{doubts} deliveries are in doubt, and {told} were told"]
