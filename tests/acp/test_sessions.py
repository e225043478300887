"""Sessions are opened, listed, set up, closed and erased; many live side by side, and nothing of one is in another."""

from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from angelia.core import entry as e
from angelia.testing.model import steps
from angelia.testing.model.answerers import by_replies, echo, instant, name_the_colour
from angelia.testing.model.pictures import one_colour
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Speak, call, say, think
from tests.acp.editor import Editor, Refused, first, session_of_before
from tests.acp.test_blocks import image

pytestmark = pytest.mark.anyio


async def test_what_is_advertised_is_what_there_is(tmp_path: Path) -> None:
    async with ModelServer(instant) as server, Editor(first(server, tmp_path)) as editor:
        hello = await editor.hello()
        assert hello["protocolVersion"] == 1
        able = hello["agentCapabilities"]
        assert able["loadSession"] is True
        assert able["promptCapabilities"] == {"image": True, "audio": True, "embeddedContext": True}
        assert able["sessionCapabilities"] == {"list": {}, "resume": {}, "close": {}, "delete": {}}
        assert able["auth"] == {"logout": {}}
        assert able["mcpCapabilities"] == {"http": True, "sse": True}
        later = await editor.ask("initialize", protocolVersion=99)
        assert later["protocolVersion"] == 1


async def test_before_initialize_nothing_is_opened(tmp_path: Path) -> None:
    async with ModelServer(instant) as server, Editor(first(server, tmp_path)) as editor:
        with pytest.raises(Refused, match="initialize"):
            await editor.new()


@pytest.mark.parametrize("cwd", ["relative", "/no/such/folder", "", "/etc/passwd", "/a\0b", f"/{'n' * 300}"])
async def test_a_session_needs_the_absolute_path_of_a_folder(tmp_path: Path, cwd: str) -> None:
    async with ModelServer(instant) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        with pytest.raises(Refused, match="folder") as refused:
            await editor.ask("session/new", cwd=cwd, mcpServers=[])
        assert refused.value.code == -32602


async def test_folders_that_are_not_to_be_had_are_said(tmp_path: Path) -> None:
    async with ModelServer(instant) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        cwd = str(editor.place.workspace)
        await editor.ask("session/new", cwd=cwd, mcpServers=[], additionalDirectories=["/elsewhere"])
        await editor.until(lambda editor: "/elsewhere" in editor.text())
        assert "Not opened" in editor.text()


UNKNOWN: dict[str, dict[str, Any]] = {
    "session/prompt": {"prompt": [{"type": "text", "text": "x"}]},
    "session/set_mode": {"modeId": "edit"},
    "session/set_config_option": {"configId": "mode", "value": "edit"},
    "session/close": {},
    "session/delete": {},
    "session/load": {"cwd": "/", "mcpServers": []},
    "session/resume": {"cwd": "/"},
}


@pytest.mark.parametrize("method", UNKNOWN)
async def test_an_unknown_session_is_not_found(tmp_path: Path, method: str) -> None:
    async with ModelServer(instant) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        with pytest.raises(Refused) as refused:
            await editor.ask(method, sessionId="nothing", **UNKNOWN[method])
        assert refused.value.code == -32002


STORY = by_replies(
    [
        think("A picture.") + say("I write it down.") + call("write", {"path": "colour.txt", "content": "orange\n"}),
        call("todo", {"items": [{"text": "Write", "status": "done"}]}),
        say("It is orange."),
    ]
)


async def test_load_tells_the_whole_conversation_again(tmp_path: Path) -> None:
    orange = one_colour("orange")
    async with ModelServer(STORY) as server:
        place = first(server, tmp_path)
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            await editor.prompt(session, "Which colour?", image(orange))
            lived = editor.text()
        async with Editor(place) as editor:
            await editor.hello()
            loaded = await editor.load(session)
            assert loaded["modes"]["currentModeId"] == "edit"
            assert editor.text() == lived == "I write it down.It is orange."
            assert editor.text(kind="agent_thought_chunk").endswith("A picture.")
            told = [one["content"] for one in editor.all("user_message_chunk")]
            assert told[0] == {"type": "text", "text": "Which colour?"}
            assert b64decode(told[1]["data"]) == orange
            assert [one["title"] for one in editor.all("tool_call")] == ["write colour.txt", "note the plan (1 item)"]
            written = editor.all("tool_call_update")[0]
            assert written["content"][0]["newText"] == "orange\n"
            assert editor.all("plan")[0]["entries"][0]["status"] == "completed"
            assert editor.all("session_info_update")[0]["title"] == "Which colour?"
            order = [kind for kind in editor.kinds() if kind in ("user_message_chunk", "tool_call")]
            assert order == ["user_message_chunk"] * 2 + ["tool_call"] * 2
            before = len(editor.updates)
            await editor.load(session)
            assert editor.kinds()[before : before + 2] == ["user_message_chunk"] * 2


async def test_resume_tells_nothing_and_goes_on(tmp_path: Path) -> None:
    async with ModelServer(echo) as server:
        place = first(server, tmp_path)
        session = await session_of_before(place, "One")
        async with Editor(place) as editor:
            await editor.hello()
            await editor.load(session, "session/resume")
            assert "user_message_chunk" not in editor.kinds()
            assert await editor.prompt(session, "Two") == "end_turn"
            assert editor.text() == "Two"
        assert server.requests[-1].heard.replies == 1


async def test_a_session_belongs_to_its_folder(tmp_path: Path) -> None:
    async with ModelServer(instant) as server:
        place = first(server, tmp_path)
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            await editor.prompt(session, "One")
            await editor.ask("session/close", sessionId=session)
            with pytest.raises(Refused, match="works in"):
                await editor.ask("session/load", sessionId=session, cwd=str(tmp_path), mcpServers=[])
            await editor.load(session)


async def test_sessions_are_listed_in_pages_the_last_used_first(tmp_path: Path) -> None:
    async with ModelServer(instant) as server:
        place = first(server, tmp_path)
        other = tmp_path / "other"
        other.mkdir()
        async with Editor(place) as editor:
            await editor.hello()
            for number in range(55):
                folder = other if number % 5 == 0 else place.workspace
                made = await editor.ask("session/new", cwd=str(folder), mcpServers=[])
                await editor.prompt(made["sessionId"], f"Number {number}")
            page = await editor.ask("session/list")
            rest = await editor.ask("session/list", cursor=page["nextCursor"])
            here = await editor.ask("session/list", cwd=str(other))
            with pytest.raises(Refused):
                await editor.ask("session/list", cursor="elsewhere")
    listed = [*page["sessions"], *rest["sessions"]]
    assert (len(page["sessions"]), rest.get("nextCursor")) == (50, None)
    assert [one["title"] for one in listed] == [f"Number {n}" for n in reversed(range(55))]
    assert [one["title"] for one in here["sessions"]] == [f"Number {n}" for n in range(50, -1, -5)]
    assert all(one["updatedAt"].endswith("+00:00") for one in listed)


async def test_close_stops_what_runs_and_lets_go(tmp_path: Path) -> None:
    async with ModelServer(lambda _: steps.hang()) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        session = await editor.new()
        waiting = editor.begin(session, "Go")
        await server.when(lambda server: len(server.requests) == 1)
        await editor.ask("session/close", sessionId=session)
        assert (await waiting)["stopReason"] == "cancelled"
        with pytest.raises(Refused) as refused:
            await editor.prompt(session, "More")
        assert refused.value.code == -32002


async def test_delete_erases_for_good(tmp_path: Path) -> None:
    async with ModelServer(instant) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        kept, gone, never = [await editor.new() for _ in range(3)]
        await editor.prompt(kept, "Kept")
        await editor.prompt(gone, "Gone", image(one_colour("red")))
        for one in (gone, never):
            await editor.ask("session/delete", sessionId=one)
        listed = await editor.ask("session/list")
        assert [one["sessionId"] for one in listed["sessions"]] == [kept]
        with pytest.raises(Refused):
            await editor.load(gone)


async def test_many_sessions_prompt_at_once_and_none_waits_for_another(tmp_path: Path) -> None:
    def colour_of(request: ReceivedRequest) -> Speak:
        return name_the_colour(request) if request.images else say(request.heard.last_words)

    async with ModelServer(colour_of) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        sessions = [await editor.new() for _ in range(20)]
        waiting = [editor.begin(one, f"canary-{one}") for one in sessions]
        await server.when(lambda server: len(server.requests) == len(sessions))
        stops = [(await each)["stopReason"] for each in waiting]
        assert stops == ["end_turn"] * len(sessions)
        for one in sessions:
            assert editor.text(one) == f"canary-{one}"
            assert sum(one in request.raw.decode() for request in server.requests) == 1


async def test_what_another_door_says_is_seen_here_too(tmp_path: Path) -> None:
    async with ModelServer(echo) as server:
        place = first(server, tmp_path)
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            await editor.prompt(session, "From the editor")
            ran = await place.ask("From the terminal", "--resume", session)
            assert (ran.status, ran.stdout) == (0, "From the terminal\n")
            await editor.until(lambda editor: editor.text().endswith("From the terminal"))
            told = [one["content"]["text"] for one in editor.all("user_message_chunk")]
            assert told == ["From the terminal"]


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_a_session_that_was_opened_in_one_process_is_prompted_in_the_next(tmp_path: Path, method: str) -> None:
    async with ModelServer(instant) as server:
        place = first(server, tmp_path)
        session = await session_of_before(place)
        async with Editor(place) as editor:
            await editor.hello()
            await editor.load(session, method)
            await editor.prompt(session, "Hello")
            listed = await editor.ask("session/list")
    assert [one["sessionId"] for one in listed["sessions"]] == [session]


async def test_a_session_that_was_never_spoken_to_is_deleted_in_the_next_process(tmp_path: Path) -> None:
    async with ModelServer(instant) as server:
        place = first(server, tmp_path)
        session = await session_of_before(place)
        async with Editor(place) as editor:
            await editor.hello()
            await editor.ask("session/delete", sessionId=session)
            with pytest.raises(Refused):
                await editor.load(session)


async def test_sessions_of_a_folder_that_was_moved_are_listed_under_its_old_name(tmp_path: Path) -> None:
    async with ModelServer(instant) as server:
        place = first(server, tmp_path)
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            await editor.prompt(session, "Hello")
            await editor.ask("session/close", sessionId=session)
            place.workspace.rename(tmp_path / "moved")
            listed = await editor.ask("session/list", cwd=str(place.workspace))
    assert [one["sessionId"] for one in listed["sessions"]] == [session]


async def test_what_two_processes_have_open_before_its_first_message_is_one_conversation(tmp_path: Path) -> None:
    async with ModelServer(echo) as server:
        place = first(server, tmp_path)
        async with Editor(place) as one, Editor(place) as other:
            for editor in (one, other):
                await editor.hello()
            session = await one.new()
            await other.load(session)
            assert await other.prompt(session, "First.") == "end_turn"
            assert await one.prompt(session, "Second.") == "end_turn"
    assert [isinstance(fact, e.UserSaid) for fact in await place.facts()].count(True) == 2
    assert [len(request.heard.messages) for request in server.requests] == [1, 3]
