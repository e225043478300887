"""With an editor that offers its files, reading sees what is not saved, and writing goes through the editor."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus, Text
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests.acp.client_side import FS, ClientSide, refused
from tests.acp.editor import Editor, Refused, first
from tests.acp.test_blocks import resource
from tests.acp.test_questions import PERMISSION, choose
from tests.delegation.family import delegate
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

ALWAYS = {PERMISSION: choose("allow_always")}
OLD = 1_700_000_000


def written(place: Place, name: str, content: str | bytes) -> str:
    """A file of long ago; its path."""
    path = place.workspace / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    os.utime(path, (OLD, OLD))
    return str(path)


async def worked(editor: Editor, **capabilities: Any) -> str:
    """One prompt in a new session, to its end; the session."""
    await editor.hello(**(capabilities or FS))
    session = await editor.new()
    assert await editor.prompt(session, "Go.") == "end_turn"
    return session


async def results(place: Place) -> list[tuple[CallStatus, str]]:
    """What the calls came to, in words."""
    facts = [fact for fact in await place.facts() if isinstance(fact, e.ToolFinished)]
    return [(fact.status, "\n".join(p.text for p in fact.parts if isinstance(p, Text))) for fact in facts]


def script(*steps: Step) -> Any:
    """These calls, then an answer."""
    return by_replies([*steps, say("Done.")])


READ, EDIT = call("read", {"path": "a.py"}), call("edit", {"path": "a.py", "old": "b = 2", "new": "b = 3"})


async def test_reading_sees_what_is_not_saved_and_editing_builds_on_it(tmp_path: Path) -> None:
    async with ModelServer(script(READ, EDIT)) as server:
        place, client = first(server, tmp_path), ClientSide()
        path = written(place, "a.py", "a = 1\n")
        client.unsaved[path] = "a = 1\nb = 2\n"
        async with Editor(place, {**client.answers, **ALWAYS}) as editor:
            await worked(editor)
            done = editor.all("tool_call_update")[-1]
            read = sum(one["method"] == "fs/read_text_file" for one in editor.asked)
        assert "b = 2" in (await results(place))[0][1]
        assert read <= 3, "one to read, one to edit, one for what the editor made of it"
        assert Path(path).read_text() == "a = 1\nb = 3\n"
    assert client.written == [path]
    assert done["content"][0]["newText"] == "a = 1\nb = 3\n"
    assert done["content"][0]["oldText"] == "a = 1\nb = 2\n"


async def test_the_editor_is_asked_for_leave_once_and_a_no_is_a_no(tmp_path: Path) -> None:
    steps = [call("write", {"path": f"{n}.txt", "content": "x\n"}) for n in range(3)]
    for answer, asked, status in (("allow_always", 1, CallStatus.OK), ("reject_once", 3, CallStatus.REFUSED)):
        async with ModelServer(script(*steps)) as server:
            place, client = first(server, tmp_path / answer), ClientSide()
            async with Editor(place, {**client.answers, PERMISSION: choose(answer)}) as editor:
                await worked(editor)
                questions = [one["params"] for one in editor.asked if one["method"] == PERMISSION]
            assert [one[0] for one in await results(place)] == [status] * 3
        assert len(questions) == asked
        assert "outside of the confinement" in str(questions[0]["toolCall"]["content"])
        assert len(client.written) == (3 if status is CallStatus.OK else 0)


async def test_a_yes_to_the_editor_is_remembered_in_its_folder(tmp_path: Path) -> None:
    async with ModelServer(script(call("write", {"path": "a.txt", "content": "x\n"}))) as server:
        place, client = first(server, tmp_path), ClientSide()
        async with Editor(place, {**client.answers, **ALWAYS}) as editor:
            await worked(editor)
        async with Editor(place, client.answers) as editor:
            await worked(editor)
            assert not [one for one in editor.asked if one["method"] == PERMISSION]


async def test_in_plan_mode_nothing_is_written_and_nobody_asked(tmp_path: Path) -> None:
    async with ModelServer(script(call("write", {"path": "a.txt", "content": "x\n"}))) as server:
        place, client = first(server, tmp_path, sets=("policy.mode=plan",)), ClientSide()
        async with Editor(place, client.answers) as editor:
            await worked(editor)
            assert not [one for one in editor.asked if one["method"] == PERMISSION]
        assert [one[0] for one in await results(place)] == [CallStatus.REFUSED]
    assert client.written == []


async def test_in_ask_mode_one_question_names_both_reasons(tmp_path: Path) -> None:
    async with ModelServer(script(call("write", {"path": "a.txt", "content": "x\n"}))) as server:
        place, client = first(server, tmp_path, sets=("policy.mode=ask",)), ClientSide()
        async with Editor(place, {**client.answers, PERMISSION: choose("allow_once")}) as editor:
            await worked(editor)
            [question] = [one["params"] for one in editor.asked if one["method"] == PERMISSION]
    said = str(question["toolCall"]["content"])
    assert "outside of the confinement" in said
    assert "every write asks" in said


async def test_what_the_editor_formats_is_told_and_can_be_edited_further(tmp_path: Path) -> None:
    more = call("edit", {"path": "a.py", "old": "a = 1", "new": "a = 2"})
    async with ModelServer(script(call("write", {"path": "a.py", "content": "a=1"}), more)) as server:
        place, client = (
            first(server, tmp_path),
            ClientSide(lambda text: text.replace("=", " = ").replace("  ", " ") + "\n"),
        )
        async with Editor(place, {**client.answers, **ALWAYS}) as editor:
            await worked(editor)
            shown = [one["content"][0]["newText"] for one in editor.all("tool_call_update") if one.get("content")]
        told = await results(place)
    assert [one[0] for one in told] == [CallStatus.OK, CallStatus.OK]
    assert "another form when it saved it" in told[0][1]
    assert shown[0] == "a = 1\n"


async def test_the_manner_of_the_file_is_kept(tmp_path: Path) -> None:
    async with ModelServer(script(READ, EDIT)) as server:
        place, client = first(server, tmp_path), ClientSide()
        path = written(place, "a.py", "\ufeffa = 1\r\nb = 2\r\n")
        async with Editor(place, {**client.answers, **ALWAYS}) as editor:
            await worked(editor)
        assert Path(path).read_bytes() == "\ufeffa = 1\r\nb = 3\r\n".encode()
        assert [one[0] for one in await results(place)] == [CallStatus.OK, CallStatus.OK]


async def test_a_file_that_only_the_editor_has_is_read_and_not_overwritten_unseen(tmp_path: Path) -> None:
    async with ModelServer(
        script(call("write", {"path": "new.py", "content": "x\n"}), call("read", {"path": "new.py"}))
    ) as server:
        place, client = first(server, tmp_path), ClientSide()
        client.unsaved[str(place.workspace / "new.py")] = "not saved yet\n"
        async with Editor(place, {**client.answers, **ALWAYS}) as editor:
            await worked(editor)
        (first_status, first_said), (_, second_said) = await results(place)
    assert first_status is CallStatus.ERROR
    assert "has not been read" in first_said
    assert "not saved yet" in second_said
    assert client.written == []


async def test_a_folder_that_is_not_there_yet_is_made(tmp_path: Path) -> None:
    async with ModelServer(script(call("write", {"path": "deep/er/a.txt", "content": "x\n"}))) as server:
        place, client = first(server, tmp_path), ClientSide()
        async with Editor(place, {**client.answers, **ALWAYS}) as editor:
            await worked(editor)
        assert (place.workspace / "deep/er/a.txt").read_text() == "x\n"


async def test_an_editor_that_refuses_a_write_is_quoted_and_one_that_cannot_read_is_done_without(
    tmp_path: Path,
) -> None:
    def no(_: dict[str, Any]) -> None:
        raise refused("it is read-only")

    steps = (READ, call("write", {"path": "b.txt", "content": "x\n"}))
    async with ModelServer(script(*steps)) as server:
        place = first(server, tmp_path)
        written(place, "a.py", "on the disk\n")
        async with Editor(place, {"fs/read_text_file": no, "fs/write_text_file": no, **ALWAYS}) as editor:
            await worked(editor)
        read, wrote = await results(place)
    assert "on the disk" in read[1]
    assert wrote[0] is CallStatus.ERROR
    assert "it is read-only" in wrote[1]


async def test_what_a_command_has_just_changed_is_waited_for(tmp_path: Path) -> None:
    late: list[str] = ["a = 1\n", "a = 1\n", "a = 9\n"]
    steps = (call("shell", {"command": "echo 'a = 9' > a.py; touch -d 2099-01-01 a.py"}), READ)
    async with ModelServer(script(*steps)) as server:
        place = first(server, tmp_path, sets=("sandbox.confine=off",))
        written(place, "a.py", "a = 1\n")
        async with Editor(place, {"fs/read_text_file": lambda _: {"content": late.pop(0)}}) as editor:
            await worked(editor)
        assert "a = 9" in (await results(place))[1][1]
    assert late == []


async def test_pictures_and_what_the_person_sends_do_not_pass_through_the_editor(tmp_path: Path) -> None:
    async with ModelServer(script(call("read", {"path": "raw.bin"}))) as server:
        place, client = first(server, tmp_path), ClientSide()
        written(place, "raw.bin", bytes(range(256)))
        async with Editor(place, client.answers) as editor:
            await editor.hello(**FS)
            session = await editor.new()
            assert (
                await editor.prompt(session, "Go.", resource("file:///elsewhere/n.csv", text="a,b\n1,2\n"))
                == "end_turn"
            )
    assert client.read == []
    assert client.written == []


SET_ASIDE = {"configId": "files", "value": "sandbox"}


@pytest.mark.parametrize("capabilities", [{"terminal": False}, FS], ids=["none", "set aside"])
async def test_without_files_nothing_is_asked_of_the_editor(tmp_path: Path, capabilities: dict[str, Any]) -> None:
    async with ModelServer(script(READ, call("write", {"path": "b.txt", "content": "x\n"}))) as server:
        place, client = first(server, tmp_path), ClientSide()
        written(place, "a.py", "on the disk\n")
        async with Editor(place, client.answers) as editor:
            await editor.hello(**capabilities)
            session = await editor.new()
            if capabilities is FS:
                set_to = await editor.ask("session/set_config_option", sessionId=session, **SET_ASIDE)
                now = {one["id"]: one["currentValue"] for one in set_to["configOptions"]}
                assert now["files"] == "sandbox"
            else:
                with pytest.raises(Refused, match="no setting"):
                    await editor.ask("session/set_config_option", sessionId=session, **SET_ASIDE)
            assert await editor.prompt(session, "Go.") == "end_turn"
            assert editor.asked == []


async def test_the_model_is_told_that_commands_do_not_see_what_is_not_saved(tmp_path: Path) -> None:
    async with ModelServer(script()) as server, Editor(first(server, tmp_path), ClientSide().answers) as editor:
        await worked(editor)
    assert "not saved is seen by `read`" in server.requests[0].heard.system


async def test_what_an_editor_shows_otherwise_is_waited_for_once(tmp_path: Path) -> None:
    """Its watcher may still have to see what was just changed on the disk; what it shows then, it means."""
    touch = call("shell", {"command": "touch a.py"})
    async with ModelServer(script(touch, READ, touch, READ, touch, EDIT)) as server:
        place, client = first(server, tmp_path, sets=("sandbox.confine=off",)), ClientSide()
        path = written(place, "a.py", "a = 1\n")
        client.unsaved[path] = "a = 1\nb = 2\n"
        async with Editor(place, {**client.answers, **ALWAYS}) as editor:
            await worked(editor)
            asked = [one for one in editor.asked if one["method"] == "fs/read_text_file"]
        assert "b = 2" in (await results(place))[3][1]
        assert Path(path).read_text() == "a = 1\nb = 3\n"
    assert len(asked) <= 5 + 3, "five looks, one more to read, one to edit, one for what the editor made of it"


async def test_no_turn_goes_on_without_the_files_of_an_editor_that_has_left(tmp_path: Path) -> None:
    """A helper whose command takes a while to be ended does not hold up the end of the turn that began it."""

    def answer(request: ReceivedRequest) -> Step:
        if "Stay." in request.heard.last_words:
            return call("shell", {"command": "trap '' TERM; touch up; sleep 60"})
        return READ if request.heard.replies else delegate("Stay.")

    async with ModelServer(answer) as server:
        place = first(server, tmp_path, sets=("sandbox.confine=off",))
        written(place, "a.py", "a = 1\n")
        async with Editor(place) as editor:
            await editor.hello(**FS)
            editor.begin(await editor.new(), "Go.")
            await editor.until(lambda editor: editor.asked)
            while not (place.workspace / "up").exists():  # noqa: ASYNC110 - a command tells nobody
                await asyncio.sleep(0.01)
        assert len(server.requests) == 3, "a call that the editor's end had cut off was told to the model as stopped"
