"""Programs that die, share a conversation, are interrupted, or have no event loop."""

import asyncio
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from angelia import BlockingAgent, NotAnswered, Question, Yes, endings, events
from angelia.core import entry as e
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, hang, say, slowly
from tests import nursery
from tests.python.conftest import AskModelAt
from tests.python.programs import Program

pytestmark = pytest.mark.anyio


def written(program: Program, text: str) -> Path:
    """A program as a file; it is run in the folder that it works in."""
    path = program.home.parent / "program.py"
    path.write_text(textwrap.dedent(text))
    return path


ASKING = """
    import asyncio
    from angelia import Agent

    async def main():
        async with Agent(workspace="work") as agent, agent.conversation() as talk:
            print(talk.id, flush=True)
            print(await talk.ask("Count the beds."), flush=True)

    def run():
        asyncio.run(main())
"""


@pytest.mark.parametrize("point", ["tool.ran:1", "append.after_commit:3", "model.recorded:2", "delivery.shown:1"])
async def test_a_program_that_is_killed_finds_its_answer_in_the_next_one(
    program: Program, at: AskModelAt, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(program, ASKING)
    monkeypatch.chdir(program.home.parent)
    script: list[Step] = [call("shell", {"command": "echo x >> counted"}), say("Two.")]
    async with ModelServer(lambda request: script[request.heard.replies]) as server:
        at(server)
        env = program.environment(server.base_url) | {
            "PYTHONPATH": str(program.home.parent),
            "ANGELIA_CONFINE": "off",
            "ANGELIA_MODE": "autonomous",
        }
        died = await nursery.run_killed_at(point, [], env, entry="program:run")
        conversation = died.stdout.split()[0]
        settings = {"sandbox.confine": "off"}
        async with program.agent(settings=settings) as agent, agent.conversation(conversation) as talk:
            before = talk.unfinished
            answer = await talk.resume()
            after = talk.unfinished
    assert (before, after) == (True, False)
    assert answer.text == "Two."
    assert (program.work / "counted").read_text() == "x\n", "what ran once is not run again"
    facts = await program.facts(conversation)
    assert sum(isinstance(fact, e.UserSaid) for fact in facts) == 1
    assert sum(isinstance(fact, e.TurnClosed) for fact in facts) == 1


async def test_nothing_is_unfinished_after_an_answer(program: Program, at: AskModelAt) -> None:
    async with ModelServer([say("Two.")]) as server:
        at(server)
        async with program.agent() as agent, agent.conversation() as talk:
            await talk.ask("Count.")
            assert not talk.unfinished


async def test_two_programs_in_one_conversation_both_get_an_answer(
    program: Program, at: AskModelAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(program, ASKING)
    monkeypatch.chdir(program.home.parent)
    path.write_text(path.read_text() + "\nrun()\n")
    heard = asyncio.Event()

    def answer(request: object) -> Step:
        heard.set()
        return slowly(say("Both beds."), first=0.5)

    async with ModelServer(answer) as server:
        at(server)
        other = await asyncio.create_subprocess_exec(
            sys.executable, path, env=program.environment(server.base_url), stdout=subprocess.PIPE
        )
        assert other.stdout is not None
        conversation = (await other.stdout.readline()).decode().strip()
        await heard.wait()  # the other process holds the conversation now
        async with program.agent() as agent:
            ours = await agent.ask("And their names?", conversation=conversation)
        out, _ = await other.communicate()
    assert out.decode().startswith("Both beds.")
    assert "Both beds." in ours.text
    said = [fact for fact in await program.facts(conversation) if isinstance(fact, e.UserSaid)]
    assert len(said) == 2


async def test_ctrl_c_stops_the_turn_and_ends_the_program(program: Program, at: AskModelAt) -> None:
    path = written(
        program,
        """
        from angelia import BlockingAgent

        with BlockingAgent(workspace="work") as agent, agent.conversation() as talk:
            print(talk.id, flush=True)
            talk.ask("Count the beds.")
        """,
    )
    asked = asyncio.Event()

    def never(request: object) -> Step:
        asked.set()
        return hang()

    async with ModelServer(never) as server:
        running = await asyncio.create_subprocess_exec(
            sys.executable, path, cwd=program.home.parent, env=program.environment(server.base_url),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        await asked.wait()
        running.send_signal(signal.SIGINT)
        out, err = await running.communicate()
    assert err.decode().splitlines()[-1] == "KeyboardInterrupt"
    closed = [fact for fact in await program.facts(out.decode().strip()) if isinstance(fact, e.TurnClosed)]
    assert [type(fact.ending) for fact in closed] == [endings.Cancelled]


async def test_a_program_without_an_event_loop_has_the_same(program: Program, at: AskModelAt) -> None:
    asked: list[Question] = []

    def approve(question: Question) -> Yes:
        asked.append(question)
        return Yes(answer="the south one")

    def run() -> None:
        with BlockingAgent(**program.arguments(approve=approve)) as agent:
            with agent.conversation() as talk:
                with talk.stream("Which bed?") as turn:
                    seen = list(turn)
                    answer = turn.answer()
                assert "".join(one.text for one in seen if isinstance(one, events.TextArrived)) == answer.text
                assert not talk.unfinished
                assert talk.ask("Again?").conversation == talk.id == answer.conversation
            with pytest.raises(NotAnswered):
                agent.ask("And now?", conversation=answer.conversation)
            with agent.stream("Count.") as turn:
                turn.stop()
                with pytest.raises(NotAnswered) as raised:
                    turn.answer()
            assert isinstance(raised.value.ending, endings.Cancelled)

    script: list[Step] = [
        call("ask_user", {"question": "Which one do you mean?"}), say("The south bed."), say("South."), *[say("")] * 9
    ]  # fmt: skip

    def answer(request: object) -> Step:
        return script.pop(0) if script else hang()

    async with ModelServer(answer) as server:
        at(server)
        await asyncio.to_thread(run)
    assert [(question.text, question.own) for question in asked] == [("Which one do you mean?", True)]


@pytest.mark.soak
def test_a_program_needs_no_terminal(program: Program) -> None:
    path = written(
        program,
        """
        import sys

        import angelia

        assert {one.partition(".")[0] for one in sys.modules} & {"msgspec", "asyncio", "click"} == set()
        assert {one for one in sys.modules if one.startswith("angelia")} == {"angelia"}
        from angelia import *

        with BlockingAgent(workspace="work", settings={"limits.patience": 0}) as agent:
            try:
                agent.ask("Hello?")
            except NotAnswered:
                pass
        loaded = {one.partition(".")[0] for one in sys.modules}
        print(*sorted(loaded & {"prompt_toolkit", "rich", "click", "uvicorn", "pydantic"}))
        """,
    )
    env = program.environment("http://127.0.0.1:9/v1")
    run = subprocess.run(
        [sys.executable, path, "x"], cwd=program.home.parent, env=env, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == ""
