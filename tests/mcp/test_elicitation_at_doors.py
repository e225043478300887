"""What a server asks in the middle of a call reaches a person at the door where they are, and the model goes on."""

import asyncio
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from angelia import Agent, No, Question, Yes
from angelia.core import entry as e
from angelia.core.content import CallStatus, ToolCall
from angelia.core.ids import CallId
from angelia.faces.acp.questions import choice, in_words
from angelia.testing.channels.recording_channel import FarEnd
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests import nursery
from tests.acp.editor import Editor, first
from tests.chats.town import town
from tests.mcp.asking_server import ADDRESS, Asking, Era, at_a_site
from tests.mcp.test_real_servers import PYTHONPATH
from tests.python.conftest import AskModelAt, at, program
from tests.python.programs import Program
from tests.web.visitor import opened, visiting

pytestmark = pytest.mark.anyio
__all__ = ["at", "program"]


def settle(home: Path, url: str) -> None:
    """Write the server into the settings, which let it be used unasked."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(
        f'[mcp]\npatience = 60.0\n[mcp.servers.garden]\nurl = "{url}"\nallow = true\n', encoding="utf-8"
    )


@pytest.mark.parametrize("era", ["old", "new"])
async def test_python_answers_a_form_and_an_address(program: Program, at: AskModelAt, era: Era) -> None:
    asked: list[Question] = []

    async def approve(question: Question) -> Yes | No:
        asked.append(question)
        return Yes(answer={1: "South", 2: "12", 3: "no", 4: "Send it"}.get(len(asked), ""))

    asking = Asking()
    script = [call("garden__plant", {}), call("garden__pay", {}), say("Planted.")]
    async with at_a_site(asking.server, era) as url, ModelServer(script) as model:
        at(model)
        settle(program.home, url)
        async with Agent(**program.arguments(approve=approve)) as agent:
            answer = await agent.ask("Plant something.")
    assert answer.text == "Planted."
    assert [one.content for one in asking.heard] == [{"bed": "s", "depth": 12, "again": False}, None]
    *fields, may_use_again, visit = asked
    assert may_use_again.text.startswith("Use the tool `pay`"), "words from elsewhere are in view now"
    assert [one.choices[:1] for one in fields] == [("North",), (), ("yes",), ("Send it",)]
    said = "Go to bank.example for the MCP server garden, and say yes once you have done there what it asks for?"
    assert visit.text == said
    assert visit.whole == f"address: {ADDRESS}\nwhat for: Pay first."
    facts = await program.facts(answer.conversation)
    assert len([fact for fact in facts if isinstance(fact, e.ToolStarted)]) == 2, "no call is made twice for it"


KILLED_WHILE_ASKED = """
import asyncio
from angelia import Agent, Yes

async def approve(question):
    return Yes()

async def main():
    async with Agent(workspace="work", approve=approve) as agent, agent.conversation() as talk:
        print(talk.id, flush=True)
        await talk.ask("Plant something.")

def run():
    asyncio.run(main())
"""


async def test_after_a_kill_while_somebody_is_asked_nothing_is_called_again_and_its_end_is_unknown(
    program: Program, at: AskModelAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program.home.parent / "planting.py").write_text(KILLED_WHILE_ASKED)
    monkeypatch.chdir(program.home.parent)
    asking, waiting = Asking(), list[Question]()

    async def approve(question: Question) -> No:
        """Somebody who takes their time; until this life has looked at the call, its question is open to it, too."""
        waiting.append(question)
        try:
            return await asyncio.Future[No]()
        finally:
            waiting.remove(question)

    script = [call("garden__plant", {}), say("I shall look at the beds first.")]
    async with (
        at_a_site(asking.server, "new") as url,
        ModelServer(lambda request: script[request.heard.replies]) as model,
    ):
        at(model)
        settle(program.home, url)
        env = program.environment(model.base_url) | {"PYTHONPATH": str(program.home.parent)}
        died = await nursery.run_killed_at("tool.asked_meanwhile:1", [], env, entry="planting:run")
        assert died.status == -signal.SIGKILL
        conversation = died.stdout.split()[0]
        async with Agent(**program.arguments(approve=approve)) as agent, agent.conversation(conversation) as talk:
            answer = await talk.resume()
        [told] = model.requests[-1].heard.messages[-1].results
    assert answer.text == "I shall look at the beds first."
    assert (waiting, asking.heard) == ([], []), "the question is moot with its call"
    facts = await program.facts(conversation)
    [question] = [fact for fact in facts if isinstance(fact, e.ApprovalAsked)]
    assert question.question.startswith("The MCP server garden asks: Where to?")
    assert [fact.status for fact in facts if isinstance(fact, e.ToolFinished)] == [CallStatus.UNKNOWN]
    assert len([fact for fact in facts if isinstance(fact, e.ToolStarted)]) == 1
    assert "may or may not" in told.text


async def test_where_nobody_can_be_asked_the_server_and_the_model_hear_so(program: Program, at: AskModelAt) -> None:
    asking = Asking()
    async with at_a_site(asking.server, "new") as url, ModelServer([call("garden__plant", {}), say("Well.")]) as model:
        at(model)
        settle(program.home, url)
        async with program.agent() as agent:
            await agent.ask("Plant something.")
        [told] = model.requests[-1].heard.messages[-1].results
    assert [one.action for one in asking.heard] == ["cancel"]
    assert "The MCP server garden asked “Where to?”, and got no answer:" in told.text


def told(words: str, far: FarEnd) -> bool:
    """Whether the chat has read these words."""
    return any(words in text for text in far.texts("7"))


async def test_a_chat_is_asked_field_by_field_and_hears_the_end(tmp_path: Path) -> None:
    far, asking = FarEnd(), Asking()
    async with (
        at_a_site(asking.server, "new") as url,
        ModelServer([call("garden__plant", {}), say("Planted.")]) as model,
        town(tmp_path, model, far, sets=(f"mcp.servers.garden.url={url}", "mcp.servers.garden.allow=true")) as life,
    ):
        await life.says("Plant something.")
        for title, answer in (
            ("Bed (1 of 3)", "2"),
            ("Depth (2 of 3)", "/approve 12"),
            ("Every year", "1"),
            ("This goes", "1"),
        ):
            await far.when(partial(told, title))
            await life.says(answer)
        await far.when(lambda far: "Planted." in far.texts("7"))
    assert [one.content for one in asking.heard] == [{"bed": "s", "depth": 12, "again": True}]


@pytest.mark.parametrize("forms", [True, False])
async def test_an_editor_is_asked_by_its_forms_or_in_words(tmp_path: Path, forms: bool) -> None:
    """Without forms, what has no choices is asked in words, and the next prompt answers it."""
    asking, said = Asking(), iter(["South", "12", "yes", "Send it"])

    def choose(params: dict[str, Any]) -> dict[str, Any]:
        wanted = next(said)
        [option] = [one["optionId"] for one in params["options"] if one["name"] == wanted]
        return {"outcome": {"outcome": "selected", "optionId": option}}

    answers = {
        "elicitation/create": lambda _: {"action": "accept", "content": {"answer": next(said)}},
        "session/request_permission": choose,
    }
    async with (
        at_a_site(asking.server, "new") as url,
        ModelServer([call("garden__plant", {}), say("Planted.")]) as model,
    ):
        place = first(model, tmp_path)
        settle(place.home, url)
        async with Editor(place, answers) as editor:
            await editor.hello(**({"elicitation": {"form": {}}} if forms else {}))
            session = await editor.new()
            prompt = editor.begin(session, "Plant something.")
            if not forms:
                await prompt
                assert await editor.prompt(session, next(said)) == "end_turn"
            else:
                assert (await prompt)["stopReason"] == "end_turn"
    assert [one.content for one in asking.heard] == [{"bed": "s", "depth": 12, "again": True}]


async def test_the_page_answers_a_form_and_sends_a_prompt(tmp_path: Path) -> None:
    asking, said = Asking(), ["South", "12", "yes", "Send it"]
    script = [call("garden__plant", {}), say("Planted."), say("Planned."), say("Green.")]
    async with at_a_site(asking.server, "new") as url, ModelServer(script) as model:
        garden = {"url": url, "allow": True}
        shelf = {"command": [sys.executable, "-m", "tests.mcp.shelf"], "env": {"PYTHONPATH": PYTHONPATH}}
        servers = {"mcp.servers.garden": garden, "mcp.servers.shelf": shelf, "mcp.patience": 60.0}
        async with opened(tmp_path, model.base_url, **servers) as app, visiting(app) as page:
            conversation = await page.begun()
            await page.says(conversation, "Plant something.")
            seen = 0
            for words in said:
                asked = (await page.until(conversation, "ApprovalAsked", seen))[-1]
                seen = asked["seq"]
                answer = {"call": asked["call"], "digest": asked["digest"], "words": words}
                assert await page.said(f"/api/conversations/{conversation}/answers", answer) == {}
            closed = (await page.until(conversation, "TurnClosed", seen))[-1]
            prompt = await page.says(conversation, "/shelf:plan bed=north", "key-0002")
            assert prompt["stored"]
            told = await page.until(conversation, "TurnClosed", closed["seq"])
            at = f"/api/conversations/{conversation}/messages"
            refused = await page.post(at, {"text": "What is @shelf:shelf://attic?", "key": "key-0003"})
            assert "lists nothing at shelf://attic" in refused.json()["error"]["what"]
            await page.says(conversation, "How is @shelf:shelf://picture, then?", "key-0004")
            [read] = [
                one
                for one in await page.until(conversation, "TurnClosed", told[-1]["seq"])
                if one["kind"] == "UserSaid"
            ]
    assert [one.content for one in asking.heard] == [{"bed": "s", "depth": 12, "again": True}]
    [message] = [one for one in told if one["kind"] == "UserSaid"]
    assert message["forwarded"]
    assert read["forwarded"]
    assert (read["parts"][2]["name"], read["parts"][2]["mime"]) == ("picture", "image/png")


@pytest.mark.parametrize(("named", "literal"), [("c1_0~1", True), ("c1_0", False)])
def test_a_servers_words_are_no_markdown_where_the_models_are(named: str, literal: bool) -> None:
    """A link in them leads nowhere else than it says."""
    asked = e.ApprovalAsked(CallId(named), "[Your bank](https://evil.example)", "d", asks=e.QuestionKind.CHOICE)
    call = ToolCall(CallId("c1_0"), "garden__plant", "{}")
    for shown in (in_words(asked), str(choice(asked, call, "s", "/"))):
        assert ("```" in shown) is literal
