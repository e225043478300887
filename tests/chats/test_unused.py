"""Conversations that nobody uses are not held open: nothing of them is lost, and nothing that goes on is cut off."""

import asyncio
import gc
import os
import weakref
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.service.chats import sessions
from angelia.service.chats.open_channel import wait
from angelia.testing.channels.recording_channel import FarEnd
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests.chats.test_verbs import folder, said_in
from tests.chats.town import town
from tests.promise.pipes import pipes, write

pytestmark = pytest.mark.anyio


class Days:
    """A clock that stands until a test moves it."""

    now = 1_750_000_000_000

    def __call__(self) -> int:
        return self.now

    def next(self) -> None:
        """A day later."""
        self.now += sessions.UNUSED_MS


async def test_what_was_left_a_day_ago_is_let_go_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    far, days = FarEnd(), Days()
    async with (
        ModelServer(lambda request: say(f"Heard: {said_in(request)}")) as server,
        town(tmp_path, server, far, clock=days) as life,
    ):
        await life.says("My name is Ann.")
        assert (await life.answered(1))[-1] == "Heard: My name is Ann."
        first = await life.app.doors.conversation(e.Address("chat", "7"))
        assert first is not None
        await life.says("/new")
        await life.answered(2)
        assert len(life.turns()) == 2
        days.next()
        await life.says("Good morning.", chat="8")
        await life.answered(1, chat="8")
        assert len(life.turns()) == 1
        await life.says(f"/resume {first[-6:]}")
        await life.answered(3)
        await life.says("Who am I?")
        assert (await life.answered(4))[-1] == "Heard: My name is Ann., Who am I?"


async def test_what_was_let_go_takes_no_memory_any_more(tmp_path: Path) -> None:
    """Its log is what grows: nothing holds on to it, neither the model's view nor whoever watched it."""
    far, days = FarEnd(), Days()
    async with ModelServer(lambda _: say("Heard.")) as server, town(tmp_path, server, far, clock=days) as life:
        for number in range(5):
            await life.says("hello", chat=f"{number}")
            await life.answered(1, chat=f"{number}")
        logs = [weakref.ref(one.session.log) for one in life.gateway.chat_sessions._open.values()]
        assert len(logs) == 5
        days.next()
        await life.says("Good morning.", chat="8")
        await life.answered(1, chat="8")
        async with asyncio.timeout(30):
            while life.gateway.chat_sessions._leaving:
                await wait(None, 0.01)
        gc.collect()
        assert [log() for log in logs] == [None] * 5


async def test_as_many_files_are_open_on_the_sixth_day_as_on_the_third(tmp_path: Path) -> None:
    """Each day everybody begins anew, and a command runs in each conversation: what it held goes with it."""
    far, days, chats = FarEnd(), Days(), ("1", "2", "3")

    def answer(request: ReceivedRequest) -> Step:
        return say("Done.") if request.heard.replies % 2 else call("shell", {"command": "date +%N"})

    async with ModelServer(answer) as server, town(tmp_path, server, far, clock=days) as life:
        held = []
        for day in range(1, 7):
            days.next()
            for chat in chats:
                await life.says("/new", chat=chat)
                await life.says("work", chat=chat)
                await far.when(lambda far, chat=chat, day=day: far.texts(chat).count("Done.") == day)  # type: ignore[misc]  # bound now
            await life.settled()
            async with asyncio.timeout(30):
                while life.gateway.chat_sessions._leaving:
                    await wait(None, 0.01)
            held.append(len(os.listdir("/proc/self/fd")))  # noqa: PTH208 - links that lead to no path
        assert held[5] <= held[2], held


async def test_no_more_are_held_open_than_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_OPEN", 2)
    far = FarEnd()
    async with (
        ModelServer(lambda request: say(f"Heard: {said_in(request)}")) as server,
        town(tmp_path, server, far, clock=Days()) as life,
    ):
        for chat in ("1", "2", "3", "1"):
            before = len(far.texts(chat))
            await life.says(f"Hello from {chat}.", chat=chat)
            await life.answered(before + 1, chat=chat)
            assert len(life.turns()) <= 2
        assert far.texts("1")[-1] == "Heard: Hello from 1., Hello from 1."


async def test_what_goes_on_in_the_background_is_not_ended_by_a_day_of_silence(tmp_path: Path) -> None:
    far, days = FarEnd(), Days()
    behind = call("shell", {"command": "cat go", "background": True})
    script = [behind, say("It runs."), say("Good morning.")]
    async with ModelServer(script) as server, town(tmp_path, server, far, clock=days) as life:
        place = folder(life)
        place.mkdir(parents=True)
        pipes(place, "go")
        await life.says("Begin.")
        assert "It runs." in await life.answered(1)
        days.next()
        await life.says("Good morning.", chat="8")
        await life.answered(1, chat="8")
        assert len(life.turns()) == 2
        await write(place / "go", "gone\n")
        await far.when(lambda far: any("background command" in text for text in far.texts("7")))
        ended = [fact for fact in await life.facts() if isinstance(fact, e.WorkEnded)]
        assert [fact.status.value for fact in ended] == ["ok"]
