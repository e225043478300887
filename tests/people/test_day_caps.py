"""A person's and a group's cap of the day hold at every door, in a turn that is under way and over all of them."""

import asyncio
from pathlib import Path
from typing import Any

import openai
import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.entry import Usage
from angelia.core.principal import OWNER, Principal
from angelia.engine.live import Resting
from angelia.policy.approvers import owner_at
from angelia.service.conversation.terminal_delivery import TERMINAL
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.steps import Speak, Step, call, say, slowly, with_usage
from tests.delegation.family import family
from tests.store.words import answered
from tests.web.v1.programs import served

pytestmark = pytest.mark.anyio

GPT = "openai:gpt-4o"
PRICE = 250_000
"""What each request costs, millionths of a dollar: 100,000 tokens at 2.50 dollars a million."""
ASKED: dict[str, Any] = {"model": "angelia", "messages": [{"role": "user", "content": "Hello?"}]}


def priced(step: Speak) -> Speak:
    return with_usage(step, Usage(100_000, 0))


def endless(request: ReceivedRequest) -> Step:
    return priced(call("write", {"path": f"{request.heard.replies}.txt", "content": "x"}))


@pytest.mark.parametrize(
    ("sets", "what"),
    [
        (("people.owner.day_cost=1",), "the cost of owner today"),
        (("people.owner.group=house", "groups.house.day_cost=1"), "the cost of the group house today"),
        (("limits.day_cost=1",), "cost today"),
    ],
    ids=["own", "group", "home"],
)
async def test_a_turn_that_is_under_way_gets_only_what_is_left_of_the_day(
    tmp_path: Path, sets: tuple[str, ...], what: str
) -> None:
    async with family(tmp_path, endless, sets=sets, model=GPT) as (talk, server):
        app, other = talk.app, talk.app.conversations.begin(door="terminal", workspace=Path(talk.session.workspace))
        await other.say([Text("Earlier.")], address=TERMINAL)

        async def costs_meanwhile(entries: int) -> None:
            await talk.session.wait(lambda: len(talk.facts(e.ModelSaid)) >= entries)
            await app.transcript.append(other.conversation, [answered("so", cost=600_000)])

        elsewhere = asyncio.create_task(costs_meanwhile(1))
        await talk.say("Begin.")
        ending = await talk.ending()
        await elsewhere
        assert isinstance(ending, end.BudgetSpent)
        assert ending.what == what
        paid = (await app.transcript.spent(OWNER, 0)).cost
        assert 1_000_000 <= paid < 1_000_000 + PRICE
        assert paid == 600_000 + len(server.requests) * PRICE


async def test_conversations_at_once_exceed_a_persons_day_by_one_request_at_most(tmp_path: Path) -> None:
    def slow(_: ReceivedRequest) -> Step:
        return slowly(priced(say("Dear.")), first=0.3)

    sets = ("people.owner.day_cost=0.05",)
    async with family(tmp_path, slow, sets=sets, model=GPT) as (talk, server):
        folder, asked = Path(talk.session.workspace), owner_at(TERMINAL)
        others = [talk.app.conversations.begin(door="terminal", workspace=folder) for _ in range(3)]
        waits: list[str] = []
        for one in (talk.session, *others):
            one.log.live.watch(lambda event: waits.append(event.why) if isinstance(event, Resting) else None)
        for one in others:
            await talk.app.conversations.employ(one, GPT, approvers=asked)
        for one in (talk.session, *others):
            await one.say([Text("Begin.")], address=TERMINAL)
        endings = [await one.settled() for one in (talk.session, *others)]
        kinds = [type(closed.ending) for closed in endings if closed]
        assert sorted(kind.__name__ for kind in kinds) == ["Answered", "BudgetSpent", "BudgetSpent", "BudgetSpent"]
        assert len(server.requests) == 1
        assert any("requests of other conversations" in why for why in waits)


async def test_a_program_has_its_persons_models_and_their_groups_budget(tmp_path: Path) -> None:
    people = {
        "people": {"key:ide": {"group": "tools"}, "key:other": {"group": "tools"}},
        "groups": {"tools": {"day_cost": 1.0, "model": ["openai-chat:theirs"]}},
    }
    async with served(tmp_path, [say("Hello.")], **people) as (programs, model):
        async with programs.openai(await programs.key("ide")) as client:
            assert [one.id for one in (await client.models.list()).data] == ["angelia", "openai-chat:theirs"]
            await client.chat.completions.create(**ASKED)
        assert model.requests[0].heard.model == "theirs"
        [conversation] = await programs.app.transcript.conversations(OWNER)
        assert await programs.page.door.conversations.model(conversation.id) == "openai-chat:theirs"
        await programs.app.transcript.append(conversation.id, [answered("Dear.", cost=1_000_000)])
        async with programs.openai(await programs.key("other")) as client:
            with pytest.raises(openai.RateLimitError, match=r"group tools today is \$1.0000, and the cap is \$1"):
                await client.chat.completions.create(**ASKED)
        await programs.page.door.conversations.say(conversation.id, [Text("And on the page?")], "one")
        session = await programs.page.door.conversations.session(conversation.id)
        closed = await session.settled()
        assert closed is not None
        assert closed.ending == end.BudgetSpent("the cost of the group tools today", "$1.0000", "$1.0000")
        assert session.owner == Principal("key", "ide")
        assert len(model.requests) == 1
