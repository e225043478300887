"""What a call left running is announced when it ends, and reaches the model once, also after a kill."""

import asyncio
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.content import CallStatus
from angelia.testing.model.answerers import by_replies, instant
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests.acp.editor import Editor, first
from tests.acp.remote import Remote
from tests.promise.lives import Place

pytestmark = pytest.mark.anyio

UNTIL_GO = "while [ ! -e go ]; do sleep 0.05; done; echo the build is done"
LATER = call("shell", {"command": UNTIL_GO, "background": True})


def script(request: ReceivedRequest) -> Step:
    """A command in the background, then answers."""
    return LATER if request.heard.replies == 0 else say(f"Reply {request.heard.replies}.")


async def ends(place: Place) -> list[e.WorkEnded]:
    """What has ended, according to the log."""
    return [fact for fact in await place.facts() if isinstance(fact, e.WorkEnded)]


async def test_an_end_after_the_turn_is_announced_and_read_once(tmp_path: Path) -> None:
    async with ModelServer(script) as server:
        place = first(server, tmp_path)
        async with Editor(place) as editor:
            await editor.hello()
            session = await editor.new()
            assert await editor.prompt(session, "Build.") == "end_turn"
            (place.workspace / "go").touch()
            await editor.until(lambda editor: "has ended: exit status 0" in editor.text())
            updates = editor.all("tool_call_update")
            assert "the build is done" in str(updates[-1]["content"])
            for _ in range(2):
                assert await editor.prompt(session, "And?") == "end_turn"
        [end] = await ends(place)
        facts = await place.facts()
    assert end.status is CallStatus.OK
    told = [request.raw.decode().count("the build is done\\n[exit") for request in server.requests]
    assert told == [0, 0, 1, 1]
    notices = [fact.id for fact in facts if isinstance(fact, e.DeliveryQueued) and fact.origin == "notice"]
    settled = [fact.id for fact in facts if isinstance(fact, e.DeliverySettled)]
    assert [settled.count(notice) for notice in notices] == [1]


async def test_an_end_that_was_looked_at_is_not_announced(tmp_path: Path) -> None:
    def looking(request: ReceivedRequest) -> Step:
        if request.heard.replies == 1:
            return call("process", {"action": "wait", "id": "c4_0"})
        return script(request)

    async with ModelServer(looking) as server:
        place = first(server, tmp_path)
        async with Editor(place) as editor:
            await editor.hello()
            waiting = editor.begin(await editor.new(), "Build.")
            await editor.until(lambda editor: len(editor.all("tool_call_update")) == 3)
            (place.workspace / "go").touch()
            assert (await waiting)["stopReason"] == "end_turn"
            assert "has ended" not in editor.text()
        [end] = await ends(place)
    assert end.told_by not in ("", end.call)
    assert server.requests[-1].raw.decode().count("the build is done\\n[exit") == 1


async def test_left_by_its_editor_it_ends_and_the_next_one_to_look_is_told(tmp_path: Path) -> None:
    async with ModelServer(script) as server:
        place = first(server, tmp_path)
        async with Remote(place) as editor:
            await editor.hello()
            session = await editor.new()
            await editor.prompt(session, "Build.")
            assert await editor.leave() == 0
        [end] = await ends(place)
        async with Editor(place) as editor:
            await editor.hello()
            await editor.load(session)
            assert editor.text().count("has ended") == 1
    assert end.status is CallStatus.ERROR


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_killed_with_its_process_it_is_unknown_and_told_once(tmp_path: Path, method: str) -> None:
    async with ModelServer(script) as server:
        place = first(server, tmp_path)
        async with Remote(place) as editor:
            await editor.hello()
            session = await editor.new()
            await editor.prompt(session, "Build.")
            await editor.kill()
        assert await ends(place) == []
        for _ in range(2):
            async with Editor(place) as editor:
                await editor.hello()
                await editor.load(session, method)
                await editor.until(lambda editor: editor.place.home.exists())
                assert await editor.prompt(session, "And?") == "end_turn"
                said = editor.text()
        [end] = await ends(place)
        assert not await place.problems()
    assert end.status is CallStatus.UNKNOWN
    assert [request.raw.decode().count("It may or may not have done its work") for request in server.requests] == [
        0,
        0,
        1,
        1,
    ]
    assert said.count("has ended") == (1 if method == "session/load" else 0)


@pytest.mark.parametrize("point", ["work.ended:1", "work.told:1"])
async def test_killed_around_the_announcement_it_is_told_once(tmp_path: Path, point: str) -> None:
    async with ModelServer(script) as server:
        place = first(server, tmp_path)
        async with Remote(place, at=point) as editor:
            await editor.hello()
            session = await editor.new()
            await editor.prompt(session, "Build.")
            (place.workspace / "go").touch()
            async with asyncio.timeout(90):
                await editor.ended
        async with Editor(place) as editor:
            await editor.hello()
            await editor.load(session)
            assert await editor.prompt(session, "And?") == "end_turn"
            assert editor.text().count("has ended") == 1
        [end] = await ends(place)
    assert end.status is (CallStatus.OK if point == "work.told:1" else CallStatus.UNKNOWN)


async def test_another_process_that_opens_the_conversation_leaves_it_alone(tmp_path: Path) -> None:
    async with ModelServer(script) as server:
        place = first(server, tmp_path)
        async with Remote(place) as editor, Editor(place) as other:
            await editor.hello()
            session = await editor.new()
            await editor.prompt(session, "Build.")
            await other.hello()
            await other.load(session)
            assert await other.prompt(session, "And?") == "end_turn"
            assert await ends(place) == []
            (place.workspace / "go").touch()
            await other.until(lambda editor: "the build is done" in str(editor.all("tool_call_update")))
        [end] = await ends(place)
    assert end.status is CallStatus.OK


async def test_the_terminal_is_told_by_the_same_way(tmp_path: Path) -> None:
    async with ModelServer(by_replies([LATER, say("It runs.")])) as server:
        place = first(server, tmp_path)
        life = await place.ask("Build.")
        assert life.status == 0
        server.script = ModelServer(instant).script
        later = await place.ask("And?", "--continue")
    assert "has ended" in later.stderr
    assert "has ended" in server.requests[-1].raw.decode()
