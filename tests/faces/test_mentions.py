"""Files that a message names by an @, and commands that a person types themselves."""

import sqlite3
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path
from subprocess import run

import pytest

from angelia.faces.words.mentions import MentionableFile, MentionableFiles, mentioned_files, ranked
from angelia.sandboxes.port import Sandbox, SandboxGone
from angelia.testing.model.steps import say
from tests.faces.angelia import CTRL_D, requests, serving

FILES = [
    MentionableFile("harvest.csv", 120, 1.0),
    MentionableFile("docs/harvest of 2026.md", 80, 2.0),
    MentionableFile("src/shared.py", 40, 3.0),
    MentionableFile("src/head_and_rows.py", 40, 4.0),
]


@pytest.mark.parametrize(
    ("begun", "found"),
    [
        ("har", ["docs/harvest of 2026.md", "harvest.csv", "src/shared.py", "src/head_and_rows.py"]),
        ("src/", ["src/head_and_rows.py", "src/shared.py"]),
        ("DOCS", ["docs/harvest of 2026.md"]),
        ("hcsv", ["harvest.csv"]),
        ("xyz", []),
        ("[", []),
    ],
)
def test_the_letters_find_names_first_then_paths_and_of_equal_ones_the_newest(begun: str, found: list[str]) -> None:
    assert [one.path for one in ranked(begun, FILES)] == found


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Look at @a.txt.", ["a.txt"]),
        ('Compare @a.txt, @"my garden.md"! And @a.txt?', ["a.txt", "my garden.md"]),
        ("write to ann@a.txt", []),
        ("@ann said @missing.txt @. @ @\0 @~nobody-of-that-name/x", []),
        ("@sub", []),
        ("@sub/b.txt", ["sub/b.txt"]),
        ("@v1.2", ["v1.2"]),
    ],
)
def test_only_what_is_a_file_there_is_attached_and_each_once(text: str, named: list[str], tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.txt", "my garden.md", "sub/b.txt", "v1.2"):
        (tmp_path / name).write_text("x")
    assert list(mentioned_files(text, tmp_path)) == [tmp_path / name for name in named]


@pytest.mark.anyio
async def test_while_there_is_no_sandbox_nothing_is_offered(tmp_path: Path) -> None:
    def missing() -> AbstractAsyncContextManager[Sandbox]:
        raise SandboxGone("There is none.")

    assert await MentionableFiles(lambda: tmp_path, missing).offered() == ()


def test_a_file_is_found_by_some_letters_and_attached_when_the_message_goes(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Seven beds.")]) as place:
        (place.work / "docs").mkdir()
        (place.work / "docs" / "my harvest.md").write_text("seven beds, one frost")
        with place.chat() as terminal:
            terminal.sees("ready")
            terminal.press("what is in @hvst")
            terminal.sees("docs/my harvest.md")
            terminal.press("\t")
            terminal.until(lambda: '@"docs/my harvest.md"' in terminal.screen)
            terminal.types(" about?")
            terminal.sees("Seven beds.")
            asked = str(requests(place)[0])
            assert "seven beds, one frost" in asked


def test_what_is_typed_before_the_conversation_is_open_is_offered_its_files_then(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Seven beds.")]) as place:
        (place.work / "harvest.csv").write_text("seven beds")
        place.ask("How many beds?")
        with closing(sqlite3.connect(place.home / "angelia.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            with place.chat() as terminal:
                terminal.sees("opening")
                terminal.press("what is in @har")
                terminal.comes_to_rest()
                assert "exception" not in terminal.screen
                other.execute("ROLLBACK")
                terminal.sees("harvest.csv")


def test_a_command_after_an_exclamation_mark_runs_at_once_and_is_read_with_the_next_message(tmp_path: Path) -> None:
    with serving(tmp_path, [say("I see nine.")]) as place, place.chat("--set", "sandbox.confine=off") as terminal:
        terminal.sees("ready")
        terminal.types("!echo $((4+5)) beds; exit 3")
        terminal.sees("9 beds")
        terminal.sees("exit 3 · the model reads it with your next message")
        assert requests(place) == []
        terminal.types("How many?")
        terminal.sees("I see nine.")
        asked = str(requests(place)[0])
        assert "echo $((4+5)) beds" in asked
        assert "9 beds" in asked
        terminal.press(CTRL_D)
        assert terminal.ends() == 0
        assert place.kinds().index("WorkEnded") < place.kinds().index("UserSaid")


def test_a_push_that_is_typed_gets_out_of_the_folder(tmp_path: Path) -> None:
    with serving(tmp_path, [say("unasked")]) as place:
        git = ("git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org")
        run([*git, "init", "-q", "--bare", "-b", "main", str(tmp_path / "elsewhere.git")], check=True)
        run([*git, "init", "-q", "-b", "main", str(place.work)], check=True)
        run([*git, "-C", str(place.work), "commit", "-q", "--allow-empty", "-m", "beds"], check=True)
        run([*git, "-C", str(place.work), "remote", "add", "origin", str(tmp_path / "elsewhere.git")], check=True)
        with place.chat() as terminal:
            terminal.sees("ready")
            terminal.types("!git push origin main")
            terminal.sees("main -> main")
        there = run(
            [*git, "-C", str(tmp_path / "elsewhere.git"), "log", "--format=%s"], check=True, capture_output=True
        )
        assert there.stdout == b"beds\n"
