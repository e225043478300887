"""Angelia as an MCP server: an ask is an ordinary conversation, its ending is told as it is, and nothing asks twice."""

import asyncio
from typing import Any

import mcp_types as types
import pytest
from msgspec.structs import replace

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.faces.mcp.questions import name_of
from angelia.faces.mcp.tools import TOOLS, offered
from angelia.service.app import App
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, hang, out_of_credit, say
from tests.mcp.serving import answering, served, words
from tests.python.conftest import AskModelAt, at, program
from tests.python.programs import Program

pytestmark = pytest.mark.anyio
__all__ = ["at", "program"]

ERAS = ["legacy", "auto"]


@pytest.mark.parametrize("era", ERAS)
async def test_an_ask_is_an_ordinary_conversation_and_its_answer_comes_back(
    program: Program, at: AskModelAt, era: str
) -> None:
    async with ModelServer([say("The south bed."), say("33 kg.")]) as model:
        at(model)
        async with served(program, era) as caller:
            first = await caller.call("ask", question="Which bed brought more?", key="k1")
            where = first.structured_content["conversation"]
            again = await caller.call("ask", question="How much?", conversation=where)
            facts = await caller.facts(first)
    assert (words(first), first.is_error, first.structured_content["state"]) == ("The south bed.", False, "answered")
    assert (words(again), again.structured_content["conversation"]) == ("33 kg.", where)
    said = [fact for fact in facts if isinstance(fact, e.UserSaid)]
    assert (said[0].address.door, said[0].key) == ("mcp", "k1")
    queued = {fact.id for fact in facts if isinstance(fact, e.DeliveryQueued)}
    assert queued == {fact.id for fact in facts if isinstance(fact, e.DeliverySettled)}


async def test_the_same_key_asks_nothing_twice_in_this_life_or_the_next(program: Program, at: AskModelAt) -> None:
    async with ModelServer([say("Once.")]) as model:
        at(model)
        for _ in range(2):
            async with served(program) as caller:
                for _ in range(2):
                    assert await caller.said("ask", question="Say it.", key="k1") == "Once."
                assert await caller.said("ask", key="k1") == "Once."
                other = await caller.call("ask", question="Something else.", key="k1")
                assert "used for another question; nothing was asked" in words(other)
    assert len(model.requests) == 1


async def test_what_takes_long_goes_on_and_is_waited_for_by_its_key(program: Program, at: AskModelAt) -> None:
    async with ModelServer([hang()]) as model:
        at(model)
        async with served(program) as caller:
            early = await caller.call("ask", question="Think.", key="k1", seconds=0)
            assert early.structured_content["state"] == "working"
            assert "nothing is asked twice" in words(early)
            assert "told to stop" in await caller.said("stop", key="k1")
            stopped = await caller.call("ask", key="k1")
    assert (stopped.structured_content["state"], stopped.structured_content["ending"]) == ("ended", "Cancelled")
    assert stopped.is_error


async def test_to_stop_what_has_ended_stops_no_other_ask_of_its_conversation(program: Program, at: AskModelAt) -> None:
    async with ModelServer([say("North."), hang()]) as model:
        at(model)
        async with served(program) as caller:
            first = await caller.call("ask", question="Which bed?", key="k1")
            where = first.structured_content["conversation"]
            await caller.call("ask", question="Why?", key="k2", conversation=where, seconds=0)
            assert await caller.said("stop", key="k1") == "Nothing runs."
            assert "told to stop" in await caller.said("stop", key="k2")


async def test_another_ending_is_an_error_with_its_sentence(program: Program, at: AskModelAt) -> None:
    async with ModelServer(lambda _: out_of_credit()) as model:
        at(model)
        async with served(program) as caller:
            result = await caller.call("ask", question="Which bed?")
    assert result.is_error
    assert result.structured_content["ending"] == end.OutOfCredit.__name__
    assert "credit" in words(result)


async def test_work_is_told_as_progress(program: Program, at: AskModelAt) -> None:
    told: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    async with ModelServer([call("read", {"path": "harvest.csv"}), say("South.")]) as model:
        at(model)
        async with served(program) as caller:
            await caller.client.call_tool("ask", {"question": "Which bed?"}, progress_callback=hear)
    assert any("harvest.csv" in line for line in told)


async def test_a_file_that_is_sent_is_named_with_its_copy_each_time_it_is_asked_for(
    program: Program, at: AskModelAt
) -> None:
    async with ModelServer([call("send_file", {"path": "harvest.csv"}), say("Here.")]) as model:
        at(model)
        async with served(program) as caller:
            results = [await caller.call("ask", question="Send it.", key="k1") for _ in range(2)]
    for result in results:
        [file] = result.structured_content["files"]
        assert (file["name"], file["size"]) == ("harvest.csv", 27)
    assert [path.name for path in (program.home / "outbox").iterdir()] == ["harvest.csv"]


# -- questions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("action", "content", "fact"),
    [
        ("accept", {"answer": "yes, once"}, e.ApprovalGiven),
        ("accept", {"answer": "no"}, e.ApprovalRefused),
        ("accept", None, e.ApprovalRefused),
        ("decline", None, e.ApprovalRefused),
    ],
)
async def test_a_yes_is_asked_of_the_person_at_the_client(
    program: Program, at: AskModelAt, era: str, action: Any, content: Any, fact: type[e.AnyFact]
) -> None:
    asked: list[types.ElicitRequestParams] = []

    def fill(params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params)
        return types.ElicitResult(action=action, content=content)

    async with ModelServer([call("book", {"guests": 4}), say("So be it.")]) as model:
        at(model)
        async with served(program, era, elicitation_callback=answering(fill)) as caller:
            result = await caller.call("ask", question="A table for four.")
            facts = await caller.facts(result)
    assert words(result) == "So be it."
    assert "book a table (bistro.example)?" in asked[0].message
    assert len(asked) == 1
    assert [type(one) for one in facts if isinstance(one, e.ApprovalGiven | e.ApprovalRefused)] == [fact]
    assert not [one for one in facts if isinstance(one, e.ApprovalGiven) and one.scope is not e.Scope.ONCE]
    assert ("is booked" in model.requests[1].heard.messages[-1].results[0].text) is (fact is e.ApprovalGiven)


@pytest.mark.parametrize("era", ERAS)
async def test_who_answers_after_another_door_is_told_what_was_answered(
    program: Program, at: AskModelAt, era: str
) -> None:
    async with ModelServer([call("book", {"guests": 4}), say("So be it.")]) as model:
        at(model)
        elsewhere = list[App]()

        async def late(_: object, __: types.ElicitRequestParams) -> types.ElicitResult:
            (session,) = elsewhere[0].conversations.sessions.values()
            await session.approve(session.questions()[0], by=OWNER)
            return types.ElicitResult(action="decline")

        async with served(program, era, elicitation_callback=late) as caller:
            elsewhere.append(caller.app)
            result = await caller.call("ask", question="A table for four.")
    told = "This question was answered before: yes, once, by the owner. Your answer changed nothing."
    assert words(result).splitlines() == ["So be it.", told]
    assert result.structured_content["notes"] == [told]


async def test_an_ask_that_is_refused_leaves_no_conversation_open(program: Program, at: AskModelAt) -> None:
    async with ModelServer([say("The north bed.")]) as model:
        at(model)
        async with served(program) as caller:
            await caller.said("ask", question="Which bed?", key="k1")
            assert (await caller.call("ask", question="Which tree?", key="k1")).is_error
            async with asyncio.timeout(60):
                while caller.app.conversations.sessions:  # noqa: ASYNC110 - it is left in a task of its own
                    await asyncio.sleep(0)


async def test_an_answer_is_to_the_very_arguments_that_were_shown(program: Program, at: AskModelAt) -> None:
    async with ModelServer([call("book", {"guests": 4})]) as model:
        at(model)
        async with served(program) as caller:
            facts = await caller.facts(await caller.call("ask", question="A table for four.", key="k1"))
            [asked] = [fact for fact in facts if isinstance(fact, e.ApprovalAsked)]
            assert await caller.asks.question("k1", name_of(asked))
            assert await caller.asks.question("k1", name_of(replace(asked, digest="another"))) is None
            assert await caller.asks.question("k2", name_of(asked)) is None


async def test_a_form_that_is_dismissed_leaves_the_question_open(program: Program, at: AskModelAt) -> None:
    async with ModelServer([call("book", {"guests": 4})]) as model:
        at(model)
        fill = answering(lambda _: types.ElicitResult(action="cancel"))
        async with served(program, "legacy", elicitation_callback=fill) as caller:
            result = await caller.call("ask", question="A table for four.")
    assert result.structured_content["state"] == "asks"


@pytest.mark.parametrize("era", ERAS)
async def test_the_models_own_question_is_answered_by_number_or_in_words(
    program: Program, at: AskModelAt, era: str
) -> None:
    answers = iter(["2", "the sunny one"])

    def fill(_: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"answer": next(answers)})

    steps = [call("ask_user", {"question": "Which bed?", "choices": ["north", "south"]}) for _ in range(2)]
    async with ModelServer([*steps, say("Done.")]) as model:
        at(model)
        async with served(program, era, elicitation_callback=answering(fill)) as caller:
            assert await caller.said("ask", question="Plant.") == "Done."
    heard = [model.requests[number].heard.messages[-1].results[0].text for number in (1, 2)]
    assert ["south" in heard[0], "the sunny one" in heard[1]] == [True, True]


@pytest.mark.parametrize("era", ERAS)
async def test_where_nobody_can_be_asked_the_question_stays_open_and_is_told(
    program: Program, at: AskModelAt, era: str
) -> None:
    async with ModelServer([call("ask_user", {"question": "Which bed?"}), say("North, then.")]) as model:
        at(model)
        async with served(program, era) as caller:
            result = await caller.call("ask", question="Plant.", key="k1")
            assert result.structured_content["state"] == "asks"
            assert "Which bed?" in words(result)
            assert "--resume" in words(result)
            assert (await caller.call("ask", key="k1")).structured_content["state"] == "asks"
            assert await caller.said("stop", key="k1")
            assert (await caller.call("ask", key="k1")).structured_content["ending"] == "Cancelled"


# -- reading ------------------------------------------------------------------------------------------------------


async def test_what_is_kept_can_be_read(program: Program, at: AskModelAt) -> None:
    async with ModelServer([say("Thirty-three kilograms of beans.")]) as model:
        at(model)
        async with served(program) as caller:
            asked = await caller.call("ask", question="What did the south bed bring?")
            where = asked.structured_content["conversation"]
            found = await caller.said("search_past", query="beans of the south")
            assert "Thirty-three kilograms of beans." in found
            assert "Thirty-three" in await caller.said("read_past", conversation=where, around=3)
            assert "What did the south bed bring?" in await caller.said("conversations")
            assert "sent" in await caller.said("receipts", conversation=where)
            assert await caller.said("schedule") == "Nothing is scheduled."
            assert await caller.said("notes") == "Nothing is remembered."


async def test_what_does_not_fit_is_said(program: Program, at: AskModelAt) -> None:
    async with ModelServer([]) as model:
        at(model)
        async with served(program) as caller:
            for tool, arguments, why in (
                ("search_past", {}, "The arguments do not fit"),
                ("search_past", {"query": "x", "since": "then"}, "There is no day then"),
                ("receipts", {"conversation": "none"}, "There is no conversation"),
                ("ask", {}, "There is no question"),
                ("ask", {"question": "Go on.", "conversation": "none"}, "There is no conversation"),
                ("stop", {"key": "k9"}, "Nothing was asked under the key"),
            ):
                result = await caller.call(tool, **arguments)
                assert result.is_error
                assert why in words(result)
    assert not model.requests


async def test_a_client_sees_which_tools_only_read(program: Program, at: AskModelAt) -> None:
    async with ModelServer([]) as model:
        at(model)
        async with served(program) as caller:
            listed = (await caller.client.list_tools()).tools
    changing = [tool.name for tool in listed if tool.annotations and not tool.annotations.read_only_hint]
    assert changing == ["ask", "stop"]
    assert [tool.name for tool in listed] == [tool.name for tool in TOOLS]


def test_only_some_tools_can_be_offered() -> None:
    assert [tool.name for tool in offered("ask, notes")] == ["ask", "notes"]
    with pytest.raises(BadInput, match="There is no tool sing"):
        offered("sing,ask")
    with pytest.raises(BadInput):
        offered("")
