"""Python as a door: what is asked comes back as an answer, or as an exception that says how the turn ended."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import angelia
from angelia import Act, Agent, No, NoEffect, NotAnswered, Question, Yes, endings, events, tool
from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.entry import Usage
from angelia.core.errors import BadInput, ConfigError
from angelia.core.principal import OWNER
from angelia.core.sentences import sentence
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import (
    Step,
    call,
    cut_after,
    empty,
    hang,
    out_of_credit,
    say,
    slowly,
    unknown_model,
    with_usage,
)
from tests.python.conftest import AskModelAt
from tests.python.programs import MODEL, Program

pytestmark = pytest.mark.anyio


async def test_five_lines_bring_an_answer(program: Program, at: AskModelAt) -> None:
    async with ModelServer([with_usage(say("The south bed."), Usage(input=100, output=4))]) as server:
        at(server)
        async with Agent(model=MODEL, workspace=program.work, home=program.home) as agent:
            answer = await agent.ask("Which bed brought more?", files=[program.work / "harvest.csv"])
    assert str(answer) == answer.text == "The south bed."
    assert (answer.model, answer.usage, answer.files) == (MODEL, Usage(input=100, output=4), ())
    assert answer.cost is None, "nobody knows the price of a scripted model"
    assert "south,33" in server.requests[0].heard.messages[-1].text


async def test_a_conversation_is_gone_on_with_by_its_id(program: Program, at: AskModelAt) -> None:
    async with ModelServer([say("I am Angelia."), say("As I said."), say("Who are you?")]) as server:
        at(server)
        async with program.agent() as agent:
            first = await agent.ask("Who are you?")
        async with program.agent() as agent:
            again = await agent.ask("Once more?", conversation=first.conversation)
            other = await agent.ask("Hello.")
    assert (again.text, again.conversation) == ("As I said.", first.conversation)
    assert other.conversation != first.conversation
    assert [message.text for message in server.requests[1].heard.messages][:2] == ["Who are you?", "I am Angelia."]
    assert len(server.requests[2].heard.messages) == 1


async def test_what_arrives_is_told_in_order(program: Program, at: AskModelAt) -> None:
    script = [say("I look.") + call("read", {"path": "harvest.csv"}), cut_after(say("The so and so"), 2), say("South.")]
    async with ModelServer(script) as server:
        at(server)
        async with program.agent() as agent, agent.stream("Which bed?") as turn:
            seen = [event async for event in turn]
            answer = await turn.answer()
    kinds = [type(event) for event in seen if not isinstance(event, events.Noted)]
    begun = next(event for event in seen if isinstance(event, events.CallBegan))
    ended = next(event for event in seen if isinstance(event, events.CallEnded))
    dropped = kinds.index(events.TextDropped)
    after = [event.text for event in seen[seen.index(ended) :] if isinstance(event, events.TextArrived)]
    assert events.ProgressSaid("I look.") in seen
    assert (begun.tool, ended.tool, ended.status) == ("read", "read", angelia.CallStatus.OK)
    assert "south,33" in ended.text
    assert dropped > kinds.index(events.CallEnded), "the cut reply is void, and said to be"
    assert "".join(after).endswith(answer.text)
    assert answer.text == "South."


@pytest.mark.parametrize(
    ("step", "ending"),
    [
        (out_of_credit(), endings.OutOfCredit),
        (unknown_model(), endings.ModelUnknown),
        (empty(), endings.NothingToSay),
        (say("I am on it.") + call("read", {"path": "harvest.csv"}), endings.StepLimit),
    ],
)
async def test_no_other_ending_can_be_taken_for_an_answer(
    program: Program, at: AskModelAt, step: Step, ending: type[endings.Outcome]
) -> None:
    async with ModelServer(lambda _: step) as server:
        at(server)
        async with program.agent(settings={"limits.max_steps": 5}) as agent:
            with pytest.raises(NotAnswered) as raised:
                await agent.ask("Which bed?")
            async with agent.stream("Which bed?", conversation=raised.value.conversation) as turn:
                with pytest.raises(NotAnswered):
                    [_ async for _ in turn]
    assert isinstance(raised.value.ending, ending)
    assert not hasattr(raised.value, "text"), "progress is not an answer"
    assert str(raised.value) == sentence(raised.value.ending)
    closed = [fact for fact in await program.facts(raised.value.conversation) if isinstance(fact, e.TurnClosed)]
    assert [type(fact.ending) for fact in closed] == [ending, ending]


async def test_a_file_that_the_model_sends_is_copied_and_has_its_receipt(program: Program, at: AskModelAt) -> None:
    async with ModelServer([call("send_file", {"path": "harvest.csv"}), say("Here it is.")]) as server:
        at(server)
        async with program.agent() as agent:
            answer = await agent.ask("Send me the list.")
    (file,) = answer.files
    assert (file.name, file.path.parent) == ("harvest.csv", program.home / "outbox")
    assert file.path.read_text() == (program.work / "harvest.csv").read_text()
    facts = await program.facts(answer.conversation)
    queued = {fact.id for fact in facts if isinstance(fact, e.DeliveryQueued)}
    assert queued == {fact.id for fact in facts if isinstance(fact, e.DeliverySettled)}
    assert len(queued) == 2


def _says_yes(asked: list[Question]) -> Callable[[Question], Any]:
    def approve(question: Question) -> Yes:
        assert threading.current_thread() is not threading.main_thread(), "it may wait for a person"
        asked.append(question)
        return Yes()

    return approve


@tool(effect=Act("book", "book a table", "bistro.example", "book at bistro.example", changes=True))
def book(guests: int) -> str:
    """Book a table at the bistro."""
    return f"A table for {guests} is booked."


async def test_what_needs_a_yes_is_asked_of_the_callback(program: Program, at: AskModelAt) -> None:
    asked: list[Question] = []
    async with ModelServer([call("book", {"guests": 4}), say("Done.")]) as server:
        at(server)
        async with program.agent(tools=[book], approve=_says_yes(asked)) as agent:
            await agent.ask("A table for four.")
    assert [question.text for question in asked] == ["Let the tool `book` book a table (bistro.example)?"]
    assert asked[0].remember == "act: book: book at bistro.example"
    assert server.requests[1].heard.messages[-1].results[0].text == "A table for 4 is booked."


async def test_without_a_callback_what_needs_a_yes_is_refused_and_the_model_is_told(
    program: Program, at: AskModelAt
) -> None:
    async with ModelServer([call("book", {"guests": 4}), say("I may not.")]) as server:
        at(server)
        async with program.agent(tools=[book]) as agent:
            answer = await agent.ask("A table for four.")
    assert answer.text == "I may not."
    assert "nobody is here" in server.requests[1].heard.messages[-1].results[0].text


async def test_a_callback_that_raises_stops_the_turn_and_is_raised_where_it_was_asked(
    program: Program, at: AskModelAt
) -> None:
    async def approve(question: Question) -> Yes:
        raise RuntimeError("the phone is off")

    async with ModelServer([call("book", {"guests": 4})]) as server:
        at(server)
        async with program.agent(tools=[book], approve=approve) as agent, agent.conversation() as talk:
            with pytest.raises(RuntimeError, match="the phone is off"):
                await talk.ask("A table for four.")
            conversation = talk.id
    closed = [fact for fact in await program.facts(conversation) if isinstance(fact, e.TurnClosed)]
    assert [type(fact.ending) for fact in closed] == [endings.Cancelled]


async def test_a_call_that_would_do_something_else_by_now_is_asked_about_anew_and_the_first_yes_is_no_yes_to_it(
    program: Program, at: AskModelAt
) -> None:
    """A link leads elsewhere by the time of the answer; the first question still stands in another window."""
    asked: list[str] = []
    shown: list[e.ApprovalAsked] = []
    for name in ("first", "second"):
        (program.work / name).mkdir()
    (link := program.work / "link").symlink_to("first")

    async def approve(question: Question) -> Yes | No:
        asked.append(f"{question.remember} {question.text}")
        if shown:
            with suppress(BadInput):
                await talk._session.approve(shown[0], by=OWNER)
            return No("not there")
        shown.extend(talk._session.questions())
        link.unlink()
        link.symlink_to("second")
        return Yes()

    async with ModelServer([call("write", {"path": "link/x.txt", "content": "new"}), say("I may not.")]) as server:
        at(server)
        settings = {"policy.mode": "ask"}
        async with program.agent(approve=approve, settings=settings) as agent, agent.conversation() as talk:
            assert (await talk.ask("Write it.")).text == "I may not."
    assert ["second/x.txt" in one for one in asked] == [False, True]
    assert not [*program.work.rglob("x.txt")]


async def test_a_task_that_is_cancelled_ends_the_turn_with_a_reason(program: Program, at: AskModelAt) -> None:
    async with ModelServer([hang(), say("Here again.")]) as server:
        at(server)
        async with program.agent() as agent, agent.conversation() as talk:
            asking = asyncio.create_task(talk.ask("Which bed?"))
            await server.when(lambda it: bool(it.requests))
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            facts = await program.facts(talk.id)
            assert isinstance([fact for fact in facts if isinstance(fact, e.TurnClosed)][-1].ending, endings.Cancelled)
            assert (await talk.ask("And now?")).text == "Here again."


async def test_who_leaves_a_stream_early_stops_the_turn(program: Program, at: AskModelAt) -> None:
    async with ModelServer([slowly(say("one two three"), between=60)]) as server:
        at(server)
        async with program.agent() as agent, agent.conversation() as talk:
            async with talk.stream("Count.") as turn:
                async for event in turn:
                    assert isinstance(event, events.TextArrived)
                    break
            facts = await program.facts(talk.id)
    assert isinstance([fact for fact in facts if isinstance(fact, e.TurnClosed)][-1].ending, endings.Cancelled)


async def test_questions_that_are_asked_at_once_each_get_the_answer_of_their_turn(
    program: Program, at: AskModelAt
) -> None:
    async with ModelServer(lambda request: say(f"{sum(m.role == 'user' for m in request.heard.messages)}")) as server:
        at(server)
        async with program.agent() as agent, agent.conversation() as talk:
            answers = await asyncio.gather(*(talk.ask(f"Question {number}.") for number in range(5)))
            facts = await program.facts(talk.id)
    parts = [part for fact in facts if isinstance(fact, e.UserSaid) for part in fact.parts]
    said = [part.text for part in parts if isinstance(part, Text)]
    assert sorted(said) == [f"Question {number}." for number in range(5)]
    read = [int(answers[int(question[-2])].text.split()[-1]) for question in said]
    assert all(count >= place for place, count in enumerate(read, start=1)), "an answer has read its own question"
    assert read[-1] == 5, "and whoever answers the last one has read all"


async def test_nothing_is_asked_without_a_question_or_with_a_file_that_is_not_there(
    program: Program, at: AskModelAt
) -> None:
    async with ModelServer([]) as server:
        at(server)
        async with program.agent() as agent:
            with pytest.raises(BadInput, match="There is no question"):
                await agent.ask("  ")
            with pytest.raises(BadInput, match=r"nothing\.csv"):
                await agent.ask("What is in it?", files=["nothing.csv"])
    with pytest.raises(BadInput, match="not open"):
        await agent.ask("Hello?")


async def test_a_wrong_setting_is_said_before_anything_is_opened(program: Program) -> None:
    with pytest.raises(ConfigError, match=r"policy\.mode"):
        async with program.agent(settings={"policy.mode": "wild"}):
            pass
    assert not program.home.exists()


@tool(effect=NoEffect())
def ask_user(text: str) -> str:
    """Has the name of a tool of ours."""
    return text


async def test_a_tool_whose_name_is_taken_is_told(program: Program, at: AskModelAt) -> None:
    with pytest.raises(ConfigError, match="ask_user"):
        async with program.agent(tools=[ask_user]):
            pass
