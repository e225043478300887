"""MCP servers that an editor names: asked about once, each session its own, and their tools are tools like ours."""

import asyncio
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus, Text
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests.acp.editor import Editor, first
from tests.acp.remote import Remote
from tests.mcp.reached import BARE
from tests.promise.lives import ROOT, WIRES, Place

pytestmark = pytest.mark.anyio

PERMISSION = "session/request_permission"
TOKEN = "s3cr3t-t0k3n-0f-b4r3"
PATIENT = ("mcp.patience=60",)


def named(folder: Path, name: str = "bare", **env: str) -> dict[str, Any]:
    """A server as an editor names it; it notes what happens in `folder`."""
    folder.mkdir(exist_ok=True)
    variables = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", **env}
    pairs = [{"name": key, "value": value} for key, value in variables.items()]
    return {"name": name, "command": sys.executable, "args": [BARE, "old", str(folder)], "env": pairs}


def choose(option: str) -> Any:
    """Always chooses the option of this id."""
    return lambda _: {"outcome": {"outcome": "selected", "optionId": option}}


async def opened(editor: Editor, *servers: dict[str, Any]) -> str:
    """A new session with these servers, each asked about and answered."""
    await editor.hello()
    asked = len(editor.asked)
    made = await editor.ask("session/new", cwd=str(editor.place.workspace), mcpServers=list(servers))
    await editor.until(lambda editor: len(editor.asked) >= asked + len(servers))
    return str(made["sessionId"])


def notes(folder: Path) -> list[str]:
    """What the server noted; nothing if it was never started."""
    file = folder / "seen"
    return file.read_text().splitlines() if file.exists() else []


async def results(place: Place) -> list[tuple[CallStatus, str]]:
    """How each call ended, and what was told."""
    found = [fact for fact in await place.facts() if isinstance(fact, e.ToolFinished)]
    return [(one.status, "".join(part.text for part in one.parts if isinstance(part, Text))) for one in found]


def using(tool: str, **arguments: Any) -> list[Step]:
    """The model calls a tool of the server, and is done."""
    return [call(f"bare__{tool}", arguments), say("Done.")]


async def test_one_yes_starts_a_server_and_lets_its_tools_be_used(tmp_path: Path) -> None:
    steps = [*using("note", words="one"), *using("note", words="two")]
    async with ModelServer(by_replies(steps)) as server:
        place = first(server, tmp_path, sets=PATIENT)
        async with Editor(place, {PERMISSION: choose("conversation")}) as editor:
            session = await opened(editor, named(tmp_path / "s", BARE_TOKEN=TOKEN))
            assert [await editor.prompt(session, words) for words in ("Note it.", "Again.")] == ["end_turn"] * 2
            [asked] = [one["params"] for one in editor.asked]
        assert await results(place) == [(CallStatus.OK, "noted 1"), (CallStatus.OK, "noted 1")]
        given = [fact for fact in await place.facts() if isinstance(fact, e.ApprovalGiven)]
    assert "bare__note" in server.requests[0].heard.tools
    about = asked["toolCall"]["content"][0]["content"]["text"]
    assert "Start the MCP server bare?" in about
    assert "outside of the confinement" in about
    assert any("server: bare (python" in option["name"] for option in asked["options"])
    assert [one.scope for one in given] == [e.Scope.CONVERSATION]
    assert "notifications/initialized" in notes(tmp_path / "s")


async def test_a_no_starts_nothing_and_person_and_model_hear_of_it(tmp_path: Path) -> None:
    async with ModelServer(by_replies([say("Without it, then.")])) as server:
        place = first(server, tmp_path, sets=PATIENT)
        async with Editor(place, {PERMISSION: choose("reject")}) as editor:
            session = await opened(editor, named(tmp_path / "s"))
            assert await editor.prompt(session, "Go.") == "end_turn"
            ends = [one for one in editor.all("tool_call_update", session) if one.get("status") == "failed"]
            assert "cannot be used: the person said no" in ends[0]["content"][0]["content"]["text"]
    assert notes(tmp_path / "s") == []
    assert "cannot be used: the person said no" in server.requests[0].raw.decode()
    assert not [name for name in server.requests[0].heard.tools if name.startswith("bare")]


async def test_of_a_server_that_is_none_the_person_is_told_and_the_others_are_begun(tmp_path: Path) -> None:
    async with ModelServer(by_replies([])) as server:
        place = first(server, tmp_path, sets=PATIENT)
        async with Editor(place, {PERMISSION: choose("reject")}) as editor:
            await editor.hello()
            servers = [{"type": "acp", "id": "1", "name": "inner"}, named(tmp_path / "s")]
            await editor.ask("session/new", cwd=str(place.workspace), mcpServers=servers)
            await editor.until(lambda editor: editor.asked)
            assert ["MCP server bare" in str(one) for one in editor.asked] == [True]
            assert "The MCP server inner cannot be used: it has neither a command nor a URL." in editor.text()


async def test_a_yes_for_once_starts_it_and_every_use_asks(tmp_path: Path) -> None:
    async with ModelServer(by_replies(using("say", words="x"))) as server:
        place = first(server, tmp_path, sets=PATIENT)
        async with Editor(place, {PERMISSION: choose("once")}) as editor:
            session = await opened(editor, named(tmp_path / "s"))
            assert await editor.prompt(session, "Go.") == "end_turn"
            questions = [one["params"]["toolCall"]["content"][0]["content"]["text"] for one in editor.asked]
    assert [text.partition("?")[0] for text in questions] == [
        "Start the MCP server bare",
        "Use the tool `say` of the MCP server bare",
    ]


async def test_a_yes_for_thirty_days_holds_for_the_next_session_here_and_for_no_other_command(tmp_path: Path) -> None:
    async with ModelServer(by_replies(using("say", words="x"))) as server:
        place = first(server, tmp_path, sets=PATIENT)
        async with Editor(place, {PERMISSION: choose("remembered")}) as editor:
            await opened(editor, named(tmp_path / "s"))
            await editor.until(lambda editor: "Connected: 11 tools." in str(editor.updates))
            again = await editor.ask(
                "session/new", cwd=str(place.workspace), mcpServers=[named(tmp_path / "s"), named(tmp_path / "t", "t")]
            )
            assert await editor.prompt(again["sessionId"], "Go.") == "end_turn"
            assert len(editor.asked) == 2
            assert "`" + sys.executable in str(editor.asked[1])
    assert "bare__say" in server.requests[0].heard.tools


async def test_two_sessions_see_nothing_of_each_others_servers(tmp_path: Path) -> None:
    def answer(request: ReceivedRequest) -> Step:
        own = next(name for name in request.heard.tools if name.endswith("__note"))
        return say("Done.") if request.heard.replies else call(own, {"words": own})

    async with ModelServer(answer) as server:
        place = first(server, tmp_path, sets=PATIENT)
        async with Editor(place, {PERMISSION: choose("conversation")}) as editor:
            sessions = [await opened(editor, named(tmp_path / name, name)) for name in ("left", "right")]
            await asyncio.gather(*(editor.prompt(session, "Note it.") for session in sessions))
    for name, other in (("left", "right"), ("right", "left")):
        assert f"{name}__note" in notes(tmp_path / name)
        assert f"{other}__note" not in notes(tmp_path / name)
    for request in server.requests:
        assert len({tool.partition("__")[0] for tool in request.heard.tools if "__" in tool}) == 1


async def test_what_an_editor_hands_over_in_secret_is_nowhere_in_the_home(tmp_path: Path) -> None:
    steps = [call("bare__token", {}), call("bare__die", {}), say("Done.")]
    async with ModelServer(by_replies(steps)) as server:
        place = first(server, tmp_path, sets=PATIENT)
        async with Editor(place, {PERMISSION: choose("conversation")}) as editor:
            session = await opened(editor, named(tmp_path / "s", BARE_TOKEN=TOKEN))
            assert await editor.prompt(session, "Go.") == "end_turn"
            assert TOKEN not in str(editor.said)
        (told, words), (lost, why) = await results(place)
    assert told is CallStatus.OK
    assert words.startswith("it is [secret: key")
    assert lost is CallStatus.UNKNOWN
    assert "may or may not have taken effect" in why
    with closing(sqlite3.connect(place.home / "angelia.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    kept = [path for path in place.home.rglob("*") if path.is_file()]
    assert len(kept) > 3
    assert not [path for path in kept if TOKEN.encode() in path.read_bytes()]


async def test_a_server_that_never_says_hello_holds_up_neither_the_session_nor_the_others(tmp_path: Path) -> None:
    silent = {"name": "silent", "command": "sleep", "args": ["1000"], "env": []}
    async with ModelServer(by_replies(using("say", words="x"))) as server:
        place = first(server, tmp_path, sets=("mcp.patience=3",))
        async with Editor(place, {PERMISSION: choose("conversation")}) as editor:
            session = await opened(editor, silent, named(tmp_path / "s"))
            await editor.until(lambda editor: "Connected: 11 tools." in str(editor.updates))
            assert await editor.prompt(session, "Go.") == "end_turn"
        assert await results(place) == [(CallStatus.OK, "x")]
    assert "The MCP server silent is still connecting" in server.requests[0].raw.decode()


async def test_tools_that_come_later_are_there_with_the_next_turn_and_not_before(tmp_path: Path) -> None:
    steps = [call("bare__more", {}), call("bare__say", {"words": "x"}), say("Done."), say("Done.")]
    once = choose("once")({})
    async with ModelServer(by_replies(steps)) as server:
        place = first(server, tmp_path, sets=PATIENT)
        async with Editor(place) as editor:
            session = await opened(editor, named(tmp_path / "s"))
            editor.reply(editor.asked[0], once)
            turn = editor.begin(session, "Bring it.")
            await editor.until(lambda editor: len(editor.asked) == 2)
            editor.reply(editor.asked[1], once)
            await editor.until(lambda editor: len(editor.asked) == 3)
            box = editor._app.conversations.toolbox(editor._agent._open[session].session)
            async with asyncio.timeout(60):
                while "bare__extra" not in box.registry.names:  # noqa: ASYNC110 - another process tells in its time
                    await asyncio.sleep(0.01)
            editor.reply(editor.asked[2], once)
            assert (await turn)["stopReason"] == "end_turn"
            await editor.prompt(session, "Go on.")
        setups = [fact for fact in await place.facts() if isinstance(fact, e.SetupChanged)]
    tools = [request.heard.tools for request in server.requests]
    assert tools[0] == tools[1] == tools[2]
    assert tools[3] == (*tools[0], "bare__extra")
    assert len(setups) == 2


@pytest.mark.parametrize("wire", WIRES)
async def test_a_picture_of_a_servers_tool_reaches_the_model(tmp_path: Path, wire: str) -> None:
    def answer(request: ReceivedRequest) -> Step:
        seen = [picture.colour for picture in request.images]
        return say(f"I see {seen}.") if request.heard.replies else call("bare__picture", {"words": "orange"})

    async with ModelServer(answer) as server:
        place = first(server, tmp_path, wire=wire, sets=PATIENT)
        async with Editor(place, {PERMISSION: choose("conversation")}) as editor:
            session = await opened(editor, named(tmp_path / "s"))
            await editor.prompt(session, "Paint.")
            assert editor.text(session).strip().endswith("I see ['orange'].")


async def test_in_plan_mode_only_what_says_that_it_looks_may_be_asked_for(tmp_path: Path) -> None:
    steps = [call("bare__note", {"words": "x"}), call("bare__say", {"words": "y"}), say("Done.")]
    async with ModelServer(by_replies(steps)) as server:
        place = first(server, tmp_path, sets=(*PATIENT, "policy.mode=plan"))
        async with Editor(place, {PERMISSION: choose("conversation")}) as editor:
            session = await opened(editor, named(tmp_path / "s"))
            await editor.prompt(session, "Go.")
        (first_status, why), second = await results(place)
    assert (first_status, second) == (CallStatus.REFUSED, (CallStatus.OK, "y"))
    assert "plan mode" in why
    assert "x" not in notes(tmp_path / "s")


async def test_after_a_kill_in_mid_call_the_call_is_unknown_and_the_session_has_its_tools_again(tmp_path: Path) -> None:
    steps = [call("bare__note", {"words": "x"}), call("bare__say", {"words": "here"}), say("Done.")]
    async with ModelServer(by_replies(steps)) as server:
        place = first(server, tmp_path, sets=PATIENT)
        servers = [named(tmp_path / "s")]
        async with Remote(place, {PERMISSION: choose("remembered")}, at="tool.ran:1") as editor:
            session = await opened(editor, *servers)
            with pytest.raises(ConnectionResetError):
                await editor.prompt(session, "Go.")
        async with Editor(place) as editor:
            await editor.hello()
            await editor.ask("session/load", sessionId=session, cwd=str(place.workspace), mcpServers=servers)
            await editor.rest(session)
        (status, _), again = await results(place)
    assert (status, again) == (CallStatus.UNKNOWN, (CallStatus.OK, "here"))
    assert notes(tmp_path / "s").count("x") == 1
