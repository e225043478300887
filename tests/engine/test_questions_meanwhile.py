"""A call that runs can ask a person, and goes on with what they say; it is never run twice for it."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.ids import question_id_in
from angelia.core.principal import ANGELIA, OWNER, Principal
from angelia.engine.caps import TurnCaps
from angelia.engine.state import Turn, advance
from angelia.policy.verdict import Allow, AnswerServer, Ask, Deny, Effect, Verdict
from angelia.service.conversation.open_questions import open_questions
from angelia.testing.logs.playbook import reply, started
from angelia.testing.model.steps import call, say
from angelia.tools.asking import NotAsked, PersonReply, Said, SaidNo
from angelia.tools.port import ToolContext, ToolOutcome
from tests.engine.driven import Driven, Probe, Words, World, driven, only_call

pytestmark = pytest.mark.anyio

NOTE = call("note", {"text": "x"})
WHICH = AnswerServer("garden", "Which bed?", ("north", "south"))


async def asks_for_servers(effects: Sequence[Effect]) -> Verdict:
    """A policy that lets calls run, and has their questions put to the owner."""
    asked = [effect.question for effect in effects if isinstance(effect, AnswerServer)]
    return Ask(asked[0], "a test", approvers=(OWNER,)) if asked else Allow("a test")


def asking(*questions: AnswerServer) -> tuple[Probe, list[PersonReply]]:
    """A tool that asks these, one after the other, and what it heard."""
    heard: list[PersonReply] = []

    async def act(_: Words, context: ToolContext) -> ToolOutcome:
        heard.extend([await context.ask(one) for one in questions])
        return ToolOutcome((Text("Done."),))

    return Probe(act=act), heard


def open_in(one: Driven) -> list[e.ApprovalAsked]:
    """What waits for somebody, as every door reads it."""
    return open_questions(advance(Turn(), one.log.entries), one.log.entries, ())


def answered(one: Driven, asked: e.ApprovalAsked) -> bool:
    """Whether a question waits no more."""
    return asked not in open_in(one)


async def until(true: Callable[[], object]) -> None:
    """Wait for something that other tasks bring about."""
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110 - there is no event for every state
            await asyncio.sleep(0.001)


async def test_each_question_waits_for_its_own_answer(tmp_path: Path) -> None:
    tool, heard = asking(WHICH, AnswerServer("garden", "How deep?"))
    async with driven(tmp_path, [NOTE, say("Good.")], World((tool,), asks_for_servers)) as one:
        await one.say("Go.")
        driving = asyncio.create_task(one.drive())
        for words in ("north", "a hand"):
            await until(lambda: open_in(one))
            [asked] = open_in(one)
            await one.log.append(e.ApprovalGiven(asked.call, asked.digest, Principal("chat", "2"), answer="nobody's"))
            await one.log.append(e.ApprovalGiven(asked.call, asked.digest, OWNER, answer=words))
            await until(partial(answered, one, asked))
        await driving
        assert heard == [Said("north"), Said("a hand")]
        asked_about = [fact.call for fact in one.facts(e.ApprovalAsked)]
        assert asked_about == [f"{only_call(one)}~1", f"{only_call(one)}~2"]
        assert (tool.ran, one.results) == (["x"], [("ok", "Done.")])
        assert not open_in(one)


async def test_a_no_is_heard_with_its_reason(tmp_path: Path) -> None:
    tool, heard = asking(WHICH)
    async with driven(tmp_path, [NOTE, say("Good.")], World((tool,), asks_for_servers)) as one:
        await one.say("Go.")
        driving = asyncio.create_task(one.drive())
        await until(lambda: open_in(one))
        await one.log.append(e.ApprovalRefused(open_in(one)[0].call, OWNER, "not today"))
        await driving
        assert (heard, one.results) == ([SaidNo("not today")], [("ok", "Done.")])


async def test_a_message_in_place_of_an_answer_makes_the_question_moot_and_is_read(tmp_path: Path) -> None:
    tool, heard = asking(WHICH)
    async with driven(tmp_path, [NOTE, say("Good.")], World((tool,), asks_for_servers)) as one:
        await one.say("Go.")
        driving = asyncio.create_task(one.drive())
        await until(lambda: open_in(one))
        await one.say("Leave it.")
        await driving
        assert [type(reply) for reply in heard] == [NotAsked]
        assert [fact.by for fact in one.facts(e.ApprovalRefused)] == [ANGELIA]
        carried = [seq for fact in one.facts(e.ModelAsked) for seq in fact.heard]
        assert len(carried) == len(one.facts(e.UserSaid)) == 2


async def test_where_nobody_can_be_asked_the_call_hears_why(tmp_path: Path) -> None:
    async def nobody(effects: Sequence[Effect]) -> Verdict:
        return Deny("nobody is here") if any(isinstance(one, AnswerServer) for one in effects) else Allow("a test")

    tool, heard = asking(WHICH)
    async with driven(tmp_path, [NOTE, say("Good.")], World((tool,), nobody)) as one:
        await one.say("Go.")
        await one.drive()
        assert (heard, one.facts(e.ApprovalAsked)) == ([NotAsked("nobody is here")], [])


async def test_a_stop_ends_a_call_that_waits_for_a_person(tmp_path: Path) -> None:
    tool, heard = asking(WHICH)
    async with driven(tmp_path, [NOTE], World((tool,), asks_for_servers)) as one:
        await one.say("Go.")
        driving = asyncio.create_task(one.drive())
        await until(lambda: open_in(one))
        await one.log.append(e.CancelAsked(OWNER))
        await driving
        assert (heard, [status for status, _ in one.results], open_in(one)) == ([], ["cancelled"], [])


async def test_a_life_that_died_while_it_asked_leaves_an_unknown_end_and_no_question(tmp_path: Path) -> None:
    tool, _ = asking(WHICH)
    async with driven(tmp_path, [say("Good.")], World((tool,), asks_for_servers)) as one:
        await one.say("Go.")
        await one.given(reply(NOTE), started(0))
        question = e.ApprovalAsked(question_id_in(only_call(one), 1), "Which bed?", "d")
        await one.log.append(question)
        assert open_in(one) == [question]
        await one.drive()
        assert ([status for status, _ in one.results], open_in(one), tool.ran) == (["unknown"], [], [])


async def test_the_time_in_which_a_person_is_asked_is_not_the_turns(tmp_path: Path) -> None:
    tool, heard = asking(WHICH)
    world = World((tool,), asks_for_servers, limits=TurnCaps(max_seconds=1))
    async with driven(tmp_path, [NOTE, say("Good.")], world) as one:
        await one.say("Go.")
        driving = asyncio.create_task(one.drive())
        await until(lambda: open_in(one))
        asked = asyncio.get_running_loop().time()
        await until(lambda: asyncio.get_running_loop().time() > asked + 1.1)
        await one.log.append(e.ApprovalGiven(open_in(one)[0].call, open_in(one)[0].digest, OWNER, answer="north"))
        await driving
        assert (heard, one.results) == ([Said("north")], [("ok", "Done.")])
