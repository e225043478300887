"""A channel goes to another machine while something waits for the store: nothing of it faults, stays here, or is lost.

The other machine is this one, once it has the channel again.
"""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from angelia.channels.incoming import Pressed
from angelia.core.ids import ConversationId
from angelia.faces.web.conversations.gateway_chats import GatewayChats
from angelia.service.chats.open_channel import OpenChannel, wait
from angelia.service.schedule.turns import ScheduledTurns, drive_in_chat
from angelia.store.port import StoreConnection
from angelia.store.tables.schedules import Occurrence
from angelia.testing.channels.recording_channel import FarEnd, RecordingChannel
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.chats.test_guests import RISKY, asked, met
from tests.chats.test_verbs import folder
from tests.chats.town import BEN, OPEN, Town, town
from tests.promise.pipes import pipes, write

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def held_up(life: Town) -> AsyncIterator[None]:
    """Meanwhile nobody reads the store."""
    reads, free = threading.Event(), threading.Event()

    def hold_up(_: StoreConnection) -> None:
        reads.set()
        free.wait()

    busy = asyncio.create_task(life.app.db.read(hold_up))
    await asyncio.to_thread(reads.wait)
    try:
        yield
    finally:
        free.set()
        await busy


async def at_rest(life: Town) -> ConversationId:
    """A conversation that was answered, and that nobody holds open any more."""
    await life.says("Good morning")
    await life.answered(1)
    await life.settled()
    (session,) = life.gateway.chat_sessions.open_sessions()
    await session.wait(lambda: session.at_rest)
    life.gateway.chat_sessions.let_rest_go()
    async with asyncio.timeout(30):
        while life.gateway.chat_sessions._leaving:
            await wait(None, 0.01)
    return session.conversation


def comes_back(life: Town) -> None:
    """What another machine does that takes the channel over."""
    life.channel = RecordingChannel(life.far)
    life.gateway.begin([OpenChannel(life.channel, OPEN)])


async def test_a_conversation_that_is_opened_while_its_channel_goes_is_left_to_whoever_has_it(tmp_path: Path) -> None:
    async with ModelServer([say("Hello.")]) as server, town(tmp_path, server, FarEnd()) as life:
        conversation = await at_rest(life)
        async with held_up(life):
            driving = asyncio.create_task(GatewayChats(life.gateway).drive(conversation, "chat"))
            await asyncio.sleep(0)  # it is being opened, behind the read that is held up
            await life.gateway.disconnect("chat", 0)
        assert await driving is None
        assert life.gateway.chat_sessions.open_sessions() == []


async def test_a_scheduled_turn_whose_channel_goes_before_it_is_driven_is_left_in_the_log(tmp_path: Path) -> None:
    async with ModelServer([say("Hello.")]) as server, town(tmp_path, server, FarEnd()) as life:
        conversation = await at_rest(life)
        occurrence = Occurrence(conversation, 1, 1, 1, "", conversation, 1, "", "")
        async with held_up(life):
            driving = asyncio.create_task(drive_in_chat(life.gateway, occurrence, "chat"))
            await asyncio.sleep(0)
            await life.gateway.disconnect("chat", 0)
        assert await driving is None
        assert life.gateway.chat_sessions.open_sessions() == []
        life.gateway.shared = frozenset({"chat"})
        await ScheduledTurns(life.app.clock_services.turns, life.gateway).drive(occurrence, None)
        assert len(server.requests) == 1, "somebody else's turn is driven here"


async def asks_after_its_channel_went(life: Town, server: ModelServer, go: Path) -> None:
    """The channel goes while the turn waits at `go`; its question is on its way then."""
    await server.when(lambda server: len(server.requests) == 1)
    await life.gateway.disconnect("chat", 0)
    await write(go, "go\n")
    async with asyncio.timeout(30):
        while not await life.app.outbox.pending("chat"):
            await wait(None, 0.01)


async def test_what_a_turn_asks_after_its_channel_went_is_put_by_whoever_has_it(tmp_path: Path) -> None:
    far, script = FarEnd(), [call("shell", {"command": "cat go"}), RISKY, say("Done as told.")]
    async with ModelServer(script) as server, town(tmp_path, server, far) as life:
        place = folder(life)
        place.mkdir(parents=True)
        pipes(place, "go")
        await life.says("Clean up.")
        await asks_after_its_channel_went(life, server, place / "go")
        assert asked(far, "7") == []
        comes_back(life)
        await far.when(lambda far: bool(asked(far, "7")))
        await life.says(Pressed(asked(far, "7")[0].buttons[0].value))
        await far.when(lambda far: "Done as told." in far.texts("7"))


async def test_a_members_question_goes_to_the_owner_when_the_channel_went_meanwhile(tmp_path: Path) -> None:
    far, script = FarEnd(), [call("shell", {"command": "cat go"}), RISKY, say("Done as told.")]
    async with ModelServer(script) as server, town(tmp_path, server, far) as life:
        await met(life, far)
        place = folder(life, "8")
        place.mkdir(parents=True)
        pipes(place, "go")
        await life.says("Clean up.", chat="8", sender=BEN)
        await asks_after_its_channel_went(life, server, place / "go")
        comes_back(life)
        await far.when(lambda far: bool(asked(far, "7")))
        (question,) = asked(far, "7")
        assert asked(far, "8") == []
        await life.says(Pressed(question.buttons[0].value))
        await far.when(lambda far: "Done as told." in far.texts("8"))
