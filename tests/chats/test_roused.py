"""What an earlier life left open is gone on with side by side: one that hangs, or faults, holds nobody up."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.errors import StoreBusy
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.engine.machine import Rest
from angelia.service import keep_running
from angelia.service.chats import sessions
from angelia.service.conversation.runner import TurnDriver, TurnRunner
from angelia.store.log.transcript import Transcript
from angelia.testing.channels.recording_channel import FarEnd
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, hang, say
from tests.chats.town import OPEN, Town, town

pytestmark = pytest.mark.anyio

CHATS = tuple(f"{number}" for number in range(1, 4))


async def left_open(folder: Path, server: ModelServer) -> None:
    """A life in which each chat has said something that was never answered; the last chat was there last."""
    async with town(folder, server, FarEnd()) as life:
        for count, chat in enumerate(CHATS, 1):
            await life.says("Are you there?", chat=chat)
            await server.when(lambda server, count=count: len(server.requests) == count)  # type: ignore[misc]  # bound now


async def conversation_of(life: Town, chat: str) -> ConversationId:
    """Where a chat is."""
    found = await life.app.doors.conversation(e.Address("chat", chat))
    assert found is not None
    return found


async def test_a_conversation_that_hangs_at_the_start_holds_up_no_other(tmp_path: Path) -> None:
    step: list[Step] = [hang()]
    async with ModelServer(lambda _: step[0]) as server:
        await left_open(tmp_path, server)
        step[0], far = say("Here I am again."), FarEnd()
        async with town(tmp_path, server, far) as life:
            hanging = life.gateway.chat_sessions._employing.setdefault(
                await conversation_of(life, CHATS[-1]), asyncio.Lock()
            )
            async with hanging:
                for chat in CHATS[:-1]:
                    await life.answered(1, chat)
                assert far.texts(CHATS[-1]) == []
            await life.answered(1, CHATS[-1])


async def test_no_more_are_begun_at_once_than_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_ROUSED_AT_ONCE", 2)
    step: list[Step] = [hang()]
    async with ModelServer(lambda _: step[0]) as server:
        await left_open(tmp_path, server)
        step[0], far = say("Here I am again."), FarEnd()
        async with town(tmp_path, server, far) as life:
            found = life.gateway.chat_sessions
            locks = [asyncio.Lock() for _ in CHATS]
            for chat, lock in zip(CHATS, locks, strict=True):
                await lock.acquire()
                found._employing[await conversation_of(life, chat)] = lock
            for _ in range(50):  # what a third one reads before it waits is read by now
                await life.app.db.read(lambda connection: connection.execute("SELECT 1").fetchone())
            assert len(found.open_sessions()) == 2
            for lock in locks:
                lock.release()
            for chat in CHATS:
                await life.answered(1, chat)


async def test_a_fault_at_one_conversation_ends_the_start_of_no_other(tmp_path: Path) -> None:
    step: list[Step] = [hang()]
    broken = replace(OPEN, chats={CHATS[-1]: None})  # what makes it fault
    async with ModelServer(lambda _: step[0]) as server:
        await left_open(tmp_path, server)
        step[0], far = say("Here I am again."), FarEnd()
        async with town(tmp_path, server, far, settings=broken) as life:
            for chat in CHATS[:-1]:
                await life.answered(1, chat)
            await life.answered(1, CHATS[-1])
            (told,) = far.texts(CHATS[-1])
    assert told.startswith("What you wrote here is not answered yet, and is not gone on with: A fault of ours, code ")
    code = told.partition("code ")[2][:8]
    assert f"is not gone on with, code {code}" in (tmp_path / "home" / "angelia.log").read_text()


async def test_who_waits_is_told_once_why_nobody_goes_on_in_however_many_lives(tmp_path: Path) -> None:
    step: list[Step] = [hang()]
    async with ModelServer(lambda _: step[0]) as server:
        await left_open(tmp_path, server)
        step[0], far = say("Here I am again."), FarEnd()
        for _ in range(2):
            async with town(tmp_path, server, far, settings=replace(OPEN, model="nobody:none")) as life:
                for chat in CHATS:
                    await life.answered(1, chat)
                found = life.gateway.chat_sessions
                assert await found.rouse(found._dispatcher.line("chat")) == 0
                await life.settled()
                queued = [one for one in await life.facts(CHATS[0]) if isinstance(one, e.DeliveryQueued)]
                assert len(queued) == 1, "a start that fails adds nothing to what the one before has said"
        assert [len(far.texts(chat)) for chat in CHATS] == [1, 1, 1]
        assert "is not gone on with: " in far.texts(CHATS[0])[0]
        async with town(tmp_path, server, far) as life:
            for chat in CHATS:
                await life.answered(2, chat)
        assert [far.texts(chat)[-1] for chat in CHATS] == ["Here I am again."] * 3


async def test_a_turn_that_cannot_be_gone_on_with_is_stopped_all_the_same(tmp_path: Path) -> None:
    step: list[Step] = [hang()]
    async with ModelServer(lambda _: step[0]) as server:
        await left_open(tmp_path, server)
        step[0], far, chat = say("Here I am again."), FarEnd(), CHATS[0]
        async with town(tmp_path, server, far, settings=replace(OPEN, model="nobody:none")) as life:
            await life.answered(1, chat)
            await life.says("/stop", chat=chat)
            await life.answered(3, chat)
            facts = await life.facts(chat)
        assert [one.ending for one in facts if isinstance(one, e.TurnClosed)] == [end.Cancelled(OWNER)]
        assert far.texts(chat)[1:] == ["Stopping.", "Stopped. What was done so far is kept; write to go on."]


async def test_lives_that_end_within_a_request_make_the_next_one_wait_for_nothing(tmp_path: Path) -> None:
    """What our own end cuts off is no failure of the model: the pauses grew with each life, to half a minute."""
    step: list[Step] = [hang()]
    async with ModelServer(lambda _: step[0]) as server:
        for count in range(1, 5):
            async with town(tmp_path, server, FarEnd()) as life:
                if count == 1:
                    await life.says("Are you there?", chat="1")
                await server.when(lambda server, count=count: len(server.requests) == count)  # type: ignore[misc]  # bound
        step[0] = say("Here I am again.")
        async with town(tmp_path, server, FarEnd()) as life:
            await life.answered(1, "1")
            facts = await life.facts("1")
    assert len([fact for fact in facts if isinstance(fact, e.ModelFailed)]) == 4
    assert [fact for fact in facts if isinstance(fact, e.RemedyUsed)] == []


async def test_a_start_reads_the_logs_in_which_something_may_be_open_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step: list[Step] = [say("Here I am.")]
    async with ModelServer(lambda _: step[0]) as server:
        async with town(tmp_path, server, FarEnd()) as life:
            for chat in CHATS[:-1]:
                await life.says("Hello.", chat=chat)
                await life.answered(1, chat)
            await life.settled()
            step[0] = hang()
            await life.says("Are you there?", chat=CHATS[-1])
            await server.when(lambda server: len(server.requests) == len(CHATS))
            left = await conversation_of(life, CHATS[-1])
        step[0], read, far = say("Here I am again."), set[ConversationId](), FarEnd()
        whole = Transcript.entries

        async def noted(own: Transcript, conversation: ConversationId, after: int = 0) -> list[e.Entry]:
            read.add(conversation)
            return await whole(own, conversation, after)

        monkeypatch.setattr(Transcript, "entries", noted)
        async with town(tmp_path, server, far) as life:
            await life.answered(1, CHATS[-1])
    assert read == {left}


async def test_a_start_for_which_the_store_was_busy_looks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step: list[Step] = [hang()]
    async with ModelServer(lambda _: step[0]) as server:
        await left_open(tmp_path, server)
        step[0], far = say("Here I am again."), FarEnd()
        unfinished, asked = Transcript.unfinished, list[int]()

        async def busy_once(self: Transcript, among: Sequence[ConversationId]) -> Sequence[ConversationId]:
            asked.append(len(among))
            if len(asked) == 1:
                raise StoreBusy("Another process holds the database.")
            return await unfinished(self, among)

        monkeypatch.setattr(Transcript, "unfinished", busy_once)
        monkeypatch.setattr(keep_running, "AGAIN_S", 0.0)
        async with town(tmp_path, server, far) as life:
            for chat in CHATS:
                await life.answered(1, chat)
        assert len(asked) > 1


async def test_a_conversation_whose_driving_faults_is_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drive, tries = TurnRunner._drive, list[bool]()

    async def faulty_once(self: TurnRunner, driver: TurnDriver, *, expected: bool) -> Rest:
        tries.append(expected)
        if len(tries) == 2:
            raise KeyError("a fault of ours")
        return await drive(self, driver, expected=expected)

    monkeypatch.setattr(TurnRunner, "_drive", faulty_once)
    monkeypatch.setattr(keep_running, "AGAIN_S", 0.0)
    async with ModelServer(lambda _: say("Here I am.")) as server:
        async with town(tmp_path, server, far := FarEnd()) as life:
            for count in (1, 2):
                await life.says("Are you there?")
                await life.answered(count)
        assert far.texts("7") == ["Here I am."] * 2
        assert len(tries) > 2
    assert "stopped, and is tried again" in (tmp_path / "home" / "angelia.log").read_text()
