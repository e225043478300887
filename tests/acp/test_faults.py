"""What a face cannot show, or fails at, takes nothing from the conversation."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus, ToolCall
from angelia.core.ids import CallId
from angelia.engine.live import Live, LiveEvent, Writing
from angelia.faces.acp import calls
from angelia.faces.acp.session_sender import SessionSender
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say, truncated_call
from tests.acp.editor import Editor, first
from tests.acp.test_questions import results

pytestmark = pytest.mark.anyio

ENDLESS = '{"path": "a", "content": ' + "[" * 3000


@pytest.mark.parametrize("tool", ["write", "nobody_has_this"])
async def test_endless_arguments_are_shown_as_they_are_now_and_later(tmp_path: Path, tool: str) -> None:
    script = by_replies([truncated_call(tool, ENDLESS, at=len(ENDLESS), finish=True), say("I gave up.")])
    async with ModelServer(script) as server:
        place = first(server, tmp_path)
        session = ""
        for _ in range(2):
            async with Editor(place) as editor:
                await editor.hello()
                if session:
                    await editor.load(session)
                else:
                    session = await editor.new()
                    assert await editor.prompt(session, "Write.") == "end_turn"
                [made] = editor.all("tool_call")
                assert made["rawInput"] == ENDLESS
                assert editor.text() == "I gave up."
        assert await results(place) == [CallStatus.BAD_CALL]


@pytest.mark.parametrize(("levels", "shown"), [(100, dict), (101, str), (2000, str)])
def test_arguments_deeper_than_clients_read_are_shown_as_text(levels: int, shown: type) -> None:
    text = '{"deep": ' + "[" * (levels - 1) + "]" * (levels - 1) + "}"
    assert type(calls.arguments(ToolCall(CallId("c1_0"), "strange", text))) is shown
    made = calls.made(ToolCall(CallId("c1_0"), "strange", text), "/project")
    assert made.title.startswith("strange")


def failing(*_: object) -> None:
    """A face with a fault."""
    raise RecursionError("too deep")


async def test_a_face_that_fails_faults_no_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "made", failing)
    script = by_replies([call("write", {"path": "a.txt", "content": "x"}), say("Written.")])
    async with ModelServer(script) as server:
        place = first(server, tmp_path)
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            editor._agent._open[session].session.live.watch(failing)
            assert await editor.prompt(session, "Write.") == "end_turn"
            assert editor.text() == "Written."
        assert await results(place) == [CallStatus.OK]
        logged = (place.home / "angelia.log").read_text()
    assert "could not be told" in logged
    assert "a watcher failed at Committed" in logged


async def test_an_update_that_cannot_be_sent_holds_up_none_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SessionSender, "_opened", failing)
    script = by_replies([call("send_file", {"path": "r.txt"}), say("There it is.")])
    async with ModelServer(script) as server:
        place = first(server, tmp_path)
        (place.workspace / "r.txt").write_text("forty-two\n")
        async with Editor(place) as editor:
            await editor.hello()
            assert await editor.prompt(await editor.new(), "Send it.") == "end_turn"
        assert "an update could not be sent" in (place.home / "angelia.log").read_text()


def test_who_watches_and_fails_stands_in_nobodys_way() -> None:
    live, seen = Live(), list[LiveEvent]()
    live.watch(failing)
    live.watch(seen.append)
    live.emit(Writing("Hello"))
    assert seen == [Writing("Hello")]


def no_folder(editor: Editor) -> None:
    """Where the person's files are put, there is a file."""
    editor._app.outbox_folder.parent.mkdir(parents=True, exist_ok=True)
    editor._app.outbox_folder.write_text("in the way")


def damaged(editor: Editor) -> None:
    """What is stored is not what it was, by the time it is copied."""
    blobs = editor._app.blobs
    whole: Callable[..., None] = blobs.copy

    def copy(ref: object, target: Path) -> None:
        for file in (editor.place.home / "blobs").rglob("*"):
            if file.is_file():
                file.chmod(0o600)
                file.write_bytes(b"rot")
        whole(ref, target)

    blobs.copy = copy  # type: ignore[method-assign]  # the disk rots at this very moment


def at_fault(editor: Editor) -> None:
    """Copying it is a fault of ours."""
    editor._app.blobs.copy = failing  # type: ignore[assignment, method-assign]


@pytest.mark.parametrize("trouble", [no_folder, damaged, at_fault])
async def test_a_file_that_is_lost_on_the_way_is_a_failed_delivery_and_both_hear_of_it(
    tmp_path: Path, trouble: Callable[[Editor], None]
) -> None:
    script = by_replies([call("send_file", {"path": "r.txt"}), say("There it is."), say("I am sorry.")])
    async with ModelServer(script) as server:
        place = first(server, tmp_path)
        (place.workspace / "r.txt").write_text("forty-two\n")
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            trouble(editor)
            assert await editor.prompt(session, "Send it.") == "end_turn"
            await editor.until(lambda editor: "a delivery failed: r.txt: " in editor.text(kind="agent_thought_chunk"))
            assert 'file "r.txt", 10 bytes: it cannot be opened' in editor.text()
            assert await editor.prompt(session, "Where?") == "end_turn"
        facts = await place.facts()
    sent, *_ = [fact.id for fact in facts if isinstance(fact, e.DeliveryQueued)]
    [settled] = [fact for fact in facts if isinstance(fact, e.DeliverySettled) and fact.id == sent]
    assert (settled.status, settled.detail.startswith("r.txt: ")) == (e.DeliveryStatus.FAILED, True)
    told = json.dumps("A delivery failed, and the person did not get it: r.txt")[1:-1]
    assert told in server.requests[-1].raw.decode()
