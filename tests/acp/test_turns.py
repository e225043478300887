"""A prompt is answered by the end of its turn, and the stop reason tells the truth about it."""

import asyncio
import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from angelia.core import entry as e
from angelia.core.content import Text
from angelia.core.principal import OWNER
from angelia.testing.model import steps
from angelia.testing.model.answerers import by_replies, instant
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Speak, Step, call, say
from tests.acp.editor import Editor, Refused, first

pytestmark = pytest.mark.anyio

NO_WAITING = ("remedies.busy.wait=0", "remedies.unreachable.wait=0", "remedies.stream_cut.ask_again=1")


async def test_an_answer_is_streamed_and_ends_the_turn(tmp_path: Path) -> None:
    async with (
        ModelServer([steps.think("Hm.") + say("Hello there, you.")]) as server,
        Editor(first(server, tmp_path)) as editor,
    ):
        await editor.hello()
        session = await editor.new()
        assert await editor.prompt(session, "Hi") == "end_turn"
        assert editor.text() == "Hello there, you."
        assert editor.text(kind="agent_thought_chunk") == "Hm."
        chunks = editor.all("agent_message_chunk")
        assert len(chunks) > 1
        assert len({one["messageId"] for one in chunks}) == 1


async def test_work_is_shown_call_by_call_with_its_diff(tmp_path: Path) -> None:
    script = by_replies([say("I write.") + call("write", {"path": "a.txt", "content": "one\n"}), say("Written.")])
    async with ModelServer(script) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        session = await editor.new()
        assert await editor.prompt(session, "Write a file.") == "end_turn"
        path = str(editor.place.workspace / "a.txt")
        [made] = editor.all("tool_call")
        assert (made["title"], made["kind"], made["locations"]) == ("write a.txt", "edit", [{"path": path}])
        assert made["rawInput"] == {"path": "a.txt", "content": "one\n"}
        running, done = editor.all("tool_call_update")
        assert (running["status"], done["status"]) == ("in_progress", "completed")
        assert done["content"][0] == {"type": "diff", "path": path, "newText": "one\n"}
        assert done["rawOutput"]["status"] == "ok"


async def test_the_plan_is_shown_as_it_changes(tmp_path: Path) -> None:
    plans = [
        {"items": [{"text": "Look", "status": "active"}, {"text": "Mend"}]},
        {"items": [{"text": "Look", "status": "done"}, {"text": "Mend", "status": "done"}]},
    ]
    script = by_replies([call("todo", plans[0]), call("todo", plans[1]), say("Done.")])
    async with ModelServer(script) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        assert await editor.prompt(await editor.new(), "Go") == "end_turn"
        told = [[(one["content"], one["status"]) for one in plan["entries"]] for plan in editor.all("plan")]
    assert told == [
        [("Look", "in_progress"), ("Mend", "pending")],
        [("Look", "completed"), ("Mend", "completed")],
    ]


STOPS: dict[str, tuple[list[Step], tuple[str, ...], str, str]] = {
    "an answer": ([say("Yes.")], (), "end_turn", "Yes."),
    "declined": ([steps.filtered("I will not.")], (), "refusal", "declined"),
    "too long a reply": ([steps.length("and")] * 9, (), "max_tokens", "length limit"),
    "too many requests": ([call("todo", {"items": []})] * 3, ("limits.max_steps=2",), "max_turn_requests", "2 model"),
    "too many tokens": ([call("todo", {"items": []})] * 3, ("limits.max_tokens=10",), "max_tokens", "tokens this turn"),
}


@pytest.mark.parametrize("what", STOPS)
async def test_the_stop_reason_is_true_for(what: str, tmp_path: Path) -> None:
    replies, sets, stop, said = STOPS[what]
    script = iter(replies)
    async with ModelServer(lambda _: next(script)) as server:
        place = first(server, tmp_path, sets=(*NO_WAITING, *sets))
        async with Editor(place) as editor:
            await editor.hello()
            assert await editor.prompt(await editor.new(), "Go") == stop
            assert said in editor.text()


FAULTS: dict[str, tuple[Step, int, str]] = {
    "a wrong key": (steps.login_rejected(), -32000, "key"),
    "an empty account": (steps.out_of_credit(), -32603, "credit"),
    "a busy provider": (steps.busy(), -32603, "did not answer"),
    "a provider that is down": (steps.server_error(), -32603, "did not answer"),
    "an unknown model": (steps.unknown_model(), -32603, "does not know the model"),
    "silence": (steps.empty(), -32603, "stopped answering"),
}


@pytest.mark.parametrize("what", FAULTS)
async def test_a_turn_without_an_answer_is_told_in_a_sentence_and_an_error_for(what: str, tmp_path: Path) -> None:
    step, code, said = FAULTS[what]
    async with ModelServer(lambda _: step) as server, Editor(first(server, tmp_path, sets=NO_WAITING)) as editor:
        await editor.hello()
        session = await editor.new()
        with pytest.raises(Refused) as refused:
            await editor.prompt(session, "Go")
        assert refused.value.code == code
        assert said in editor.text()
        assert refused.value.data["sentence"] in editor.text()
        server.script = ModelServer(instant).script
        assert await editor.prompt(session, "continue") == "end_turn"


CAPS: dict[str, tuple[str, Step, str]] = {
    "money": ("limits.max_cost=0.000001", call("todo", {"items": []}), "cost this turn"),
    "time": ("limits.max_seconds=1", call("shell", {"command": "sleep 600"}), "time this turn"),
}


@pytest.mark.parametrize("what", CAPS)
async def test_a_cap_is_told_as_what_it_is_and_no_stop_reason_pretends_for(what: str, tmp_path: Path) -> None:
    cap, step, said = CAPS[what]
    where = 'base_url_env=["OPENAI_BASE_URL"], key_env=["OPENAI_API_KEY"]'
    prices = f'vendors.priced={{wire="openai-chat", prices="openai", {where}}}'
    async with ModelServer(lambda _: step) as server:
        place = first(server, tmp_path, sets=(cap, prices))
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            await editor.ask("session/set_config_option", sessionId=session, configId="model", value="priced:gpt-4o")
            with pytest.raises(Refused) as refused:
                await editor.prompt(session, "Go")
            assert refused.value.data["ending"] == "BudgetSpent"
            assert said in editor.text()
            assert refused.value.data["sentence"] in editor.text()


async def test_after_a_refusal_that_turn_is_not_seen_by_the_model(tmp_path: Path) -> None:
    async with ModelServer([say("Hi."), steps.filtered("No."), say("Fine.")]) as server:
        place = first(server, tmp_path)
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            stops = [await editor.prompt(session, words) for words in ("Hello", "Something bad", "Something good")]
        assert stops == ["end_turn", "refusal", "end_turn"]
        assert "Something bad" not in server.requests[-1].raw.decode()
        assert "Hello" in server.requests[-1].raw.decode()


async def test_a_cut_reply_is_marked_and_asked_again_under_a_new_id(tmp_path: Path) -> None:
    cut = steps.cut_after(say("This is the first try of it."), 3)
    async with ModelServer([cut, say("This is whole.")]) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        assert await editor.prompt(await editor.new(), "Go") == "end_turn"
        texts: dict[str, str] = {}
        for chunk in editor.all("agent_message_chunk"):
            texts[chunk["messageId"]] = texts.get(chunk["messageId"], "") + chunk["content"]["text"]
    cut_text, note, whole = texts.values()
    assert "This is the first try of it.".startswith(cut_text)
    assert "cut off" in note
    assert whole == "This is whole."


async def test_a_second_prompt_steers_and_both_are_answered_when_the_turn_closes(tmp_path: Path) -> None:
    def script(request: ReceivedRequest) -> Speak:
        if request.heard.replies == 0:
            return steps.slowly(call("todo", {"items": []}), first=0.2)
        return say(f"Heard: {request.heard.last_words}")

    async with ModelServer(script) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        session = await editor.new()
        one = editor.begin(session, "First")
        await server.when(lambda server: len(server.requests) == 1)
        two = editor.begin(session, "Second")
        async with asyncio.timeout(20):
            assert [(await each)["stopReason"] for each in (one, two)] == ["end_turn", "end_turn"]
        assert editor.text().endswith("Heard: Second")
        facts = await editor.place.facts()
    assert sum(isinstance(fact, e.TurnClosed) for fact in facts) == 1


async def stopped(editor: Editor, session: str, server: ModelServer) -> Any:
    """A prompt whose answer never comes, with its request on the way."""
    waiting = editor.begin(session, "Go")
    await server.when(lambda server: len(server.requests) >= 1)
    return waiting


async def test_cancel_stops_the_turn_and_says_so(tmp_path: Path) -> None:
    async with ModelServer(lambda _: steps.hang()) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        session = await editor.new()
        waiting = await stopped(editor, session, server)
        editor.notify("session/cancel", sessionId=session)
        assert (await waiting)["stopReason"] == "cancelled"
        assert editor.text() == ""


async def test_a_prompt_that_is_taken_back_is_cancelled_too(tmp_path: Path) -> None:
    async with ModelServer(lambda _: steps.hang()) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        session = await editor.new()
        waiting = await stopped(editor, session, server)
        editor.notify("$/cancel_request", requestId=editor.count)
        assert (await waiting)["stopReason"] == "cancelled"


async def test_cancel_right_after_the_prompt_before_the_start_and_after_the_end(tmp_path: Path) -> None:
    async with ModelServer(instant) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        session = await editor.new()
        editor.notify("session/cancel", sessionId=session)
        assert await editor.prompt(session, "One") == "end_turn"
        editor.notify("session/cancel", sessionId=session)
        editor.notify("session/cancel", sessionId="unknown")
        assert await editor.prompt(session, "Two") == "end_turn"
        server.script = ModelServer(lambda _: steps.hang()).script
        waiting = editor.begin(session, "Three")
        editor.notify("session/cancel", sessionId=session)
        assert (await waiting)["stopReason"] == "cancelled"


async def test_deliveries_are_settled_once_the_editor_has_them(tmp_path: Path) -> None:
    script = by_replies([call("send_file", {"path": "r.txt"}), say("There it is.")])
    async with ModelServer(script) as server:
        place = first(server, tmp_path)
        (place.workspace / "r.txt").write_text("forty-two\n")
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            assert await editor.prompt(session, "Send it.") == "end_turn"
            [link] = [one["content"] for one in editor.all("agent_message_chunk") if one["content"]["type"] != "text"]
        facts = await place.facts()
    assert (link["type"], link["name"]) == ("resource_link", "r.txt")
    assert Path(unquote(link["uri"].removeprefix("file://"))).read_text() == "forty-two\n"
    queued = [fact for fact in facts if isinstance(fact, e.DeliveryQueued)]
    assert [fact.address for fact in queued] == [e.Address("acp", session)] * 2
    assert [fact.status for fact in facts if isinstance(fact, e.DeliverySettled)] == [e.DeliveryStatus.SENT] * 2


async def test_what_a_command_puts_out_is_seen_while_it_runs(tmp_path: Path) -> None:
    running = {"command": "echo early; read line < gate; echo late"}
    script = by_replies([call("shell", running), say("Ran.")])
    async with ModelServer(script) as server:
        place = first(server, tmp_path, sets=("sandbox.confine=off",))
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            os.mkfifo(place.workspace / "gate")
            waiting = editor.begin(session, "Run it.")
            await editor.until(
                lambda editor: any(
                    "early" in str(one.get("content")) and one.get("status") == "in_progress"
                    for one in editor.all("tool_call_update")
                )
            )
            await asyncio.to_thread((place.workspace / "gate").write_text, "go\n")
            assert (await waiting)["stopReason"] == "end_turn"
            last = editor.all("tool_call_update")[-1]
            assert "late" in last["rawOutput"]["text"]
            assert last["content"][0]["content"]["text"].startswith("```")


async def test_commands_answer_without_the_model(tmp_path: Path) -> None:
    async with ModelServer(instant) as server, Editor(first(server, tmp_path)) as editor:
        await editor.hello()
        session = await editor.new()
        await editor.until(lambda editor: editor.all("available_commands_update"))
        names = {one["name"] for one in editor.all("available_commands_update")[0]["availableCommands"]}
        assert await editor.prompt(session, "/status") == "end_turn"
        assert session in editor.text()
        assert not server.requests
        assert {"status", "compact", "pin"} <= names
        assert await editor.prompt(session, "/pin Never touch main.") == "end_turn"
        assert await editor.prompt(session, "/unknown words") == "end_turn"
        assert len(server.requests) == 1
        facts = await editor.place.facts()
    assert e.Pinned("Never touch main.", OWNER) in facts
    assert any(isinstance(fact, e.UserSaid) and fact.parts == (Text("/unknown words"),) for fact in facts)
