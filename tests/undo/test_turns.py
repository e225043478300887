"""What a turn changed is shown and taken back, by the command line, whatever the sandbox can watch."""

from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.sandboxes.local.confinement import bubblewrap_program
from angelia.sandboxes.undo.supervision import can_watch
from angelia.testing import crash
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests import nursery
from tests.promise.lives import Place
from tests.undo.trees import furnish, tree

pytestmark = pytest.mark.anyio

OFF = ("sandbox.confine=off", "policy.mode=autonomous")
CHANGES = (
    call("read", {"path": "notes.txt"}, wire_id="c0"),
    call("edit", {"path": "notes.txt", "old": "two", "new": "zwei"}, wire_id="c1"),
    call("write", {"path": "new/deep/file.txt", "content": "made\n"}, wire_id="c2"),
    call("shell", {"command": "rm src/main.py"}, wire_id="c3"),
    call("shell", {"command": "mv src/run.sh moved.sh"}, wire_id="c4"),
    say("Done."),
)


async def _lived(folder: Path, *steps: Step, sets: tuple[str, ...] = OFF) -> tuple[Place, "ModelServer"]:
    server = ModelServer(by_replies(list(steps)))
    await server.__aenter__()
    place = Place(folder, server, sets=sets)
    furnish(place.workspace)
    return place, server


async def _undo(place: Place, *words: str) -> crash.Run:
    return await nursery.run(["undo", *words], place.env)


async def test_a_turn_is_taken_back_to_the_byte_and_put_back_again(tmp_path: Path) -> None:
    place, server = await _lived(tmp_path, *CHANGES)
    try:
        before = tree(place.workspace)
        ran = await place.ask("Change things.")
        assert ran.status == 0, ran.stderr
        changed = tree(place.workspace)
        assert changed != before
        looked = await _undo(place, "--diff")
        assert tree(place.workspace) == changed, "looking changes nothing"
        assert "-zwei" in looked.stdout
        assert "+two" in looked.stdout
        assert "new/deep/file.txt: goes" in looked.stdout
        assert "src/main.py: gets back what it was" in looked.stdout
        done = await _undo(place, "--yes")
        assert done.status == 0, done.stderr
        assert tree(place.workspace) == before
        back = await _undo(place, "back", "--yes")
        assert back.status == 0, back.stderr
        assert tree(place.workspace) == changed
        facts = await place.facts()
        assert [fact.turn for fact in facts if isinstance(fact, e.FilesTakenBack)] == [1, 0]
        told = {path for fact in facts if isinstance(fact, e.FilesChanged) for path in fact.paths}
        assert {"notes.txt", "new/deep/file.txt", "src/main.py"} <= told
    finally:
        await server.__aexit__(None, None, None)


async def test_what_the_person_changed_since_is_left_alone(tmp_path: Path) -> None:
    place, server = await _lived(tmp_path, *CHANGES)
    try:
        await place.ask("Change things.")
        (place.workspace / "notes.txt").write_text("mine\n")
        (place.workspace / "new/deep/file.txt").write_text("mine too\n")
        (place.workspace / "src/main.py").write_text("a new one of mine\n")
        done = await _undo(place, "--yes")
        assert done.status == 0, done.stderr
        assert (place.workspace / "notes.txt").read_text() == "mine\n"
        assert (place.workspace / "notes.txt.before").read_text() == "one\ntwo\nthree\n"
        assert (place.workspace / "new/deep/file.txt").read_text() == "mine too\n"
        assert (place.workspace / "src/main.py").read_text() == "a new one of mine\n"
        assert (place.workspace / "src/main.py.before").read_text() == "print('hello')\n"
        assert (place.workspace / "src/run.sh").exists(), "the rest is taken back"
    finally:
        await server.__aexit__(None, None, None)


async def test_deleting_a_conversation_reaches_what_was_kept(tmp_path: Path) -> None:
    place, server = await _lived(tmp_path, *CHANGES)
    try:
        await place.ask("Change things.")
        assert list((place.home / "undo").glob("*/*/journal"))
        found = await place.conversation()
        gone = await nursery.run(["delete", "--yes-really", found], place.env)
        assert gone.status == 0, gone.stderr
        assert not [*(place.home / "undo").rglob("*.*"), *(place.home / "undo").glob("*")]
    finally:
        await server.__aexit__(None, None, None)


@pytest.mark.parametrize("word", ["7", "what"])
async def test_a_turn_that_changed_nothing_is_no_turn_to_take_back(tmp_path: Path, word: str) -> None:
    place, server = await _lived(tmp_path, *CHANGES)
    try:
        await place.ask("Change things.")
        said = await _undo(place, word, "--yes")
        assert said.status == 2
        assert "These can be taken back: 1." in said.stderr
    finally:
        await server.__aexit__(None, None, None)


@pytest.mark.real("bwrap")
async def test_what_a_watched_command_destroys_is_not_asked_about_and_comes_back(tmp_path: Path) -> None:
    if not can_watch(bubblewrap_program()):
        pytest.skip("commands cannot be watched here")
    steps = (
        call("shell", {"command": "rm -rf -- * && mkdir src && echo other > src/main.py"}, wire_id="c1"),
        call("shell", {"command": "python3 -c \"open('new.txt', 'w').write('x')\""}, wire_id="c2"),
        say("Done."),
    )
    place, server = await _lived(tmp_path, *steps, sets=("policy.mode=edit",))
    try:
        before = tree(place.workspace)
        ran = await place.ask("Destroy things.")
        assert ran.status == 0, ran.stderr
        assert set(tree(place.workspace)) == {"src", "src/main.py", "new.txt"}
        facts = await place.facts()
        assert not [fact for fact in facts if isinstance(fact, e.ApprovalAsked)]
        told = [fact for fact in facts if isinstance(fact, e.FilesChanged)]
        assert [fact.paths for fact in told][1:] == [("new.txt",)]
        assert {"notes.txt", "src/main.py", "src/deep/er/data.bin"} <= set(told[0].paths)
        done = await _undo(place, "--yes")
        assert done.status == 0, done.stderr
        assert tree(place.workspace) == before
    finally:
        await server.__aexit__(None, None, None)
