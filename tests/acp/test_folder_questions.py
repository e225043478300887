"""The instructions of a session's folder: the editor asks, no turn waits, and a yes holds from the next one on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import say
from tests.acp.editor import Editor, Refused, first
from tests.skills.folders import write_skill

pytestmark = pytest.mark.anyio

WORDS = "Use tabs, and sign with PLUM.\n```\nrm -rf /\n```"
PERMISSION = "session/request_permission"


def choose(option: str) -> Callable[[dict[str, Any]], Any]:
    """The answer with that option."""
    return lambda _: {"outcome": {"outcome": "selected", "optionId": option}}


def unable(_: dict[str, Any]) -> Any:
    """The client has no such method."""
    raise Refused({"code": -32601, "message": "Method not found"})


def told(editor: Editor) -> list[dict[str, Any]]:
    """What became of the questions."""
    return [one for one in editor.all("tool_call_update") if one["toolCallId"].startswith("folder_")]


async def answered(editor: Editor, times: int) -> None:
    """Wait until so many questions have come to their end."""
    await editor.until(lambda editor: len(told(editor)) == times)


@pytest.mark.parametrize(
    ("answer", "follows", "times"),
    [
        (choose("trust"), True, 1),
        (choose("decline"), False, 1),
        (choose("later"), False, 2),
        (lambda _: {"outcome": {"outcome": "cancelled"}}, False, 2),
        (unable, False, 2),
        (lambda _: {"nonsense": True}, False, 2),
    ],
)
async def test_only_a_clear_yes_is_a_yes_and_what_was_answered_is_not_asked_again(
    tmp_path: Path, answer: Any, follows: bool, times: int
) -> None:
    async with ModelServer(lambda _: say("Yes.")) as server:
        place = first(server, tmp_path)
        (place.workspace / "AGENTS.md").write_text(WORDS)
        async with Editor(place, {PERMISSION: answer}) as editor:
            await editor.hello()
            session = await editor.new()
            await answered(editor, 1)
            assert await editor.prompt(session, "Hello.") == "end_turn"
            other = await editor.new()
            assert await editor.prompt(other, "Hello again.") == "end_turn"
            await answered(editor, times)
        [about, *_] = [one["params"] for one in editor.asked]
        assert f"````\n{WORDS}\n````" in about["toolCall"]["content"][0]["content"]["text"]
        assert [("PLUM" in str(request.body["messages"][0])) for request in server.requests] == [follows] * 2


async def test_a_changed_file_is_told_to_the_person_and_asked_about_after_the_turn(tmp_path: Path) -> None:
    async with ModelServer(lambda _: say("Yes.")) as server:
        place = first(server, tmp_path)
        file = place.workspace / "AGENTS.md"
        file.write_text(WORDS)
        async with Editor(place, {PERMISSION: choose("trust")}) as editor:
            await editor.hello()
            session = await editor.new()
            await answered(editor, 1)
            await editor.prompt(session, "One.")
            file.write_text("Sign with PEAR.")
            await editor.prompt(session, "Two.")
            await answered(editor, 2)
            assert "AGENTS.md has changed since it was trusted" in editor.text(session)
            await editor.prompt(session, "Three.")
        shown = [str(request.body["messages"][0]) for request in server.requests]
        assert [("PLUM" in one, "PEAR" in one) for one in shown] == [(True, False), (False, False), (False, True)]


async def test_an_open_question_is_taken_back_when_the_session_is_closed(tmp_path: Path) -> None:
    async with ModelServer(lambda _: say("Yes.")) as server:
        place = first(server, tmp_path)
        (place.workspace / "AGENTS.md").write_text(WORDS)
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            await editor.until(lambda editor: len(editor.asked) == 1)
            assert await editor.prompt(session, "Hello.") == "end_turn", "no turn waits for it"
            await editor.ask("session/close", sessionId=session)
    assert "PLUM" not in str(server.requests[0].body)


async def test_an_editor_is_told_that_there_are_skills_which_nobody_has_seen(tmp_path: Path) -> None:
    async with ModelServer(lambda _: say("Yes.")) as server:
        place = first(server, tmp_path)
        write_skill(place.workspace / ".agents" / "skills", "melon")
        async with Editor(place, {}) as editor:
            await editor.hello()
            session = await editor.new()
            await editor.until(
                lambda editor: "A skill is new or changed here" in str(editor.all("agent_message_chunk"))
            )
            assert await editor.prompt(session, "Hello.") == "end_turn"
            told = [one for one in editor.all("agent_message_chunk") if "new or changed" in str(one)]
            assert len(told) == 1
            assert "angelia skills review" in str(told)
        assert "melon" not in str([request.body for request in server.requests])
