"""A photo comes in, its colour is named, a PDF goes out; killed at every crash point, nothing of it is lost.

Every occurrence of each point in `make soak`; of each name the first, the last and every twentieth otherwise.
"""

import asyncio
import re
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from angelia.core.entry import Address
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Speak, Step, slowly
from angelia.testing.networks.telegram_server import TelegramServer
from angelia.testing.networks.telegram_world import GROUP, HERE
from tests.chats.gateway_lives import Story, tell
from tests.examples import some_points
from tests.media_forks import FORKED
from tests.nursery import Nursery

pytestmark = pytest.mark.anyio

SIDE_BY_SIDE = 3
TRIES = 4
NEVER = "not reached"
GROWING = ("preview.started:1", "preview.sent:1", "preview.taken_back:1")
"""Passed in a group only."""


def growing(request: ReceivedRequest) -> Step:
    """The story's reply, piece by piece: an answer that is there at once is shown as a whole."""
    reply = tell(request)
    return slowly(reply, between=0.2) if isinstance(reply, Speak) else reply


async def lived(folder: Path, nursery: Nursery, point: str, sandbox: str, where: Address) -> list[str]:
    """What is broken after a kill at a point and a life that goes on."""
    async with ModelServer(growing if where == GROUP else tell) as model, TelegramServer() as network:
        story = Story(folder, model, network, sandbox, where)
        story.env |= FORKED
        await story.begin()
        first = await story.live(nursery, point)
        if first.status != -signal.SIGKILL:
            return [NEVER]
        told_at_once = -signal.SIGTERM if story.over else 0  # it may be told to end before it listens
        second = await story.live(nursery)
        well = second.status in (0, told_at_once)
        wrong = [] if well else [f"the second life ended with {second.status}: {second.stderr}"]
        return wrong + await story.broken()


async def test_the_story_whole(tmp_path: Path) -> None:
    async with ModelServer(tell) as model, TelegramServer() as network, Nursery() as nursery:
        story = Story(tmp_path, model, network)
        await story.begin()
        life = await story.live(nursery)
        assert life.status == 0, life.stderr
        assert await story.broken() == []
        assert "everything is stored" in life.stdout.lower()


async def test_killed_anywhere_the_story_comes_to_its_end(tmp_path: Path) -> None:
    async with Nursery() as nursery:
        async with ModelServer(tell) as model, TelegramServer() as network:
            story = Story(tmp_path / "whole", model, network)
            await story.begin()
            points = (await story.live(nursery)).passed
        assert len(points) > 60
        chosen = some_points(points)
        found = await killed_at_each(chosen, tmp_path, nursery)
    broken = {point: said for point, said in found.items() if said and said != [NEVER]}
    assert not broken, "\n".join(f"{point}: {said}" for point, said in broken.items())
    reached = [point for point, said in found.items() if said != [NEVER]]
    assert len(reached) > len(chosen) * 0.7
    # whether a draft is shown depends on how long an answer takes: `test_gateway_killed` kills at those, too
    always = {point.partition(":")[0] for point in points} - {"preview.drafted"}
    assert always <= {point.partition(":")[0] for point in reached}


@pytest.mark.soak
async def test_killed_while_its_answer_grows_as_a_message_the_story_comes_to_its_end(tmp_path: Path) -> None:
    async with Nursery() as nursery:
        found = await killed_at_each(GROWING, tmp_path, nursery, where=GROUP)
    assert [said for said in found.values() if said not in ([], [NEVER])] == []
    assert [] in found.values()


async def killed_at_each(
    points: Sequence[str], folder: Path, nursery: Nursery, sandbox: str = "", where: Address = HERE
) -> dict[str, list[str]]:
    """What is broken after a kill at each point, a few side by side; which points are passed differs a little."""
    gate = asyncio.Semaphore(SIDE_BY_SIDE)

    async def one(point: str) -> tuple[str, list[str]]:
        async with gate:
            for life in range(TRIES):
                found = await lived(folder / re.sub(r"\W", "-", point) / str(life), nursery, point, sandbox, where)
                if found != [NEVER]:
                    return point, found
        return point, [NEVER]

    return dict(await asyncio.gather(*map(one, points)))
