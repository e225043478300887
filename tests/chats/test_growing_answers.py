"""How an answer grows in Telegram: as drafts with one person, as a message in a group and where there are no drafts."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from angelia.channels.capabilities import IncomingKind, Kind
from angelia.core.entry import Address
from angelia.testing.channels.network import Thing
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from angelia.testing.networks.telegram_schema import BotApiError
from angelia.testing.networks.telegram_server import TelegramServer
from angelia.testing.networks.telegram_world import GROUP, HERE
from tests.chats.gateway_lives import PATIENCE_S, Story, seen
from tests.nursery import Nursery
from tests.promise.pipes import pipes, write, written

pytestmark = pytest.mark.anyio

GATED = call("shell", {"command": "echo runs > runs; cat go"})


def tell(request: ReceivedRequest) -> Step:
    """Says something, is at work until somebody lets it go on, and answers."""
    last = request.heard.messages[-1]
    return say("Done.") if last.results else say("I look first.") + GATED


class Chat:
    """One chat of a gateway that runs."""

    def __init__(self, story: Story, where: Address) -> None:
        self.network, self.where = story.network, where
        self._work = story.home.with_name(f"{story.home.name}-work") / "telegram" / where.chat
        if not self._work.exists():
            self._work.mkdir(parents=True)
            pipes(self._work, "runs", "go")

    async def begin(self) -> int:
        """Somebody asks; how much had arrived before."""
        before = len(self.network.arrived)
        await self.network.bring(Thing(IncomingKind.TEXT, self.where, "Look, please."))
        await written(self._work / "runs")
        return before

    async def go_on(self) -> None:
        """The work is done, and answered."""
        answers = self.texts().count("Done.") + 1
        await write(self._work / "go", "on\n")
        await self.when(lambda: self.texts().count("Done.") == answers)

    async def when(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.network.when(holds)

    def texts(self) -> list[str]:
        """The messages that stand there."""
        return list(seen([one for one in self.network.arrived if one.chat == self.where.chat]).texts)

    def kinds(self, since: int) -> set[Kind]:
        """What arrived, but for the sign of typing."""
        return {one.kind for one in self.network.arrived[since:] if one.chat == self.where.chat} - {Kind.TYPING}


async def test_with_one_person_an_answer_grows_as_a_draft_and_elsewhere_as_a_message(tmp_path: Path) -> None:
    async with ModelServer(tell) as model, TelegramServer() as network, Nursery() as nursery:
        story = Story(tmp_path, model, network)
        (tmp_path / "life").mkdir()
        gateway = await nursery.bear(["gateway"], story.env, tmp_path / "life")
        private, group = Chat(story, HERE), Chat(story, GROUP)

        before = await private.begin()
        await private.when(lambda: network.world.drafted(HERE) == "I look first.")
        assert private.texts() == []
        await private.go_on()
        assert private.kinds(before) == {Kind.DRAFT, Kind.TEXT}
        assert network.world.drafted(HERE) == ""

        before = await group.begin()
        await group.when(lambda: group.texts() == ["I look first. …"])
        await group.go_on()
        assert (group.kinds(before), group.texts()) == ({Kind.TEXT, Kind.EDIT}, ["Done."])

        network.refuses["sendMessageDraft"] = BotApiError(404, "Not Found: method not found")
        before = await private.begin()
        await private.when(lambda: private.texts() == ["Done.", "I look first. …"])
        await private.go_on()
        assert (private.kinds(before), private.texts()) == ({Kind.TEXT, Kind.EDIT}, ["Done.", "Done."])

        gateway.kill(signal.SIGTERM)
        assert (ended := await gateway.ended()).status == 0, ended.stderr
        logged = (story.home / "angelia.log").read_text()
        assert logged.count("telegram shows no drafts in a chat") == 1
