"""Opening a session again cuts nothing off: neither the turn that runs, nor what another request has opened."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus
from angelia.sandboxes.port import SandboxError
from angelia.testing.model.answerers import by_replies, echo
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.acp.editor import Editor, Refused, first, session_of_before
from tests.acp.test_questions import results

pytestmark = pytest.mark.anyio

UNTIL_GO = {"command": "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo over"}
STORY = by_replies([say("I look.") + call("shell", UNTIL_GO), say("It is over.")])


async def begun(editor: Editor) -> tuple[str, "asyncio.Future[Any]"]:
    """A session whose turn is in the middle of a command, and its prompt."""
    await editor.hello()
    session = await editor.new()
    waiting = editor.begin(session, "Look.")
    await editor.until(lambda editor: any("begun" in str(one) for one in editor.all("tool_call_update")))
    return session, waiting


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_a_running_call_goes_on_when_its_session_is_opened_again(tmp_path: Path, method: str) -> None:
    async with ModelServer(STORY) as server:
        place = first(server, tmp_path)
        async with Editor(place) as editor:
            session, waiting = await begun(editor)
            before = len(editor.updates)
            await editor.load(session, method)
            shown = editor.updates[before:]
            (place.workspace / "go").touch()
            assert (await waiting)["stopReason"] == "end_turn"
            last = editor.all("tool_call_update")[-1]
        facts = await place.facts()
    kinds = [one["update"]["sessionUpdate"] for one in shown]
    running = [one["update"] for one in shown if one["update"]["sessionUpdate"] == "tool_call_update"]
    assert kinds.count("user_message_chunk") == (method == "session/load")
    assert ["begun" in str(one["content"]) for one in running] == [True] * (method == "session/load")
    assert (last["status"], "over" in str(last["content"])) == ("completed", True)
    assert [fact.status for fact in facts if isinstance(fact, e.ToolFinished)] == [CallStatus.OK]
    assert sum(isinstance(fact, e.TurnClosed) for fact in facts) == 1


async def test_servers_named_while_a_turn_runs_wait_for_its_end(tmp_path: Path) -> None:
    server_of_theirs = {"name": "late", "command": "/bin/false", "args": [], "env": []}
    async with ModelServer(STORY) as server, Editor(first(server, tmp_path)) as editor:
        session, waiting = await begun(editor)
        named = {"sessionId": session, "cwd": str(editor.place.workspace), "mcpServers": [server_of_theirs]}
        await editor.ask("session/load", **named)
        await editor.until(lambda editor: "Load the session again after it" in editor.text())
        assert not editor.asked
        (editor.place.workspace / "go").touch()
        assert (await waiting)["stopReason"] == "end_turn"
        await editor.ask("session/load", **named)
        await editor.until(lambda editor: editor.asked)


async def test_another_folder_is_refused_and_what_runs_goes_on(tmp_path: Path) -> None:
    async with ModelServer(STORY) as server:
        place = first(server, tmp_path)
        async with Editor(place) as editor:
            session, waiting = await begun(editor)
            for method in ("session/load", "session/resume"):
                with pytest.raises(Refused, match="works in") as refused:
                    await editor.ask(method, sessionId=session, cwd=str(tmp_path), mcpServers=[])
                assert refused.value.code == -32602
            (place.workspace / "go").touch()
            assert (await waiting)["stopReason"] == "end_turn"
        assert await results(place) == [CallStatus.OK]


async def test_what_could_not_be_opened_is_not_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ModelServer(echo) as server:
        place = first(server, tmp_path)
        session = await session_of_before(place, "One")
        async with Editor(place) as editor:
            await editor.hello()

            async def gone(*_: object, **__: object) -> None:
                raise SandboxError("The container's daemon does not answer.")

            with monkeypatch.context() as broken:
                broken.setattr(editor._app.conversations, "employ", gone)
                with pytest.raises(Refused, match="daemon"):
                    await editor.load(session)
                assert not editor._agent._open
                assert session not in editor._app.conversations.sessions
                with pytest.raises(Refused) as refused:
                    await editor.prompt(session, "Two")
            assert refused.value.code == -32002
            await asyncio.gather(editor.load(session), editor.load(session))
            assert await editor.prompt(session, "Three") == "end_turn"
            assert editor.text().endswith("Three")


async def test_two_sessions_at_once_write_each_by_its_own_mode_in_its_own_folder(tmp_path: Path) -> None:
    script = by_replies(
        [call("shell", {"command": "true"}), call("write", {"path": "a.txt", "content": "x"}), say("Done.")]
    )
    async with ModelServer(script) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        folders = {"plan": tmp_path / "looked", "edit": tmp_path / "changed"}
        sessions = {}
        for mode, folder in folders.items():
            folder.mkdir()
            made = await editor.ask("session/new", cwd=str(folder), mcpServers=[])
            sessions[mode] = made["sessionId"]
            await editor.ask("session/set_mode", sessionId=made["sessionId"], modeId=mode)
        waiting = [editor.begin(session, "Write.") for session in sessions.values()]
        assert [(await one)["stopReason"] for one in waiting] == ["end_turn"] * 2
        ends = {mode: editor.all("tool_call_update", session)[-1] for mode, session in sessions.items()}
    assert (ends["plan"]["status"], ends["edit"]["status"]) == ("failed", "completed")
    assert [sorted(one.name for one in folder.iterdir()) for folder in folders.values()] == [[], ["a.txt"]]
    assert not list((tmp_path / "workspace").iterdir())
    assert ends["edit"]["content"][0]["path"] == str(folders["edit"] / "a.txt")
