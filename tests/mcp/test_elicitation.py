"""What a server asks in the middle of a call is the person's to answer, in both protocols; nobody answers for them."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from angelia.core.errors import StoreFull
from angelia.policy.verdict import AnswerServer, OfServer, VisitForServer
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.testing.tools.harness import ToolHarness, text_of
from angelia.tools.asking import NotAsked, PersonReply, Said, SaidNo
from angelia.tools.mcp.call_person import CallPerson
from angelia.tools.mcp.failures import ServerLost
from angelia.tools.mcp.server import ServerProgram, Site, given
from angelia.tools.mcp.tool import ServerTool
from angelia.tools.port import JsonArguments
from tests.mcp.asking_server import ADDRESS, Asking, Era, at_a_site
from tests.mcp.reached import only, reached

pytestmark = pytest.mark.anyio

PROGRAM = str(Path(__file__).with_name("asking_program.py"))
ERAS: tuple[Era, ...] = ("old", "new")


class Person:
    """Says what was written down beforehand, and remembers what was asked."""

    def __init__(self, *replies: str | PersonReply) -> None:
        self._replies = iter(replies)
        self.asked: list[OfServer] = []
        self.notes: list[str] = []

    async def ask(self, effect: OfServer) -> PersonReply:
        """See `AskMeanwhile`."""
        self.asked.append(effect)
        reply = next(self._replies)
        return Said(reply) if isinstance(reply, str) else reply

    @property
    def reached(self) -> CallPerson:
        """How a call reaches them."""
        return CallPerson(self.ask, self.notes.append)

    @property
    def questions(self) -> list[str]:
        """What they were asked in words."""
        return [one.question for one in self.asked if isinstance(one, AnswerServer)]


async def called(folder: Path, era: Era, tool: str, person: Person) -> tuple[str, Asking]:
    """The words of a call's result, and what the server heard."""
    asking = Asking()
    async with at_a_site(asking.server, era) as url, reached(folder, Site(url, given({}))) as (servers, _):
        result = await only(servers).call(tool, {}, lambda _: None, person.reached)
    return "".join(block.text for block in result.content if block.type == "text"), asking


@pytest.mark.parametrize("era", ERAS)
async def test_a_form_is_asked_field_by_field_and_shown_before_it_goes(tmp_path: Path, era: Era) -> None:
    person = Person("South", "forty", "40", "12", "yes", "Send it")
    said, asking = await called(tmp_path, era, "plant", person)
    assert [answer.content for answer in asking.heard] == [{"bed": "s", "depth": 12, "again": True}]
    assert said.startswith("accept")
    bed, depth, no_number, too_deep, again, review = person.questions
    assert bed.startswith("The MCP server s1 asks: Where to?\n\nBed (1 of 3)")
    assert depth.endswith("Depth (2 of 3): In centimetres. A whole number, 1 to 30. (“Do not answer” ends this.)")
    assert no_number.startswith("'forty' is no whole number.")
    assert too_deep.startswith("40 is greater than the maximum of 30.")
    assert again.endswith("Every year (3 of 3): yes unless you say otherwise.")
    assert review.endswith("Bed: South\nDepth: 12\nEvery year: yes")
    assert next(one.choices for one in person.asked if isinstance(one, AnswerServer)) == (
        "North", "South", "Do not answer",
    )  # fmt: skip


@pytest.mark.parametrize("era", ERAS)
async def test_an_optional_field_can_be_left_out_and_all_of_it_filled_in_again(tmp_path: Path, era: Era) -> None:
    person = Person("North", "1", "Leave it out", "Fill it in again", "South", "2", "no", "Send it")
    _, asking = await called(tmp_path, era, "plant", person)
    assert [answer.content for answer in asking.heard] == [{"bed": "s", "depth": 2, "again": False}]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("reply", "action", "note"),
    [
        ("Do not answer", "decline", "the person does not want to answer."),
        (SaidNo("why should I"), "decline", "the person said no: why should I."),
        (NotAsked("Nobody is here."), "cancel", "Nobody is here."),
    ],
)
async def test_who_does_not_answer_is_not_answered_for(
    tmp_path: Path, era: Era, reply: str | PersonReply, action: str, note: str
) -> None:
    person = Person(reply)
    _, asking = await called(tmp_path, era, "plant", person)
    assert [(answer.action, answer.content) for answer in asking.heard] == [(action, None)]
    assert person.notes == [f"The MCP server s1 asked “Where to?”, and got no answer: {note}"]


@pytest.mark.parametrize("era", ERAS)
async def test_an_address_is_the_persons_to_go_to_and_opened_by_nobody_else(tmp_path: Path, era: Era) -> None:
    person = Person("")
    said, _ = await called(tmp_path, era, "pay", person)
    assert person.asked == [VisitForServer("s1", ADDRESS, "Pay first.")]
    assert said == "accept: None"


async def test_a_call_that_is_refused_for_want_of_a_visit_is_made_again_after_it(tmp_path: Path) -> None:
    person = Person("")
    said, _ = await called(tmp_path, "old", "refuse", person)
    assert (person.asked, said) == ([VisitForServer("s1", ADDRESS, "Pay first.")], "paid")


async def test_the_model_is_told_of_a_question_that_nobody_could_answer(tmp_path: Path) -> None:
    asking = Asking()
    bench = ToolHarness(tmp_path, LocalSandbox(tmp_path, home=tmp_path / "own", state=tmp_path / "run"))
    async with at_a_site(asking.server, "new") as url, reached(tmp_path, Site(url, given({}))) as (servers, _):
        [plant] = [one for one in only(servers).tools if one.name == "plant"]
        outcome = await ServerTool("plant", plant, only(servers), servers.tasks).run(JsonArguments({}), bench.context())
    assert "[The MCP server s1 asked “Where to?”, and got no answer: Nobody can be asked here.]" in text_of(outcome)


async def test_a_person_may_take_longer_than_a_server_may_be_silent(tmp_path: Path) -> None:
    class Slow(Person):
        async def ask(self, effect: OfServer) -> PersonReply:
            with suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await asyncio.Event().wait()
            return await super().ask(effect)

    asking, person = Asking(), Slow("")
    async with (
        at_a_site(asking.server, "old") as url,
        reached(tmp_path, Site(url, given({})), seconds=0.3) as (servers, _),
    ):
        result = await only(servers).call("pay", {}, lambda _: None, person.reached)
    assert [block.text for block in result.content if block.type == "text"] == ["accept: None"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_question_of_a_server_that_has_gone_is_put_aside_and_its_call_is_lost(tmp_path: Path, era: Era) -> None:
    asked, put_aside = asyncio.Event(), asyncio.Event()

    async def ann(_: OfServer) -> PersonReply:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            put_aside.set()
        raise AssertionError

    number = tmp_path / "number"
    program = ServerProgram((sys.executable, PROGRAM, era, str(number)), given({}))
    async with asyncio.timeout(60), reached(tmp_path, program) as (servers, _):
        person = CallPerson(ann, lambda _: None)
        booking = asyncio.create_task(only(servers).call("book", {}, lambda _: None, person))
        await asked.wait()
        os.kill(int(number.read_text()), signal.SIGKILL)
        with pytest.raises(ServerLost, match="went away while this ran"):
            await booking
        assert put_aside.is_set()


async def test_what_asking_fails_with_is_no_fault_of_ours(tmp_path: Path) -> None:
    async def ann(_: OfServer) -> PersonReply:
        raise StoreFull("There is no room.")

    person = CallPerson(ann, lambda _: None)
    async with at_a_site(Asking().server, "new") as url, reached(tmp_path, Site(url, given({}))) as (servers, _):
        with pytest.raises(StoreFull):
            await only(servers).call("plant", {}, lambda _: None, person)
