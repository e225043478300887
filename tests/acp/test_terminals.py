"""With an editor that offers its terminal, and a person who wants it, commands run there, live."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus
from angelia.faces.acp import terminals
from angelia.faces.acp.incoming import TerminalOutput
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.acp.client_side import ClientSide
from tests.acp.editor import Editor, Refused, first
from tests.acp.test_editing import ALWAYS, results, script
from tests.acp.test_questions import PERMISSION, choose

pytestmark = pytest.mark.anyio

OURS = {"configId": "commands", "value": "editor"}


async def opened(editor: Editor, **set_to: str) -> str:
    """A session whose commands run in the editor's terminal."""
    await editor.hello(terminal=True)
    session = await editor.new()
    await editor.ask("session/set_config_option", sessionId=session, **(set_to or OURS))
    return session


def embedded(editor: Editor) -> list[str]:
    """The terminals that tool calls show, in the order in which that was said."""
    pieces = [piece for one in editor.all("tool_call_update") for piece in one.get("content", ())]
    return [piece["terminalId"] for piece in pieces if piece["type"] == "terminal"]


async def test_a_command_runs_live_in_the_editor_and_is_told_like_any_other(tmp_path: Path) -> None:
    async with ModelServer(script(call("shell", {"command": "echo from $PWD; exit 3"}))) as server:
        place, client = first(server, tmp_path), ClientSide()
        async with Editor(place, {**client.answers, **ALWAYS}) as editor:
            session = await opened(editor)
            assert await editor.prompt(session, "Go.") == "end_turn"
            assert embedded(editor) == ["term-1", "term-1"]
            last = editor.all("tool_call_update")[-1]
            assert (last["status"], last["rawOutput"]["status"]) == ("failed", "error")
            order = [message.get("method", "") for _, message in editor.wire]
            shown = next(
                at
                for at, (_, m) in enumerate(editor.wire)
                if "term-1" in str(m) and m.get("method") == "session/update"
            )
            assert order.index("terminal/create") < shown < order.index("terminal/release")
        assert (await results(place))[0] == (CallStatus.ERROR, f"from {place.workspace}\n[exit status 3]")
    assert client.shells["term-1"].released
    assert "Commands run in the editor's terminal" in server.requests[0].heard.system


def for_longest(params: dict[str, Any]) -> dict[str, Any]:
    """Yes, for as long as it can be said."""
    yes = [one["optionId"] for one in params["options"] if one["kind"].startswith("allow")]
    return {"outcome": {"outcome": "selected", "optionId": yes[-1]}}


async def test_leave_is_asked_once_and_what_is_risky_asks_all_the_same(tmp_path: Path) -> None:
    steps = [call("shell", {"command": one}) for one in ("echo one", "echo two", "true || git reset --hard")]
    async with ModelServer(script(*steps)) as server:
        place, client = first(server, tmp_path), ClientSide()
        async with Editor(place, {**client.answers, PERMISSION: for_longest}) as editor:
            assert await editor.prompt(await opened(editor), "Go.") == "end_turn"
            asked = [str(one["params"]["toolCall"]["content"]) for one in editor.asked if one["method"] == PERMISSION]
        assert [one[0] for one in await results(place)] == [CallStatus.OK] * 3
    assert len(asked) == 2
    assert "whatever you may do" in asked[0]
    assert "throws away uncommitted changes" in asked[1]


async def test_by_default_and_without_a_yes_nothing_runs_there(tmp_path: Path) -> None:
    async with ModelServer(script(call("shell", {"command": "echo hi"}))) as server:
        for name, answer in (("default", "allow_once"), ("refused", "reject_once")):
            place, client = first(server, tmp_path / name), ClientSide()
            async with Editor(place, {**client.answers, PERMISSION: choose(answer)}) as editor:
                await editor.hello(terminal=True)
                session = await editor.new()
                if name == "refused":
                    await editor.ask("session/set_config_option", sessionId=session, **OURS)
                assert await editor.prompt(session, "Go.") == "end_turn"
            [(status, _)] = await results(place)
            assert status is (CallStatus.REFUSED if name == "refused" else CallStatus.OK)
            assert client.shells == {}


async def test_what_tools_run_on_their_own_stays_in_the_sandbox(tmp_path: Path) -> None:
    async with ModelServer(script(call("find", {"pattern": "needle"}))) as server:
        place, client = first(server, tmp_path), ClientSide()
        (place.workspace / "hay").write_text("a needle\n")
        async with Editor(place, client.answers) as editor:
            assert await editor.prompt(await opened(editor), "Go.") == "end_turn"
        assert "needle" in (await results(place))[0][1]
    assert client.shells == {}


async def test_a_time_out_ends_it_there(tmp_path: Path) -> None:
    async with ModelServer(script(call("shell", {"command": "sleep 600", "seconds": 1}))) as server:
        place, client = first(server, tmp_path), ClientSide()
        async with Editor(place, {**client.answers, **ALWAYS}) as editor:
            assert await editor.prompt(await opened(editor), "Go.") == "end_turn"
        assert "[timed out after 1 s" in (await results(place))[0][1]
    assert client.shells["term-1"].process.returncode


async def test_a_stop_ends_it_there(tmp_path: Path) -> None:
    async with ModelServer(script(call("shell", {"command": "sleep 600"}))) as server:
        place, client = first(server, tmp_path), ClientSide()
        async with Editor(place, {**client.answers, **ALWAYS}) as editor:
            session = await opened(editor)
            waiting = editor.begin(session, "Go.")
            await editor.until(lambda editor: embedded(editor))
            editor.notify("session/cancel", sessionId=session)
            assert (await waiting)["stopReason"] == "cancelled"
        assert (await results(place))[0][0] is CallStatus.CANCELLED
    assert await client.shells["term-1"].process.wait() != 0


@pytest.mark.parametrize("silent", ["kill", "output", "release", "wait_for_exit"])
async def test_a_turn_whose_editor_answers_nothing_about_its_terminal_can_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: str
) -> None:
    monkeypatch.setattr(terminals, "ANSWER_S", 0.2)
    async with ModelServer(script(call("shell", {"command": "exec sleep 600"}))) as server:
        place, client = first(server, tmp_path), ClientSide()
        answers = {**client.answers, **ALWAYS}
        del answers[f"terminal/{silent}"]
        async with asyncio.timeout(60), Editor(place, answers) as editor:
            session = await opened(editor)
            waiting = editor.begin(session, "Go.")
            await editor.until(lambda editor: embedded(editor))
            editor.notify("session/cancel", sessionId=session)
            assert (await waiting)["stopReason"] == "cancelled"
        client.answers["terminal/kill"]({"terminalId": "term-1"})
        await client.shells["term-1"].reading
        await client.shells["term-1"].process.wait()


async def test_an_editor_that_leaves_while_a_command_runs_there_is_left(tmp_path: Path) -> None:
    async with ModelServer(script(call("shell", {"command": "sleep 600"}))) as server:
        place, client = first(server, tmp_path), ClientSide()
        async with asyncio.timeout(60), Editor(place, {**client.answers, **ALWAYS}) as editor:
            editor.begin(await opened(editor), "Go.")
            await editor.until(lambda editor: embedded(editor))
        client.answers["terminal/kill"]({"terminalId": "term-1"})
        await client.shells["term-1"].reading
        await client.shells["term-1"].process.wait()
        assert [status for status, _ in await results(place)] == [CallStatus.CANCELLED]
        assert not any(isinstance(fact, e.TurnClosed) for fact in await place.facts())


async def test_one_in_the_background_is_polled_there_and_its_end_is_announced(tmp_path: Path) -> None:
    waiting = "echo up; while [ ! -e go ]; do sleep 0.05; done; echo down"
    steps = by_replies(
        [
            call("shell", {"command": waiting, "background": True}),
            call("process", {"action": "poll", "id": "c4_0"}),
            say("It runs."),
            say("It has run."),
        ]
    )
    async with ModelServer(steps) as server:
        place, client = first(server, tmp_path), ClientSide()
        async with Editor(place, {**client.answers, **ALWAYS}) as editor:
            session = await opened(editor)
            assert await editor.prompt(session, "Go.") == "end_turn"
            (place.workspace / "go").touch()
            await editor.until(lambda editor: "has ended: exit status 0" in editor.text())
            assert await editor.prompt(session, "Well?") == "end_turn"
        assert any(isinstance(fact, e.WorkEnded) for fact in await place.facts())
    assert "down" in server.requests[-1].raw.decode()
    assert client.shells["term-1"].released


async def test_an_editor_that_starts_nothing_is_quoted(tmp_path: Path) -> None:
    def no(_: dict[str, Any]) -> None:
        raise Refused({"code": -32603, "message": "no more terminals"})

    async with ModelServer(script(call("shell", {"command": "echo hi"}))) as server:
        place = first(server, tmp_path)
        async with Editor(place, {"terminal/create": no, **ALWAYS}) as editor:
            assert await editor.prompt(await opened(editor), "Go.") == "end_turn"
        [(status, said)] = await results(place)
    assert status is CallStatus.ERROR
    assert "no more terminals" in said


async def test_opened_again_what_ran_there_is_told_in_words(tmp_path: Path) -> None:
    async with ModelServer(script(call("shell", {"command": "echo from afar"}))) as server:
        place, client = first(server, tmp_path), ClientSide()
        async with Editor(place, {**client.answers, **ALWAYS}) as editor:
            session = await opened(editor)
            await editor.prompt(session, "Go.")
        async with Editor(place) as editor:
            await editor.hello()
            await editor.load(session)
            assert embedded(editor) == []
            assert "from afar" in str(editor.all("tool_call_update")[-1]["content"])


@pytest.mark.parametrize(
    ("seen", "output", "truncated", "fresh"),
    [
        ("", "all of it", False, "all of it"),
        ("all ", "all of it", False, "of it"),
        ("x" * 3_000, "x" * 2_000 + "more", True, "more"),
        ("lost", "the end", True, terminals._GAP + "the end"),
        ("", "the end", True, terminals._GAP + "the end"),
    ],
)
def test_an_output_that_lost_what_nobody_had_seen_says_so(seen: str, output: str, truncated: bool, fresh: str) -> None:
    assert terminals._fresh(seen, TerminalOutput(output, truncated=truncated)) == fresh
