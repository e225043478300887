"""The picture test with the official Python client, which nobody here wrote, on every wire and after a kill."""

from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import acp
from angelia.testing.model.answerers import name_the_colour
from angelia.testing.model.server import ModelServer
from tests.acp.editor import first
from tests.acp.test_clients import Client, argv
from tests.acp.test_pictures import ASKED, FORMS, PICTURES
from tests.promise.lives import WIRES, Place

pytestmark = pytest.mark.anyio

BLOCKS = [
    acp.image_block(b64encode(data).decode(), f"image/{form.lower()}")
    for data, (_, form) in zip(PICTURES, FORMS, strict=True)
]


@asynccontextmanager
async def driven(place: Place, client: Client) -> AsyncIterator[tuple[Any, Any]]:
    """The official client's view of an agent in a process of its own, and that process."""
    command, *words = argv(place)
    async with acp.spawn_agent_process(client, command, *words, env=place.env) as (agent, process):  # type: ignore[arg-type]  # the parts of a client that an agent asks for
        await agent.initialize(acp.PROTOCOL_VERSION)
        yield agent, process


async def answered(agent: Any, client: Client, session: str, *pictures: Any) -> str:
    """What is said to the question about these pictures."""
    client.updates.clear()
    ended = await agent.prompt(session, [acp.text_block(ASKED), *pictures])
    assert ended.stop_reason == "end_turn"
    return client.said()


@pytest.mark.soak(every=3)
@pytest.mark.parametrize("wire", WIRES)
async def test_each_form_and_five_at_once_are_named_also_in_a_process_after_a_kill(tmp_path: Path, wire: str) -> None:
    async with ModelServer(name_the_colour) as server:
        place, client = first(server, tmp_path, wire=wire), Client()
        cwd = str(place.workspace)
        async with driven(place, client) as (agent, process):
            session = (await agent.new_session(cwd)).session_id
            assert await answered(agent, client, session) == "IMAGE_NOT_RECEIVED"
            for block, (colour, _) in zip(BLOCKS[:4], FORMS, strict=False):
                session = (await agent.new_session(cwd)).session_id
                assert await answered(agent, client, session, block) == colour
            session = (await agent.new_session(cwd)).session_id
            assert await answered(agent, client, session, *BLOCKS) == "purple"
            process.kill()
            await process.wait()
        client = Client()
        async with driven(place, client) as (agent, _):
            await agent.load_session(cwd, session)
            assert client.said() == "purple"
            assert await answered(agent, client, session) == "purple"
    five = [sha256(data).hexdigest() for data in PICTURES]
    assert [[one.sha256 for one in request.images] for request in server.requests[-2:]] == [five, five]
