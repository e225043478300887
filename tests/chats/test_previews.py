"""What a chat sees of an answer that is being written, where its network has drafts; in virtual time."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.channels.capabilities import Capabilities
from angelia.channels.failures import Rejected
from angelia.channels.outgoing import OutText
from angelia.channels.settings import ChannelSettings
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ids import ConversationId, DeliveryId
from angelia.service.chats.delivery import DeliveryStores
from angelia.service.chats.open_channel import OpenChannel
from angelia.service.chats.preview import Preview
from angelia.service.chats.writer import ChatWriter
from angelia.store.log.transcript import Transcript
from angelia.store.media.blobs import BlobStore
from angelia.store.sql.database import Database
from angelia.store.tables.outbox import Outbox
from angelia.testing.changes import Changes
from angelia.testing.channels.recording_channel import ABILITIES, WITH_DRAFTS, ChannelTrouble, FarEnd, RecordingChannel

pytestmark = pytest.mark.anyio

HERE = e.Address("chat", "7")
TALK = ConversationId("talk")
ANSWER = DeliveryId("talk.t1")


class Refusing(RecordingChannel):
    """A network that turns out to have no drafts."""

    async def draft(self, to: e.Address, text: OutText, key: str) -> None:
        await super().draft(to, text, key)
        self.capabilities = ABILITIES
        raise Rejected("There are no drafts here.")


class OneChat:
    """One chat's writer, an answer that grows, and a clock that runs while the writer waits."""

    def __init__(self, far: FarEnd, stores: DeliveryStores, channel: RecordingChannel) -> None:
        self.far, self.stores, self.channel = far, stores, channel
        self.now, self._changes, self._runs = 0, Changes(), asyncio.Event()
        self.calls: list[tuple[str, int]] = []
        self._trouble, far.trouble = far.trouble, self._called
        self.writer = ChatWriter(HERE, OpenChannel(channel, ChannelSettings()), stores, self._wait)
        self.draft = Preview(TALK, ANSWER, HERE)

    async def grow(self, words: str) -> None:
        """Some more is written, and somebody waits for it."""
        self.draft.write(words)
        self.writer.draft(self.draft)
        self.writer.working(HERE)

    async def deliver(self, delivery: str, words: str, origin: str = "answer") -> None:
        """Something is to go out; returns when it is settled."""
        queued = e.DeliveryQueued(DeliveryId(delivery), HERE, (Text(words),), origin)
        await self.stores.transcript.append(TALK, [queued])
        (receipt,) = [one for one in await self.stores.outbox.pending("chat") if one.id == delivery]
        self.writer.give([receipt])
        await self.until(lambda: not self.writer.busy)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for it; it is looked at whenever the writer waits. Only meanwhile time passes."""
        self._runs.set()
        async with asyncio.timeout(60):
            await self._changes.when(holds)
        self._runs.clear()

    async def passed(self, seconds: float) -> None:
        """So much virtual time has passed."""
        ends = self.now + seconds * 1000
        await self.until(lambda: self.now >= ends)

    def drafts(self) -> list[str]:
        """What the chat was shown, oldest first."""
        return self.far.drafts.get(HERE.chat, [])

    def called(self, method: str) -> int:
        """How often the network was."""
        return [name for name, _ in self.calls].count(method)

    async def facts(self) -> list[e.AnyFact]:
        return [one.fact for one in await self.stores.transcript.entries(TALK)]

    def _called(self, method: str) -> ChannelTrouble:
        self.calls.append((method, self.now))
        return self._trouble(method)

    async def _wait(self, event: asyncio.Event | None, seconds: float | None) -> None:
        self._changes.tell()
        await asyncio.sleep(0)
        await self._runs.wait()
        if seconds is None and event is not None:
            await event.wait()
        elif event is None or not event.is_set():
            self.now += int((seconds or 0) * 1000)


@asynccontextmanager
async def chat_sessions(
    folder: Path,
    trouble: Callable[[str], ChannelTrouble] = lambda _: ChannelTrouble.NONE,
    channel: Callable[..., RecordingChannel] = RecordingChannel,
    capabilities: Capabilities = WITH_DRAFTS,
    wall: Callable[[int], int] = lambda now: now,
) -> AsyncIterator[OneChat]:
    far = FarEnd(trouble)

    def set_back() -> int:
        return wall(found.now)

    db = Database.open(folder, clock=set_back)
    stores = DeliveryStores(Transcript(db), Outbox(db), BlobStore(folder), set_back, steady=lambda: found.now)
    found = OneChat(far, stores, channel(far, capabilities=capabilities))
    await stores.transcript.append(TALK, [e.ConversationOpened("chat", "/w")])
    running = asyncio.create_task(found.writer.run())
    try:
        yield found
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        db.close()


async def test_an_answer_grows_as_a_draft_and_comes_as_a_message_of_its_own(tmp_path: Path) -> None:
    async with chat_sessions(tmp_path) as chat:
        await chat.grow("One")
        await chat.until(lambda: chat.drafts() == ["One"])
        await chat.grow(" moment")
        await chat.until(lambda: chat.drafts() == ["One", "One moment"])
        assert chat.far.messages == {}
        await chat.deliver(ANSWER, "One moment. Done.")
        assert chat.far.texts("7") == ["One moment. Done."]
        chat.writer.working(None)
        assert chat.writer.idle
        kinds = {type(fact) for fact in await chat.facts()}
        assert not kinds & {e.PreviewStarted, e.PreviewShown}


async def test_a_draft_is_shown_again_before_it_fades_as_long_as_somebody_is_at_work(tmp_path: Path) -> None:
    async with chat_sessions(tmp_path) as chat:
        await chat.grow("I look.")
        await chat.passed(200)
        at = [now for method, now in chat.calls if method == "draft"]
        assert set(chat.drafts()) == {"I look."}
        pauses = [later - now for now, later in pairwise(at)]
        assert len(pauses) > 5
        assert all(20_000 < pause < 30_000 for pause in pauses)
        chat.writer.working(None)
        before = len(chat.drafts())
        await chat.passed(100)
        assert len(chat.drafts()) == before


async def test_what_goes_out_in_between_takes_the_draft_away_and_it_is_shown_again_at_once(tmp_path: Path) -> None:
    async with chat_sessions(tmp_path) as chat:
        await chat.grow("I look.")
        await chat.until(lambda: chat.drafts() == ["I look."])
        await chat.deliver("talk.file", "here is a note")
        gone = chat.now
        await chat.until(lambda: len(chat.drafts()) == 2)
        assert chat.now - gone < 5_000
        assert not chat.called("delete")
        assert chat.far.texts("7") == ["here is a note"]


async def test_flood_control_puts_drafts_off_and_not_the_answer(tmp_path: Path) -> None:
    troubles = iter([ChannelTrouble.NONE, ChannelTrouble.LATER])

    def weather(method: str) -> ChannelTrouble:
        return next(troubles, ChannelTrouble.NONE) if method == "draft" else ChannelTrouble.NONE

    async with chat_sessions(tmp_path, weather) as chat:
        for tries, words in enumerate(("One", " two"), 1):
            await chat.grow(words)
            await chat.until(lambda tries=tries: chat.called("draft") == tries)  # type: ignore[misc]  # bound now
        await chat.grow(" three")
        await chat.until(lambda: chat.drafts()[-1] == "One two three")
        first, refused, welcome = [now for method, now in chat.calls if method == "draft"]
        assert refused - first < 5_000
        assert welcome - refused >= 30_000
        await chat.deliver(ANSWER, "One two three.")
        assert chat.far.texts("7") == ["One two three."]


@pytest.mark.parametrize("trouble", [ChannelTrouble.NOT_SENT, ChannelTrouble.LOST_BEFORE, ChannelTrouble.LOST_AFTER])
async def test_a_draft_that_failed_is_shown_later(tmp_path: Path, trouble: ChannelTrouble) -> None:
    troubles = iter([trouble])

    def weather(method: str) -> ChannelTrouble:
        return next(troubles, ChannelTrouble.NONE) if method == "draft" else ChannelTrouble.NONE

    async with chat_sessions(tmp_path, weather) as chat:
        await chat.grow("One")
        await chat.until(lambda: chat.called("draft") == 2)
        await chat.deliver(ANSWER, "One.")
        assert chat.drafts()[-1] == "One"
        assert chat.far.texts("7") == ["One."]


async def test_where_a_draft_is_refused_the_answer_grows_as_a_message_which_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "angelia.delivery")
    async with chat_sessions(tmp_path, channel=Refusing) as chat:
        await chat.grow("One")
        await chat.until(lambda: chat.far.texts("7") == ["One …"])
        await chat.grow(" two")
        await chat.until(lambda: chat.far.texts("7") == ["One two …"])
        await chat.deliver(ANSWER, "One two.")
        assert chat.far.texts("7") == ["One two."]
        assert chat.called("draft") == 1
        told = [record.getMessage() for record in caplog.records]
        assert told == ["chat shows no drafts in a chat, its answers grow as messages: There are no drafts here."]


async def test_an_answer_that_an_earlier_life_began_as_a_message_goes_on_as_that(tmp_path: Path) -> None:
    async with chat_sessions(tmp_path) as chat:
        number = await chat.channel.send(HERE, OutText("One …"), "k")
        shown: list[e.AnyFact] = [e.PreviewStarted(ANSWER, HERE), e.PreviewShown(ANSWER, number)]
        await chat.stores.transcript.append(TALK, shown)
        await chat.grow("One two")
        await chat.until(lambda: chat.far.texts("7") == ["One two …"])
        await chat.deliver(ANSWER, "One two.")
        assert chat.far.texts("7") == ["One two."]
        assert chat.drafts() == []


async def test_a_clock_that_is_set_back_holds_up_neither_drafts_nor_the_answer(tmp_path: Path) -> None:
    year = 365 * 86_400_000
    async with chat_sessions(tmp_path, wall=lambda now: 2 * year - now // 5_000 * 100_000) as chat:
        await chat.grow("I look.")
        await chat.passed(200)
        at = [now for method, now in chat.calls if method == "draft"]
        assert all(20_000 < later - now < 30_000 for now, later in pairwise(at))
        assert len(at) > 5
        await chat.deliver(ANSWER, "Done.")
        assert chat.far.texts("7") == ["Done."]


async def test_a_growing_message_stops_when_the_network_says_so_and_the_answer_is_edited_into_it(
    tmp_path: Path,
) -> None:
    edits = iter([ChannelTrouble.NONE, ChannelTrouble.LATER])

    def weather(method: str) -> ChannelTrouble:
        return next(edits, ChannelTrouble.NONE) if method == "edit" else ChannelTrouble.NONE

    async with chat_sessions(tmp_path, weather, capabilities=ABILITIES) as chat:
        for tries, words in enumerate(("**One", " two", " three**")):
            await chat.grow(words)
            await chat.until(lambda tries=tries: chat.called("send") + chat.called("edit") == tries + 1)  # type: ignore[misc]  # bound now
        assert chat.far.texts("7") == ["**One two** …"]
        await chat.grow(" four")
        await chat.passed(100)
        assert chat.called("edit") == 2, "an edit more, and the answer would wait as well"
        await chat.deliver(ANSWER, "**One two three** four.")
        assert chat.far.texts("7") == ["**One two three** four."]
        assert (chat.called("send"), chat.called("edit")) == (1, 3)


async def test_a_short_answer_is_not_seen_growing_where_that_is_not_worth_a_message(tmp_path: Path) -> None:
    async with chat_sessions(tmp_path, capabilities=replace(ABILITIES, grows_from=20)) as chat:
        await chat.grow("Nineteen letters it")
        await chat.passed(100)
        assert chat.far.messages == {}
        await chat.grow(" has no more.")
        await chat.until(lambda: chat.far.texts("7") == ["Nineteen letters it has no more. …"])
