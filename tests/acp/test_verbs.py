"""Every command that an editor's menu offers, prompted there: its answer is told, and it does what it says."""

from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core import entry as e
from angelia.core.content import CallStatus
from angelia.core.principal import OWNER
from angelia.service.command_port import CommandPlace
from angelia.service.commands import menu
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.acp.editor import Editor, first
from tests.promise.pipes import pipes, write, written

pytestmark = pytest.mark.anyio

ANSWERS = (
    ("/help", "/receipts"),
    ("/model", "The model is openai-chat:m."),
    ("/models", "WINDOW"),
    ("/mode", "The mode is edit"),
    ("/status", "at rest"),
    ("/usage", "everywhere"),
    ("/context", "your words"),
    ("/pin Never touch main.", "Pinned: kept word for word"),
    ("/unpin touch", "Not pinned any more."),
    ("/compact the numbers", "Older messages are folded before the next request"),
    ("/queue Later.", "Heard."),
    ("/steer Now.", "Heard."),
    ("/stop", "Nothing is running."),
    ("/undo", "There is nothing to take back."),
    ("/notes", "Nothing is remembered here yet."),
    ("/forget 7", "There is no note 7 here."),
    ("/skills", "There are no skills here"),
    ("/prompts", "No MCP server here offers prompts."),
    ("/tree", "this conversation"),
    ("/approve", "Nothing is asked."),
    ("/deny", "Nothing is asked."),
    ("/receipts", "STATUS"),
    ("/admit", "Whom shall I let in?"),
)
"""What is prompted where nothing runs, one after another, and a part of what is told then."""


async def test_every_command_of_an_editor_is_answered_there(tmp_path: Path) -> None:
    assert {typed.split()[0].removeprefix("/") for typed, _ in ANSWERS} == set(menu(CommandPlace.EDITOR))
    async with ModelServer(lambda _: say("Heard.")) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        session = await editor.new()
        await editor.prompt(session, "hello")
        for typed, told in ANSWERS:
            before = len(editor.text())
            assert await editor.prompt(session, typed) == "end_turn"
            await editor.rest(session)
            assert told in editor.text()[before:], typed


@pytest.mark.parametrize(
    ("typed", "status"), [("/approve", CallStatus.OK), ("/deny call it b.txt", CallStatus.REFUSED)]
)
async def test_a_question_is_answered_by_a_command(tmp_path: Path, typed: str, status: CallStatus) -> None:
    steps = [call("write", {"path": "a.txt", "content": "x\n"}), say("Well then.")]
    async with ModelServer(by_replies(steps)) as server:
        place = first(server, tmp_path, sets=("policy.mode=ask",))
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            waiting = editor.begin(session, "Write.")
            await editor.until(lambda editor: editor.asked)
            assert await editor.prompt(session, typed) == "end_turn"
            assert (await waiting)["stopReason"] == "end_turn"
            assert editor.text().endswith("Well then.")
            assert any(one.get("method") == "$/cancel_request" for one in editor.said), "nobody is asked any more"
        assert [fact.status for fact in await place.facts() if isinstance(fact, e.ToolFinished)] == [status]
        assert ("call it b.txt" in server.requests[-1].raw.decode()) == (status is CallStatus.REFUSED)
        assert (place.workspace / "a.txt").exists() == (status is CallStatus.OK)


async def test_steer_is_read_at_the_next_step_and_stop_ends_the_turn(tmp_path: Path) -> None:
    steps = [call("shell", {"command": f"echo runs > {name}; cat {name}go"}) for name in ("one", "two")]
    async with ModelServer(by_replies([*steps, say("never said")])) as server:
        place = first(server, tmp_path, sets=("sandbox.confine=off",))
        pipes(place.workspace, "one", "onego", "two", "twogo")
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            waiting = editor.begin(session, "Begin.")
            await written(place.workspace / "one")
            steered = editor.begin(session, "/steer in blue, please")
            await write(place.workspace / "onego", "gone\n")
            await written(place.workspace / "two")
            assert "in blue, please" in server.requests[1].raw.decode()
            assert await editor.prompt(session, "/stop") == "end_turn"
            assert {(await one)["stopReason"] for one in (waiting, steered)} <= {"cancelled", "end_turn"}
        facts = await place.facts()
        assert [fact.ending for fact in facts if isinstance(fact, e.TurnClosed)] == [end.Cancelled(OWNER)]
