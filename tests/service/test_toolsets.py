"""Toolsets live as long as their conversation, whoever wrote them, and say what the prompt says of them."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec import Struct

from angelia.core import entry as e
from angelia.core.content import CallStatus, Text
from angelia.core.ending import Answered, Cancelled
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER, Principal
from angelia.policy.approvers import nobody
from angelia.policy.situation import Mode
from angelia.policy.verdict import Act, Effect, NoEffect
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from angelia.tools.port import ConversationContext, SandboxAccess, Tool, ToolOutcome, Traits
from tests.promise.inside import Conversation, conversation
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

LIVES: list[tuple[str, ConversationId]] = []
"""What became of every toolset of the package, in its order."""


class Bed(Struct, frozen=True):
    """Which bed."""

    number: int = 1


class Water:
    """A tool that shares its toolset's memory; what it does is for people to say yes to."""

    name = "water"
    description = "Waters a bed."
    arguments: type[Struct] = Bed
    traits = Traits()

    def __init__(self, beds: "Beds") -> None:
        self._beds = beds

    async def effects(self, arguments: Bed, context: object) -> Sequence[Effect]:
        return (Act("garden", "water a bed", f"bed {arguments.number}", "water beds", changes=True),)

    async def run(self, arguments: Bed, context: SandboxAccess) -> ToolOutcome:
        self._beds.watered.append(arguments.number)
        where = (await context.sandbox.describe()).workspace
        return ToolOutcome((Text(f"Watered {self._beds.watered} in {where}."),))


class Look(Water):
    """Does nothing to the world, and says so."""

    name = "look"

    async def effects(self, arguments: Bed, context: object) -> Sequence[Effect]:
        return (NoEffect(),)

    async def run(self, arguments: Bed, context: object) -> ToolOutcome:
        self._beds.ripe = True
        return ToolOutcome((Text("It is ripe."),))


class Silent(Look):
    """Names no effect at all."""

    name = "silent"

    async def effects(self, arguments: Bed, context: object) -> Sequence[Effect]:
        return ()


class Harvest(Look):
    """Is there once something is ripe."""

    name = "harvest"


class Beds:
    """The toolset of the package."""

    name = "garden"

    def __init__(self) -> None:
        self.watered: list[int] = []
        self.ripe = False
        self.conversation = ConversationId("")
        self._always: list[Tool] = [Water(self), Look(self), Silent(self)]
        self._harvest = Harvest(self)

    async def open(self, conversation: ConversationContext) -> None:
        self.conversation = conversation.conversation
        assert (await conversation.sandbox().describe()).workspace
        LIVES.append(("opened", self.conversation))

    async def ready(self) -> None:
        LIVES.append(("ready", self.conversation))

    def tools(self) -> Sequence[Tool]:
        return [*self._always, self._harvest] if self.ripe else self._always

    def instructions(self) -> str:
        return "Harvest what is ripe." if self.ripe else "Water in the morning."

    async def close(self) -> None:
        LIVES.append(("closed", self.conversation))


class Broken(Beds):
    """Fails where `WHERE` says."""

    name = "broken"
    where = ""

    def __init__(self) -> None:
        self.fail("made")
        super().__init__()

    def fail(self, where: str) -> None:
        if where == Broken.where:
            raise RuntimeError(f"not {where} today")

    async def open(self, conversation: ConversationContext) -> None:
        self.fail("opened")

    async def ready(self) -> None:
        self.fail("ready")

    def tools(self) -> Sequence[Tool]:
        self.fail("listed")
        return ()

    def instructions(self) -> str:
        self.fail("instructed")
        return ""

    async def close(self) -> None:
        self.fail("closed")


class Slow(Beds):
    """Is never ready."""

    name = "slow"
    waits = asyncio.Event()

    async def ready(self) -> None:
        Slow.waits.set()
        await asyncio.Event().wait()


class Lent(Beds):
    """Remembers whether it may have what is the person's."""

    name = "lent"
    given: ClassVar[dict[str, tuple[bool, bool]]] = {}

    async def open(self, conversation: ConversationContext) -> None:
        may = conversation.secrets is not None, conversation.profiles is not None
        Lent.given[conversation.conversation] = may


@pytest.fixture(autouse=True)
def lives() -> Iterator[None]:
    LIVES.clear()
    yield
    LIVES.clear()


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, *classes: type) -> None:
    """A package of a stranger's, as pip leaves it behind."""
    metadata = folder / "site" / "garden-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: garden\nVersion: 1.0\n")
    lines = "\n".join(f"{one.__name__.lower()} = {__name__}:{one.__name__}" for one in classes)
    (metadata / "entry_points.txt").write_text(f"[angelia.toolsets]\n{lines}\n")
    monkeypatch.syspath_prepend(str(folder / "site"))


@asynccontextmanager
async def talking(folder: Path, *steps: Step) -> AsyncIterator[tuple[Conversation, ModelServer]]:
    """A conversation with a model that answers by these steps."""
    async with ModelServer(by_replies(steps)) as server, conversation(Place(folder, server)) as talk:
        yield talk, server


async def turn(talk: Conversation) -> list[tuple[CallStatus, str]]:
    """One more turn, to its answer; what every call so far came to."""
    await talk.say("Go on.")
    assert isinstance(await talk.ending(), Answered)
    return [(fact.status, text(fact)) for fact in talk.facts(e.ToolFinished)]


def text(fact: e.ToolFinished) -> str:
    return "".join(part.text for part in fact.parts if isinstance(part, Text))


def offered(request: ReceivedRequest) -> set[str]:
    return {tool["function"]["name"] for tool in request.body["tools"]}


def system(request: ReceivedRequest) -> str:
    return str(request.body["messages"][0]["content"])


async def test_a_strangers_toolset_is_opened_and_closed_with_each_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, Beds)
    async with talking(tmp_path, say("Hello.")) as (talk, _):
        one = talk.session.conversation
        assert [("opened", one)] == LIVES
        other = talk.app.conversations.begin(door="terminal", workspace=Path(talk.session.workspace))
        await talk.app.conversations.employ(other, "openai-chat:m", approvers=nobody)
        await talk.app.conversations.employ(other, "openai-chat:m", approvers=nobody)  # another model: opened once
        await turn(talk)
        assert [("opened", one), ("opened", other.conversation), ("ready", one)] == LIVES
        await talk.app.conversations.leave(other)
        assert LIVES[3:] == [("closed", other.conversation)]
    assert LIVES[4:] == [("closed", one)]


async def test_what_it_says_of_its_tools_stands_in_the_prompt_and_its_tools_are_those_of_the_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, Beds)
    steps = (say("One."), say("Two."), call("look"), say("Three."), say("Four."))
    async with talking(tmp_path, *steps) as (talk, server):
        await turn(talk)
        assert "About the tools of garden:\nWater in the morning." in system(server.requests[-1])
        await turn(talk)
        assert system(server.requests[0]) == system(server.requests[1])
        assert len(talk.facts(e.SetupChanged)) == 1, "the same bytes while nothing changed"
        await turn(talk)  # it becomes ripe; a turn goes on with what it was begun with
        assert "harvest" not in offered(server.requests[-1])
        assert len(talk.facts(e.SetupChanged)) == 1
        await turn(talk)
        assert "harvest" in offered(server.requests[-1])
        assert "Harvest what is ripe." in system(server.requests[-1])
        assert len(talk.facts(e.SetupChanged)) == 2


async def test_the_rules_hold_for_a_strangers_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, Beds)
    steps = (call("silent"), say("One."), call("water"), say("Two."), call("look"), say("Three."))
    async with talking(tmp_path, *steps) as (talk, _):
        assert (await turn(talk))[-1][0] is CallStatus.REFUSED, "a call that names no effect is denied"
        talk.app.modes.choose(talk.session, Mode.PLAN)
        status, said = (await turn(talk))[-1]
        assert status is CallStatus.REFUSED
        assert "plan" in said.lower()
        assert (await turn(talk))[-1] == (CallStatus.OK, "It is ripe.")


@pytest.mark.parametrize("where", ["made", "opened", "ready", "listed", "instructed", "closed"])
async def test_one_that_fails_is_told_of_and_harms_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    install(tmp_path, monkeypatch, Beds, Broken)
    monkeypatch.setattr(Broken, "where", where)
    async with talking(tmp_path, call("look"), say("One."), say("Two.")) as (talk, server):
        assert await turn(talk) == [(CallStatus.OK, "It is ripe.")]
        await turn(talk)
        said = [fact.text for fact in talk.facts(e.SystemSaid)]
        if where == "closed":
            assert said == []
        else:
            [told] = said
            assert f"RuntimeError: not {where} today" in told
            assert told in str(server.requests[-1].body), "the model reads of it"
    assert LIVES[-1][0] == "closed", "the other one was closed all the same"


async def test_waiting_for_a_toolset_is_cut_short_by_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, Slow)
    async with talking(tmp_path, say("One.")) as (talk, _):
        await talk.say("Go on.")
        await talk.session.wait(lambda: bool(talk.session.turn.opened))
        await Slow.waits.wait()
        assert await talk.session.stop(OWNER)
        ending: Any = await talk.ending()
        assert isinstance(ending, Cancelled)


async def test_one_that_is_cancelled_as_its_tools_become_ready_leaves_nothing_that_nobody_awaited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it is; a warning of what was never awaited fails this test."""
    install(tmp_path, monkeypatch, Beds)
    async with talking(tmp_path, say("One.")) as (talk, _):
        await turn(talk)
        for rounds in range(6):
            becoming = asyncio.create_task(talk.app.conversations.toolbox(talk.session).ready())
            for _ in range(rounds):
                await asyncio.sleep(0)
            becoming.cancel()
            await asyncio.gather(becoming, return_exceptions=True)


async def test_what_a_conversation_runs_in_the_background_ends_with_it_and_is_told(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    steps = (call("shell", {"command": "sleep 1000", "background": True}), say("It runs."))
    async with talking(tmp_path, *steps) as (talk, _):
        talk.app.modes.choose(talk.session, Mode.AUTONOMOUS)
        await turn(talk)
        assert len(talk.session.behind) == 1
        await talk.app.conversations.leave(talk.session)
        await talk.session.catch_up()
        assert talk.session.behind == []
        [ended] = talk.facts(e.WorkEnded)
        assert ended.status is not CallStatus.UNKNOWN


async def test_secrets_and_logins_are_for_conversations_of_the_homes_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, Lent)
    async with talking(tmp_path, say("Hello.")) as (talk, _):
        guest = Principal("telegram", "4711")
        place = Path(talk.session.workspace)
        theirs = talk.app.conversations.begin(door="telegram", workspace=place, owner=guest)
        await talk.app.conversations.employ(theirs, "openai-chat:m", approvers=nobody)
        given = Lent.given[talk.session.conversation], Lent.given[theirs.conversation]
    assert given == ((True, True), (False, False))
