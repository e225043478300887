"""What a turn's helpers changed is the turn's, and is taken back with it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from angelia.core import ending as end
from angelia.core.errors import BadInput
from angelia.core.principal import OWNER
from angelia.service.conversation.undo_command import undo_command
from angelia.testing.model.steps import Hang, Speak, call, say
from tests.delegation.family import WAIT, by_task, delegate, family
from tests.promise.inside import Conversation

pytestmark = pytest.mark.anyio


OVERWRITE = call("shell", {"command": "printf two > story.txt; printf h1 > both.txt"})


def write(path: str, content: str) -> Speak:
    return call("write", {"path": path, "content": content})


async def undo(talk: Conversation, word: str) -> str:
    return await undo_command(talk.app.undo_services, talk.session, word, by=OWNER)


def files(folder: Path) -> Mapping[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


async def test_what_helpers_changed_is_taken_back_with_the_turn_that_opened_them_and_comes_again(
    tmp_path: Path,
) -> None:
    script = by_task(
        {
            "change the story": [OVERWRITE, say("Changed.")],
            "pass it on": [delegate("write below"), WAIT, say("Passed.")],
            "write below": [write("below.txt", "new"), say("Written.")],
            "change the copy": [write("copied.txt", "new"), say("Changed.")],
            "Begin": [
                delegate("change the story", "pass it on", {"task": "change the copy", "workspace": "copy"}),
                WAIT,
                write("own.txt", "new"),
                say("Done."),
                write("later.txt", "new"),
                say("More."),
            ],
        }
    )
    (workspace := tmp_path / "workspace").mkdir()
    before = {"story.txt": "one", "both.txt": "one"}
    for name, text in before.items():
        (workspace / name).write_text(text)
    async with family(tmp_path, script, sets=("sandbox.confine=off", "delegation.depth=2")) as (talk, _):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        after = files(workspace)
        assert after == {"story.txt": "two", "both.txt": "h1", "below.txt": "new", "own.txt": "new"}
        await talk.say("And more.")
        assert await talk.ending() == end.Answered()
        assert [line.split()[0] for line in (await undo(talk, "list")).splitlines()[:2]] == ["2", "1"]
        (workspace / "both.txt").write_text("mine")
        shown = await undo(talk, "1")
        for line in ("below.txt: goes", "own.txt: goes", "story.txt: gets back", "both.txt: stays, and what it was"):
            assert line in shown
        assert "later.txt" not in shown
        await undo(talk, "yes")
        assert files(workspace) == {
            "story.txt": "one",
            "both.txt": "mine",
            "both.txt.before": "one",
            "later.txt": "new",
        }
        await undo(talk, "back")
        await undo(talk, "yes")
        assert files(workspace) == {**after, "both.txt": "mine", "later.txt": "new"}


async def test_while_a_helper_works_nothing_is_taken_back(tmp_path: Path) -> None:
    script = by_task({"endless": [write("story.txt", "two"), Hang()], "Begin": [delegate("endless"), say("Begun.")]})
    async with family(tmp_path, script, sets=("sandbox.confine=off",)) as (talk, server):
        await talk.say("Begin.")
        assert await talk.ending() == end.Answered()
        await server.when(lambda server: len(server.requests) >= 4)
        with pytest.raises(BadInput, match="Of what calls began, 1 thing still may change"):
            await undo(talk, "")
        assert (tmp_path / "workspace" / "story.txt").read_text() == "two"
