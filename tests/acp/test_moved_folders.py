"""A conversation goes on where its folder was moved to, at every door that names it; a copy is not taken for it."""

import shutil
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.core.ids import ConversationId
from angelia.core.principal import OWNER
from angelia.service.conversation.worked_folder import WorkedFolder
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from tests.acp.editor import Editor, Refused, first
from tests.faces.angelia import serving
from tests.promise import lives

pytestmark = pytest.mark.anyio

STORY = by_replies(
    [
        call("write", {"path": "note", "content": "one"}),
        say("One."),
        call("write", {"path": "more", "content": "two"}),
        say("Two."),
    ]
)


def writing(server: ModelServer, folder: Path) -> lives.Place:
    """A place in which a model may write."""
    return first(server, folder, sets=('policy.mode="edit"',))


def moved(place: lives.Place) -> str:
    """Rename the workspace; its new path."""
    return str(place.workspace.rename(place.workspace.with_name("renamed")))


@pytest.mark.parametrize("open_still", [False, True])
@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_a_session_goes_on_where_its_folder_lies_now(tmp_path: Path, method: str, open_still: bool) -> None:
    async with ModelServer(STORY) as server:
        here = writing(server, tmp_path)
        async with Editor(here) as editor:
            await editor.hello()
            session = await editor.new()
            await editor.prompt(session, "Write.")
            if open_still:
                now = moved(here)
                await editor.ask(method, sessionId=session, cwd=now, mcpServers=[])
                await editor.until(lambda editor: f"goes on in {now}" in editor.text())
    async with ModelServer(STORY) as server:
        here = writing(server, tmp_path)
        now = now if open_still else moved(here)
        async with Editor(here) as editor:
            await editor.hello()
            await editor.ask(method, sessionId=session, cwd=now, mcpServers=[])
            assert await editor.prompt(session, "Go on.") == "end_turn"
            assert ("goes on in" in editor.text()) is not open_still
            listed = await editor.ask("session/list", cwd=now)
            assert [one["sessionId"] for one in listed["sessions"]] == [session]
        asked = server.requests[-1].raw.decode()
        facts = await here.facts()
    assert (Path(now, "more").read_text(), Path(now, "note").read_text()) == ("two", "one")
    assert [fact for fact in facts if isinstance(fact, e.WorkspaceMoved)] == [e.WorkspaceMoved(now, OWNER)]
    assert f"it lies at {now} now" in asked
    assert await here.problems() == []


async def test_a_copy_beside_the_folder_is_refused(tmp_path: Path) -> None:
    async with ModelServer(STORY) as server:
        here = writing(server, tmp_path)
        async with Editor(here) as editor:
            await editor.hello()
            session = await editor.new()
            await editor.prompt(session, "Write.")
            copy = shutil.copytree(here.workspace, here.workspace.with_name("copy"))
            with pytest.raises(Refused, match="works in"):
                await editor.ask("session/load", sessionId=session, cwd=str(copy), mcpServers=[])
            assert await editor.prompt(session, "Go on.") == "end_turn"  # it is open still
        assert not any(isinstance(fact, e.WorkspaceMoved) for fact in await here.facts())


def test_in_the_terminal_the_folder_is_named(tmp_path: Path) -> None:
    with serving(tmp_path, [say("One."), say("Two."), say("Three.")]) as place:
        work = tmp_path / "project"
        work.mkdir()
        assert place.ask("-C", str(work), "Begin.").code == 0
        gone = work.rename(tmp_path / "renamed")
        ended = place.ask("-C", str(gone), "--continue", "Go on.")
        assert (ended.code, ended.out) == (0, "Two.\n"), ended.err
        assert f"goes on in {gone}" in ended.err
        work.mkdir()
        other = place.ask("-C", str(work), "--continue", "Go on.")
        assert other.code == 2
        assert f"works in {gone}, not in {work}" in other.err


def test_what_a_fork_took_over_does_not_move_it() -> None:
    moved = e.Entry(2, 2, e.WorkspaceMoved("/b", OWNER))
    fork = e.Entry(1, 1, e.ConversationOpened("terminal", "/copy", fork=e.ForkedFrom(ConversationId("c"), 2)))
    assert WorkedFolder().now([fork, moved]) == "/copy"
    later = e.Entry(3, 3, e.WorkspaceMoved("/c", OWNER))
    assert WorkedFolder().now([fork, moved, later]) == "/c"
