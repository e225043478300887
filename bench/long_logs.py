"""Rows about a conversation of 20,000 entries: how long opening it stalls the loop, and what a receipt takes."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from angelia.channels.incoming import Confirmed, Envelope, IncomingSender, ReachedUpdate
from angelia.channels.settings import ChannelSettings
from angelia.core import codec
from angelia.core import entry as e
from angelia.core.content import Media, Text
from angelia.core.ending import Answered
from angelia.core.ids import ConversationId, DeliveryId, new_conversation
from angelia.core.principal import OWNER
from angelia.policy.approvers import nobody
from angelia.service.app import App
from angelia.service.chats.gateway import Gateway
from angelia.service.chats.open_channel import OpenChannel
from angelia.service.conversation.session import Session
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.service.settings.config import load
from angelia.store.log.chain import Unsigned
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import Database
from angelia.testing.channels.recording_channel import FarEnd, RecordingChannel
from bench.rows import Row, row
from bench.runs import Benchmark
from bench.startup import model_environment
from bench.store import insert
from bench.views import lived

ENTRIES = 20_000
CHAT = e.Address("chat", "7")
_EACH_S = 0.001
"""How often the loop is looked at."""


def rows(bench: Benchmark, url: str) -> Iterator[Row]:
    """The longest stall of the loop while it is opened and while its first turn runs; then one receipt."""
    folder = bench.place("long logs")
    workspace = folder / "workspace"
    workspace.mkdir()
    name = asyncio.run(_filled(folder / "angelia", workspace, _closed(lived(ENTRIES))))
    opened, first = asyncio.run(stalls(folder, url, name, bench.times))
    yield row(f"resume {ENTRIES:,} entries: longest stall of the loop", "ms", opened, 0.050)
    yield row("    in its first turn", "ms", first, 0.050)
    yield row(f"a receipt at {ENTRIES:,} entries", "ms", asyncio.run(receipts(folder, url, name, bench.times)), 0.010)


def _closed(log: Sequence[e.Entry]) -> list[e.AnyFact]:
    """The log up to where room was made last, its turn closed; without pictures, whose bytes nobody has."""
    last = max(entry.seq for entry in log if isinstance(entry.fact, e.ViewMoved))
    facts = [_without_media(entry.fact) for entry in log[:last]]
    return [*facts, e.TurnClosed(Answered())]


def _without_media(fact: e.AnyFact) -> e.AnyFact:
    if not isinstance(fact, e.UserSaid):
        return fact
    return replace(fact, parts=tuple(part for part in fact.parts if not isinstance(part, Media)))


async def _filled(home: Path, workspace: Path, facts: list[e.AnyFact]) -> ConversationId:
    """A home with this log, written in bulk, and an answer at its end that a chat's network has taken."""
    db, name = Database.open(home), new_conversation()
    transcript = Transcript(db)
    await transcript.append(name, [e.ConversationOpened("terminal", str(workspace))])
    bulk: list[Unsigned] = [
        (name, seq, seq, 0, codec.VERSION, codec.kind_of(fact), codec.encode(fact))
        for seq, fact in enumerate(facts[1:], 2)
    ]
    await db.write(partial(insert, bulk))
    sent, there = DeliveryId("d1"), (Text("There."),)
    await transcript.append(
        name,
        [
            e.DoorMoved(CHAT, OWNER),
            e.DeliveryQueued(sent, CHAT, there, "answer"),
            e.PieceArrived(sent, 0, "n1"),
            e.DeliverySettled(sent, e.DeliveryStatus.SENT, "n1"),
        ],
    )
    db.close()
    return name


class _Stalls:
    """The longest time that the loop did not come round, of what is measured now."""

    longest = 0.0

    async def look(self) -> None:
        """Until cancelled."""
        before = time.perf_counter()
        while True:
            await asyncio.sleep(_EACH_S)
            now = time.perf_counter()
            self.longest = max(self.longest, now - before - _EACH_S)
            before = now

    async def settled(self) -> float:
        """What it was since the last time."""
        await asyncio.sleep(2 * _EACH_S)
        longest, self.longest = self.longest, 0.0
        return longest


@asynccontextmanager
async def _app(folder: Path, url: str) -> AsyncIterator[App]:
    env = model_environment(url, folder)
    sets = ("sandbox.confine=off",)
    app = await App.open(load(folder / "angelia", env, sets, {"model": "openai-chat:scripted"}), env)
    try:
        yield app
    finally:
        await app.close()


async def stalls(folder: Path, url: str, name: ConversationId, times: int) -> tuple[list[float], list[float]]:
    """Seconds while it is opened, and while its first turn runs; what a process imports once is imported before."""
    opened, first, seen = [], [], _Stalls()
    async with _app(folder, url) as app:
        await _turn(app, app.conversations.begin(door="terminal", workspace=folder / "workspace"))
        looking = asyncio.create_task(seen.look())
        for _ in range(times):
            await seen.settled()
            session = await app.conversations.resume(name, door="terminal")
            opened.append(await seen.settled())
            await _turn(app, session)
            first.append(await seen.settled())
        looking.cancel()
    return opened, first


async def _turn(app: App, session: Session) -> None:
    await app.conversations.employ(session, "openai-chat:scripted", approvers=nobody)
    await session.say([Text("Go on.")], address=TERMINAL)
    closed = await session.settled()
    assert closed is not None
    assert isinstance(closed.ending, Answered), closed
    await app.conversations.leave(session)


async def receipts(folder: Path, url: str, name: ConversationId, times: int) -> list[float]:
    """Seconds until what a network told is durable; each time it is something new."""
    took = []
    async with _app(folder, url) as app:
        gateway, channel = Gateway(app.chat_services), RecordingChannel(FarEnd())
        gateway.begin([OpenChannel(channel, ChannelSettings(owners=("1",)))])
        for number in range(times + 1):
            told = Confirmed("n1", ReachedUpdate.FAILED, f"reason {number}")
            start = time.perf_counter()
            await channel.bring(Envelope(CHAT, f"r{number}", IncomingSender("1", "Ann"), told))
            took.append(time.perf_counter() - start)
        known = await app.transcript.entries(name)
        assert sum(isinstance(entry.fact, e.DeliveryReached) for entry in known) == times + 1
        await gateway.close()
    return took[1:]  # beside the first one the gateway looks for turns that were left open
