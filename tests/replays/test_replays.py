"""The same is asked again, compared, and gone back through; the folder of the original is never touched."""

from pathlib import Path

import pytest

from angelia.sandboxes.workspace import earlier_files_folder
from angelia.service.conversation.earlier_folders import laying_out, tidy_earlier_folders
from angelia.testing.model.received import ReceivedRequest
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import Step, call, say
from tests import nursery
from tests.promise.lives import Place

pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap")]

WORDS = ("one", "two", "broken", "four")


def writes(request: ReceivedRequest) -> Step:
    """Writes each of the words into the same file, one after the other, whatever it finds there."""
    done = request.heard.replies
    if done == len(WORDS):
        return say("Done.")
    return call("shell", {"command": f"echo {WORDS[done]} >> words.txt; cat words.txt"})


async def test_the_same_asked_again_is_alike_but_for_times_and_ids(tmp_path: Path) -> None:
    async with ModelServer(writes) as server:
        place = Place(tmp_path, server)
        (place.workspace / "words.txt").write_text("zero\n")
        assert (await place.ask("Write.")).status == 0
        source = await place.conversation()
        after = (place.workspace / "words.txt").read_text()
        again = await nursery.run(["replay", source], place.env)
        made = await place.conversation()
        beside = await nursery.run(["diff", source, made], place.env)
    assert again.status == 0, again.stderr + again.stdout
    assert "it came to the same" in again.stderr
    assert beside.status == 0, beside.stdout
    assert made != source
    assert (place.workspace / "words.txt").read_text() == after == "zero\none\ntwo\nbroken\nfour\n"


async def test_where_another_answer_comes_it_says_so(tmp_path: Path) -> None:
    said = ["Blue."]
    async with ModelServer(lambda request: say(said[0])) as server:
        place = Place(tmp_path, server)
        await place.ask("Which colour?")
        source = await place.conversation()
        said[0] = "Red."
        again = await nursery.run(["replay", source], place.env)
    assert again.status == 1
    assert "model   Blue." in again.stdout
    assert "model   Red." in again.stdout
    assert "1 step alike" in again.stdout


async def test_from_an_entry_on_what_came_before_is_the_past_of_both(tmp_path: Path) -> None:
    async with ModelServer(lambda request: say(f"reply to {request.heard.last_words}")) as server:
        place = Place(tmp_path, server)
        await place.ask("first")
        source = await place.conversation()
        await place.ask("--resume", source, "second")
        entries = await place.entries()
        second = [entry.seq for entry in entries if type(entry.fact).__name__ == "UserSaid"][1]
        asked = len(server.requests)
        again = await nursery.run(["replay", source, "--from", str(second)], place.env)
        assert again.status == 0, again.stderr + again.stdout
        assert len(server.requests) == asked + 1
        assert server.requests[-1].heard.replies == 1


@pytest.mark.soak
async def test_the_entry_is_found_with_which_a_check_turned(tmp_path: Path) -> None:
    async with ModelServer(writes) as server:
        place = Place(tmp_path, server)
        await place.ask("Write.")
        source = await place.conversation()
        entries = await place.entries()
        finished = [entry.seq for entry in entries if type(entry.fact).__name__ == "ToolFinished"]
        found = await nursery.run(["bisect", source, "--check", "! grep -q broken words.txt"], place.env)
        none = await nursery.run(["bisect", source, "--check", "true"], place.env)
    assert found.status == 0, found.stderr
    assert f"no from {finished[2]}." in found.stdout, found.stdout + found.stderr
    assert "result  shell, ok" in found.stdout
    assert none.status == 2
    assert "nothing to find" in none.stderr
    assert not list((tmp_path / "home-work" / "copies").iterdir())


async def test_a_fork_has_the_files_as_they_were(tmp_path: Path) -> None:
    async with ModelServer(writes) as server:
        place = Place(tmp_path, server)
        (place.workspace / "kept.txt").write_text("kept")
        await place.ask("Write.")
        source = await place.conversation()
        entries = await place.entries()
        second = [entry.seq for entry in entries if type(entry.fact).__name__ == "ToolFinished"][1]
        forked = await nursery.run(["fork", source, "--at", str(second), "--files"], place.env)
        assert forked.status == 0, forked.stderr
    (copy,) = (tmp_path / "home-work" / "copies").iterdir()
    assert {file.name: file.read_text() for file in copy.iterdir()} == {"kept.txt": "kept", "words.txt": "one\ntwo\n"}
    assert (place.workspace / "words.txt").read_text() == "one\ntwo\nbroken\nfour\n"


@pytest.mark.parametrize("at", ["earlier.copied", "earlier.taken_back"])
async def test_what_a_killed_fork_had_not_laid_out_to_its_end_is_gone_after_the_next_start(
    tmp_path: Path, at: str
) -> None:
    copies = tmp_path / "home-work" / "copies"
    async with ModelServer(writes) as server:
        place = Place(tmp_path, server)
        await place.ask("Write.")
        source = await place.conversation()
        await nursery.run_killed_at(f"{at}:1", ["fork", source, "--files"], place.env)
        assert [folder.suffix for folder in copies.iterdir()] == [".part"], "no whole one is taken for it"
        forked = await nursery.run(["fork", source, "--files"], place.env)
        assert forked.status == 0, forked.stderr
    (copy,) = copies.iterdir()
    assert copy.suffix == ""
    assert (copy / "words.txt").exists()


async def test_what_somebody_lays_out_just_now_is_left(tmp_path: Path) -> None:
    target = earlier_files_folder(tmp_path / "home") / "x"
    with laying_out(target) as part:
        (part / "file").touch()
        await tidy_earlier_folders(tmp_path / "home")
        assert (part / "file").exists()
    assert (target / "file").exists()
    with pytest.raises(OSError, match="full"), laying_out(target.with_name("y")):
        raise OSError("full")
    assert [folder.name for folder in target.parent.iterdir()] == ["x"]


async def test_the_copy_in_which_a_fork_worked_goes_with_the_last_conversation_in_it(tmp_path: Path) -> None:
    copies = tmp_path / "home-work" / "copies"

    async def made(place: Place, *how: str) -> str:
        forked = await nursery.run(["fork", *how], place.env)
        assert forked.status == 0, forked.stderr
        return await place.conversation()

    async def deleted(place: Place, conversation: str) -> list[Path]:
        gone = await nursery.run(["delete", "--yes-really", conversation], place.env)
        assert gone.status == 0, gone.stderr
        return list(copies.iterdir())

    async with ModelServer(writes) as server:
        place = Place(tmp_path, server)
        await place.ask("Write.")
        source = await place.conversation()
        first = await made(place, source, "--files")
        (copy,) = copies.iterdir()
        second = await made(place, first)
        assert await deleted(place, first) == [copy], "another conversation works there"
        assert await deleted(place, second) == []
        assert await deleted(place, source) == []
    assert (place.workspace / "words.txt").exists(), "a person's own folder stays"
