"""What is set for one session holds for it alone, and who is not logged in opens none."""

from pathlib import Path
from typing import Any

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus
from angelia.testing.model.answerers import by_replies, instant
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.acp.editor import Editor, Refused, first

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("way", ["session/set_mode", "session/set_config_option"])
async def test_the_mode_holds_from_the_next_call_on(tmp_path: Path, way: str) -> None:
    writing = call("write", {"path": "a.txt", "content": "x"})
    async with ModelServer(by_replies([writing, say("No."), writing, say("Yes.")])) as server:
        place = first(server, tmp_path)
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            for mode in ("plan", "edit"):
                given: dict[str, Any] = {"modeId": mode}
                if way == "session/set_config_option":
                    given = {"configId": "mode", "value": mode}
                await editor.ask(way, sessionId=session, **given)
                await editor.prompt(session, "Write.")
            assert [one["currentModeId"] for one in editor.all("current_mode_update")] == ["plan", "edit"]
            told = [one["configOptions"] for one in editor.all("config_option_update")]
            assert [choices(options, "mode")[0] for options in told] == ["plan", "edit"]
            with pytest.raises(Refused, match="mode"):
                await editor.ask("session/set_mode", sessionId=session, modeId="wild")
        finished = [fact.status for fact in await place.facts() if isinstance(fact, e.ToolFinished)]
    assert finished == [CallStatus.REFUSED, CallStatus.OK]


async def test_model_and_thinking_are_set_for_one_session(tmp_path: Path) -> None:
    async with ModelServer(instant) as server:
        place = first(server, tmp_path, wire="openai-responses")
        async with Editor(place) as editor:
            await editor.hello()
            one, two = await editor.new(), await editor.new()
            asked = {"sessionId": one, "configId": "model", "value": "openai-chat:other"}
            options = (await editor.ask("session/set_config_option", **asked))["configOptions"]
            assert [o["currentValue"] for o in options if o["id"] == "model"] == ["openai-chat:other"]
            asked = {"sessionId": one, "configId": "thinking", "value": "high"}
            await editor.ask("session/set_config_option", **asked)
            await editor.prompt(one, "x")
            await editor.prompt(two, "x")
            assert [request.wire for request in server.requests] == ["openai-chat", "openai-responses"]
            assert b"high" in server.requests[0].raw
            assert b"high" not in server.requests[1].raw
            for wrong in ({"configId": "model", "value": "nobody:x"}, {"configId": "thinking", "value": "wild"}):
                with pytest.raises(Refused):
                    await editor.ask("session/set_config_option", sessionId=one, **wrong)
            assert await editor.prompt(one, "still there") == "end_turn"
        async with Editor(place) as editor:
            await editor.hello()
            loaded = await editor.load(one)
            assert [o["currentValue"] for o in loaded["configOptions"] if o["id"] == "model"] == ["openai-chat:other"]


UNTIL_GO = call("shell", {"command": "while [ ! -e go ]; do sleep 0.05; done"})


async def test_what_is_chosen_in_a_turn_holds_from_the_next_message_on(tmp_path: Path) -> None:
    script = by_replies([UNTIL_GO, say("Over."), say("Other.")])
    async with ModelServer(script) as server, Editor(first(server, tmp_path, wire="openai-responses")) as editor:
        await editor.hello()
        session = await editor.new()
        waiting = editor.begin(session, "Go")
        await editor.until(lambda editor: editor.all("tool_call_update"))
        asked = {"sessionId": session, "configId": "model", "value": "openai-chat:other"}
        options = (await editor.ask("session/set_config_option", **asked))["configOptions"]
        assert choices(options, "model")[0] == "openai-chat:other"
        await editor.until(lambda editor: "goes on as it began" in editor.text())
        for name, value, why in (("model", "nobody:x", "nobody"), ("sandbox", "docker", "part of the conversation")):
            with pytest.raises(Refused, match=why):
                await editor.ask("session/set_config_option", sessionId=session, configId=name, value=value)
        (editor.place.workspace / "go").touch()
        assert (await waiting)["stopReason"] == "end_turn"
        assert await editor.prompt(session, "And?") == "end_turn"
        assert [request.wire for request in server.requests] == ["openai-responses"] * 2 + ["openai-chat"]


async def test_what_was_chosen_in_a_turn_and_cannot_be_had_is_taken_back_and_said(tmp_path: Path) -> None:
    script = by_replies([UNTIL_GO, say("Over."), say("As before.")])
    async with ModelServer(script) as server:
        place = first(server, tmp_path, wire="openai-responses")
        del place.env["ANTHROPIC_API_KEY"]
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            waiting = editor.begin(session, "Go")
            await editor.until(lambda editor: editor.all("tool_call_update"))
            asked = {"sessionId": session, "configId": "model", "value": "anthropic:m"}
            await editor.ask("session/set_config_option", **asked)
            (place.workspace / "go").touch()
            assert (await waiting)["stopReason"] == "end_turn"
            with pytest.raises(Refused, match="ANTHROPIC_API_KEY"):
                await editor.prompt(session, "And?")
            [update] = editor.all("config_option_update")
            assert choices(update["configOptions"], "model")[0] == "openai-responses:m"
            assert await editor.prompt(session, "And?") == "end_turn"


async def test_an_open_question_lets_settings_through(tmp_path: Path) -> None:
    script = by_replies([call("ask_user", {"question": "Which colour?"}), say("Blue."), say("Other.")])
    async with ModelServer(script) as server, Editor(first(server, tmp_path, wire="openai-responses")) as editor:
        await editor.hello()
        session = await editor.new()
        assert await editor.prompt(session, "Paint.") == "end_turn"
        assert "Which colour?" in editor.text()
        asked = {"sessionId": session, "configId": "model", "value": "openai-chat:other"}
        await editor.ask("session/set_config_option", **asked)
        for words in ("blue", "And?"):
            assert await editor.prompt(session, words) == "end_turn"
        assert [request.wire for request in server.requests] == ["openai-responses"] * 2 + ["openai-chat"]


PRESET = 'sandbox.presets.lab={spec="local"}'


def choices(options: list[dict[str, Any]], name: str) -> tuple[str, list[str]]:
    """What holds, and what can be chosen."""
    [option] = [one for one in options if one["id"] == name]
    return option["currentValue"], [one["value"] for one in option["options"]]


async def test_the_sandbox_is_chosen_before_the_first_message_and_stands_after_it(tmp_path: Path) -> None:
    async with ModelServer(instant) as server:
        place = first(server, tmp_path, sets=(PRESET,))
        async with Editor(place) as editor:
            await editor.hello()
            made = await editor.ask("session/new", cwd=str(place.workspace), mcpServers=[])
            session = made["sessionId"]
            assert choices(made["configOptions"], "sandbox") == ("local", ["local", "lab"])
            lab = {"sessionId": session, "configId": "sandbox", "value": "lab"}
            set_to = await editor.ask("session/set_config_option", **lab)
            assert choices(set_to["configOptions"], "sandbox")[0] == "lab"
            with pytest.raises(Refused, match="nowhere"):
                await editor.ask("session/set_config_option", **{**lab, "value": "nowhere:x"})
            assert await editor.prompt(session, "x") == "end_turn"
            [update] = editor.all("config_option_update")
            assert choices(update["configOptions"], "sandbox") == ("lab", ["lab"])
            with pytest.raises(Refused, match="works in lab, as it has from its first message on"):
                await editor.ask("session/set_config_option", **{**lab, "value": "local"})
            set_to = await editor.ask("session/set_config_option", sessionId=session, configId="thinking", value="low")
            assert choices(set_to["configOptions"], "sandbox") == ("lab", ["lab"])
            assert await editor.prompt(session, "still there") == "end_turn"
        [opened] = [fact for fact in await place.facts() if isinstance(fact, e.ConversationOpened)]
    assert (opened.sandbox, opened.preset, opened.workspace) == ("local", "lab", str(place.workspace.resolve()))


async def test_folders_beside_the_first_are_not_offered_and_their_absence_is_said(tmp_path: Path) -> None:
    async with ModelServer(instant) as server, Editor(first(server, tmp_path)) as editor:
        hello = await editor.hello()
        assert "additionalDirectories" not in hello["agentCapabilities"]["sessionCapabilities"]
        await editor.new(additionalDirectories=["/srv/other"])
        await editor.until(lambda editor: "/srv/other" in editor.text())


async def test_without_a_key_one_logs_in_first(tmp_path: Path) -> None:
    async with ModelServer(instant) as server:
        place = first(server, tmp_path)
        del place.env["OPENAI_API_KEY"]
        async with Editor(place) as editor:
            hello = await editor.hello()
            for refused_ask in (editor.new, lambda: editor.ask("authenticate", methodId=hello["authMethods"][0]["id"])):
                with pytest.raises(Refused, match="OPENAI_API_KEY") as refused:
                    await refused_ask()
                assert refused.value.code == -32000


async def test_after_logout_one_logs_in_again(tmp_path: Path) -> None:
    async with ModelServer(instant) as server, Editor(first(server, tmp_path)) as editor:
        [method] = (await editor.hello())["authMethods"]
        session = await editor.new()
        await editor.ask("logout")
        for refused_ask in (editor.new, lambda: editor.prompt(session, "x"), lambda: editor.load(session)):
            with pytest.raises(Refused) as refused:
                await refused_ask()
            assert refused.value.code == -32000
        with pytest.raises(Refused, match="no way to log in"):
            await editor.ask("authenticate", methodId="card")
        await editor.ask("authenticate", methodId=method["id"])
        assert await editor.prompt(session, "x") == "end_turn"
