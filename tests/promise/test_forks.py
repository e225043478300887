"""A fork asks what the original asked, byte for byte, and from there on both go their own ways."""

import asyncio
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ids import ConversationId
from angelia.policy.approvers import nobody
from angelia.service.conversation.forks import fork_conversation
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.testing.model.pictures import one_colour
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests.promise.inside import Conversation, conversation
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

TURNS = 10
COLOURS = ("red", "blue", "green")


def script(request: ReceivedRequest) -> Step:
    """Looks into a file once each turn, then answers."""
    if request.heard.messages[-1].role == "user":
        return call("read", {"path": "note.txt"})
    return say(f"The answer number {request.heard.replies // 2}.")


async def tell(talk: Conversation, session: "ConversationId | None", number: int) -> ConversationId:
    """Say the words number `number`, with a picture, in a conversation, and wait for its answer."""
    conversations = talk.app.conversations
    opened = talk.session if session is None else await conversations.resume(session, door="terminal")
    if session is not None:
        await conversations.employ(opened, "openai-chat:m", approvers=nobody)
    colour = COLOURS[number % len(COLOURS)]
    path = talk.app.loaded.home.parent / f"{colour}.png"
    path.write_bytes(one_colour(colour))
    profile = talk.app.model_catalog.profile("openai-chat:m")
    attached = await talk.app.attachments.image(path, profile)
    await opened.say([Text(f"Question {number}."), *attached.parts], address=TERMINAL)
    async with asyncio.timeout(20):
        await opened.settled()
    if session is not None:
        await conversations.leave(opened)
    return opened.conversation


@pytest.mark.soak
async def test_the_next_request_of_a_fork_is_the_originals_at_thirty_places(tmp_path: Path) -> None:
    """Ten rests, twenty entries within turns: after the person's words, and after a call's result."""
    async with ModelServer(script) as server:
        place = Place(tmp_path, server)
        (place.workspace / "note.txt").write_text("of the garden")
        async with conversation(place) as talk:
            for number in range(TURNS):
                source = await tell(talk, None, number)
            original = [request.raw for request in server.requests]
            entries = await talk.app.transcript.entries(source)
            rests = [entry.seq + 1 for entry in entries if isinstance(entry.fact, e.TurnClosed)]
            asked = [entry.seq for entry in entries if isinstance(entry.fact, e.ModelAsked)]
            within = [seq - 1 for seq in asked if seq > 3]
            for at in [2, *rests[:-1], *within]:
                del server.requests[:]
                made = await fork_conversation(talk.app.transcript, source, at, talk.app.clock)
                before = sum(seq <= at for seq in asked)
                if at in rests:
                    await tell(talk, made, before // 2)
                else:
                    await _go_on(talk, made)
                assert server.requests[0].raw == original[before], at


async def _go_on(talk: Conversation, made: ConversationId) -> None:
    conversations = talk.app.conversations
    session = await conversations.resume(made, door="terminal")
    await conversations.employ(session, "openai-chat:m", approvers=nobody)
    async with asyncio.timeout(20):
        await session.settled()
    await conversations.leave(session)


async def test_two_forks_at_once_work_in_places_of_their_own(tmp_path: Path) -> None:
    async with ModelServer(script) as server:
        place = Place(tmp_path, server)
        (place.workspace / "note.txt").write_text("of the garden")
        async with conversation(place) as talk:
            source = await tell(talk, None, 0)
            made = [await fork_conversation(talk.app.transcript, source, 0, talk.app.clock) for _ in range(2)]
            await asyncio.gather(*(tell(talk, one, number) for number, one in enumerate(made, 1)))
            logs = [await talk.app.transcript.entries(one) for one in made]
            sessions = [await talk.app.conversations.resume(one, door="terminal") for one in (source, *made)]
            assert len({session.place for session in sessions}) == 3
    said = [[f.parts[0] for entry in log if isinstance(f := entry.fact, e.UserSaid)][1:] for log in logs]
    assert said == [[Text("Question 1.")], [Text("Question 2.")]]
