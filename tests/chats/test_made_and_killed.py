"""Pictures that are painted and texts that are spoken by programs, in a chat whose gateway is killed on the way.

Each arrives once, or is told as lost; no program runs on, and nothing of theirs lies among the temporary files.
"""

import asyncio
import re
import signal
from hashlib import sha256
from pathlib import Path

import pytest

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.service.chats.messages import AGAIN
from angelia.testing.channels.network import Thing
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from angelia.testing.model.voice_server import hum
from angelia.testing.networks.telegram_server import TelegramServer
from tests.chats.gateway_lives import Story, results_in, seen
from tests.examples import TIMES, some_points
from tests.media_forks import FORKED
from tests.nursery import Nursery
from tests.promise.pipes import ends, pipes, written
from tests.promise.test_painting import RED

pytestmark = pytest.mark.anyio

SIDE_BY_SIDE = 3
ENDED = "That is all."
ELSEWHERE = ("append.", "copy.", "inbound.", "tips.", "model.")
"""Points at which other stories die too: tried here in `make soak` alone."""
TOLD = "Angelia was interrupted while this ran."
"""What the model hears of a call that nobody knows the end of, and tells the person in its own words."""


def makes(request: ReceivedRequest) -> Step:
    """Paints, speaks, and says so; what was interrupted is not tried again."""
    names = [one.name for message in request.heard.messages for one in message.calls]
    if not names:
        return call("paint", {"prompt": "A square."})
    return call("speak", {"text": "Hello, world."}) if names[-1] == "paint" else say(ENDED)


class Made(Story):
    """A picture and a voice message, each made by a program that writes down that it ran."""

    def __init__(self, folder: Path, model: ModelServer, network: TelegramServer, paints: str = "") -> None:
        super().__init__(folder, model, network)
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        (folder / "red.png").write_bytes(RED)
        (folder / "hum.wav").write_bytes(hum("Hello, world."))
        config = self.home / "config.toml"
        paints = f"echo >> {folder}/paint; {paints} cp {folder}/red.png {{out}}; : {{prompt}}"
        speaks = f"echo >> {folder}/speak; cat {folder}/hum.wav"
        config.write_text(f'speaker = "command:{speaks}"\npainter.model = "command:{paints}"\n{config.read_text()}')
        self.env |= {**FORKED, "TMPDIR": str(self.temporary)}

    async def begin(self) -> None:
        """Somebody asks for both."""
        await self.network.bring(Thing(IncomingKind.TEXT, self.where, "Paint a square and say hello."))

    @property
    def over(self) -> bool:
        """Whether the answer is there."""
        return any(text.endswith(ENDED) for text in seen(self.network.arrived).texts)

    async def broken(self) -> list[str]:
        """Every way in which the promise does not hold."""
        now, wrong = seen(self.network.arrived), []
        results = results_in(self.model.requests[-1])
        for what, kind, result in zip(("paint", "speak"), (Kind.PHOTO, Kind.VOICE), results, strict=True):
            there = [one for one in now.files if one.kind is kind]
            if bool(there) is (TOLD in result) or len({sha256(one.data).hexdigest() for one in there}) > 1:
                wrong.append(f"{what}: {len(there)} are there, and the model was told {result!r}")
            if len(there) > 1 + sum(AGAIN in one.text for one in there):
                wrong.append(f"{what}: {len(there)} are there")
            if (noted := self.folder / what).exists() and noted.read_text() != "\n":
                wrong.append(f"{what} ran more than once")
        answers = [text for text in now.texts if ENDED in text]
        if not answers or len(answers) > 1 + sum(AGAIN in text for text in answers):
            wrong.append(f"the answer is there {len(answers)} times: {now.texts}")
        left = [str(one.relative_to(self.temporary)) for one in self.temporary.rglob("*")]
        return [*wrong, f"left behind: {left}"] if left else wrong


async def lived(folder: Path, nursery: Nursery, point: str) -> list[str]:
    """What is broken after a kill at a point and a life that goes on; nothing, where the point was not passed."""
    async with ModelServer(makes) as model, TelegramServer() as network:
        story = Made(folder, model, network)
        await story.begin()
        if (await story.live(nursery, point)).status != -signal.SIGKILL:
            return []
        await story.live(nursery)
        return await story.broken()


@pytest.mark.slow
async def test_killed_anywhere_each_arrives_once_or_is_told(tmp_path: Path) -> None:
    async with Nursery() as nursery:
        async with ModelServer(makes) as model, TelegramServer() as network:
            story = Made(tmp_path / "whole", model, network)
            await story.begin()
            points = (await story.live(nursery)).passed
            assert await story.broken() == []
        assert {"picture.came:1", "tool.finished:2", "delivery.sent:3"} <= set(points)
        gate = asyncio.Semaphore(SIDE_BY_SIDE)

        async def one(point: str) -> list[str]:
            async with gate:
                return await lived(tmp_path / re.sub(r"\W", "-", point), nursery, point)

        chosen = some_points(point for point in points if TIMES or not point.startswith(ELSEWHERE))
        found = dict(zip(chosen, await asyncio.gather(*map(one, chosen)), strict=True))
    assert {point: wrong for point, wrong in found.items() if wrong} == {}


async def test_killed_while_it_is_painted_its_program_ends_and_the_model_is_told(tmp_path: Path) -> None:
    pipes(tmp_path, "begun")
    async with Nursery() as nursery, ModelServer(makes) as model, TelegramServer() as network:
        story = Made(tmp_path / "story", model, network, paints=f"echo $$ > {tmp_path / 'begun'}; sleep 1000;")
        await story.begin()
        (place := tmp_path / "place").mkdir()
        child = await nursery.bear(["gateway"], story.env, place)
        number = int(await written(tmp_path / "begun"))
        child.kill(signal.SIGKILL)
        await child.ended()
        await asyncio.to_thread(ends, number)
        assert list(story.temporary.glob("angelia-work-*"))
        await story.live(nursery)
        assert await story.broken() == []
        assert TOLD in results_in(model.requests[-1])[0]
