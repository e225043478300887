"""People steer, queue and stop a turn while it runs, also from another process."""

import asyncio
import signal
from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus
from angelia.core.principal import OWNER, Principal
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, hang, say, slowly
from tests.nursery import Nursery
from tests.promise.inside import conversation
from tests.promise.lives import PYTHON, Place
from tests.promise.pipes import is_alive, pipes, write, written

pytestmark = pytest.mark.anyio

UNCONFINED = ("sandbox.confine=off",)
ENDLESS = call("shell", {"command": "echo $$ > number; sleep 600"})


GATED = call("shell", {"command": "echo runs > runs; cat go"})
"""Says when it runs by one named pipe, and goes on when another is written."""


def roles(request: ReceivedRequest) -> list[str]:
    """Who speaks, in order."""
    return [said.role for said in request.heard.messages]


async def test_what_is_said_while_a_tool_runs_is_in_the_next_request_after_the_results(tmp_path: Path) -> None:
    async with ModelServer([GATED, say("Minded.")]) as server:
        place = Place(tmp_path, server, sets=UNCONFINED)
        pipes(place.workspace, "runs", "go")
        async with conversation(place) as chat:
            await chat.say("Begin.")
            await written(place.workspace / "runs")
            await chat.say("And mind the gap.")
            await write(place.workspace / "go", "gone\n")
            assert await chat.ending() == end.Answered()
            assert chat.words() == ["Minded."]
        assert [roles(request) for request in server.requests] == [["user"], ["user", "assistant", "tool", "user"]]
        assert server.requests[1].heard.last_words == "And mind the gap."


async def test_what_is_said_during_the_final_reply_is_answered_too(tmp_path: Path) -> None:
    script = [slowly(say("First answer."), first=0.5), say("Second answer.")]
    async with ModelServer(script) as server, conversation(Place(tmp_path, server)) as chat:
        await chat.say("Begin.")
        await server.when(lambda server: len(server.requests) == 1)
        await chat.say("One more thing.")
        assert await chat.ending() == end.Answered()
        assert len(chat.facts(e.TurnClosed)) == 1
        assert server.requests[1].heard.last_words == "One more thing."
        assert chat.words() == ["First answer.\n\nSecond answer."]


async def test_what_is_queued_waits_for_the_end_of_the_turn(tmp_path: Path) -> None:
    script = [slowly(say("First answer."), first=0.5), say("Second answer.")]
    async with ModelServer(script) as server, conversation(Place(tmp_path, server)) as chat:
        await chat.say("Begin.")
        await server.when(lambda server: len(server.requests) == 1)
        await chat.say("Afterwards.", e.Arrival.QUEUE)
        assert await chat.ending() == end.Answered()
        assert len(chat.facts(e.TurnClosed)) == 2
        assert chat.words() == ["First answer.", "Second answer."]


async def test_a_stop_ends_a_running_command_at_once(tmp_path: Path) -> None:
    async with ModelServer([ENDLESS]) as server:
        place = Place(tmp_path, server, sets=UNCONFINED)
        pipes(place.workspace, "number")
        async with conversation(place) as chat:
            await chat.say("Wait.")
            number = await written(place.workspace / "number")
            assert await chat.session.stop(OWNER)
            assert await chat.ending() == end.Cancelled(OWNER)
            assert not is_alive(int(number))
            assert [fact.status for fact in chat.facts(e.ToolFinished)] == [CallStatus.CANCELLED]
            assert chat.words() == ["Stopped. What was done so far is kept; write to go on."]


async def test_a_stop_ends_a_request_that_is_never_answered(tmp_path: Path) -> None:
    async with ModelServer([hang(), say("Here again.")]) as server, conversation(Place(tmp_path, server)) as chat:
        await chat.say("Hello?")
        await server.when(lambda server: len(server.requests) == 1)
        await chat.session.stop(OWNER)
        assert await chat.ending() == end.Cancelled(OWNER)
        await server.when(lambda server: server.open_connections == 0)
        await chat.say("Hello?")
        assert await chat.ending() == end.Answered()


async def test_one_process_drives_and_another_speaks_and_stops(tmp_path: Path) -> None:
    async with ModelServer([GATED, ENDLESS]) as server:
        place = Place(tmp_path, server, sets=UNCONFINED)
        pipes(place.workspace, "runs", "go", "number")
        driving = asyncio.create_task(place.ask("Begin."))
        await written(place.workspace / "runs")
        async with conversation(place, again=True, driven=False) as other:
            await other.say("From elsewhere.")
            await write(place.workspace / "go", "gone\n")
            number = await written(place.workspace / "number")
            await other.session.stop(Principal("telegram", "2"))
            life = await driving
        assert server.requests[1].heard.last_words == "From elsewhere."
    assert (life.status, life.stdout) == (3, "")
    assert "Stopped by telegram:2." in life.stderr
    assert not is_alive(int(number))


async def test_an_interrupt_from_the_keyboard_stops_the_turn_aloud(tmp_path: Path) -> None:
    async with ModelServer([ENDLESS]) as server:
        place = Place(tmp_path, server, sets=UNCONFINED)
        pipes(place.workspace, "number")
        words = [*PYTHON, *place.argv("Wait.")]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *words, env=place.env, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )
        number = await written(place.workspace / "number")
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
    assert (process.returncode, out) == (3, b"")
    assert b"Stopped." in err
    assert not is_alive(int(number))


async def test_an_interrupt_on_a_full_disk_says_that_nothing_is_stopped_and_a_second_one_leaves(tmp_path: Path) -> None:
    (life := tmp_path / "life").mkdir()
    async with ModelServer([hang(), say("Here again.")]) as server, Nursery() as nursery:
        place = Place(tmp_path, server)
        child = await nursery.bear(
            place.argv("Hello?"), place.env, life, entry="tests.promise.doors:on_a_disk_that_fills_up"
        )
        await server.when(lambda server: len(server.requests) == 1)
        child.kill(signal.SIGUSR1)
        child.kill(signal.SIGINT)
        await child.says("It could not be told to stop. ")
        await child.says("Ctrl-C again leaves at once; to go on then: angelia ask --resume ")
        child.kill(signal.SIGINT)
        ended = await child.ended()
        assert (ended.status, ended.stdout) == (130, "")
        assert "may not grow beyond" in ended.stderr
        assert "Traceback" not in ended.stderr
        again = await place.ask("--continue")
    assert (again.status, again.stdout) == (0, "Here again.\n")


async def test_an_interrupt_before_a_question_is_stored_leaves_at_once(tmp_path: Path) -> None:
    async with ModelServer([hang()]) as server:
        place = Place(tmp_path, server)
        run = await place.ask("Hello?", entry="tests.promise.doors:interrupted_before_it_is_heard")
    assert (run.status, run.stdout) == (130, "")


async def test_an_interrupt_in_the_first_instant_leaves_without_a_word(tmp_path: Path) -> None:
    async with ModelServer([hang()]) as server:
        place = Place(tmp_path, server)
        run = await place.ask("Hello?", entry="tests.promise.doors:interrupted_as_its_loop_is_made")
    assert (run.status, run.stdout, run.stderr.strip()) == (130, "", "")


async def test_what_runs_in_the_background_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    behind = call("shell", {"command": "echo $$ > number; sleep 600", "background": True})
    async with ModelServer([behind, slowly(say("Started."), first=0.3)]) as server:
        place = Place(tmp_path, server, sets=UNCONFINED)
        pipes(place.workspace, "number")
        number, life = await asyncio.gather(written(place.workspace / "number"), place.ask("Start it."))
    assert (life.status, life.stdout) == (0, "Started.\n")
    assert not is_alive(int(number))
