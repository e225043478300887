"""A folder's instructions at the terminal: asked about once, never asked in a script, and to be taken back."""

import re
import shlex
from pathlib import Path

import pytest

from angelia.testing.model.steps import say
from tests.faces.angelia import CTRL_D, ESC, Place, requests, serving

WORDS = "Use tabs, and sign with PLUM."


REVIEWER = "---\nname: code-reviewer\npermissionMode: plan\n---\nYou review. Name the worst fault first.\n"


def system(place: Place, number: int = -1) -> str:
    """The system prompt of a request."""
    return str(requests(place)[number]["body"]["messages"][0]["content"])


def test_a_script_is_told_in_one_line_and_follows_nothing_until_the_file_is_trusted(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Yes.")]) as place:
        file = place.work / "AGENTS.md"
        file.write_text(WORDS)
        asked = place.ask("hello")
        assert (asked.code, asked.out) == (0, "Yes.\n")
        told = f"angelia: {file} holds instructions that you have not trusted, so they are not followed. "
        assert f"{told}Read it, then: angelia trust {shlex.quote(str(place.work))}\n" in asked.err
        assert "PLUM" not in system(place)
        trusted = place.run("trust")
        assert WORDS in trusted.out
        assert f"{file} is trusted as it stands now" in trusted.err
        asked = place.ask("hello")
        assert "trust" not in asked.err
        assert WORDS in system(place)
        assert WORDS in place.run("show", "--prompt").out
        file.write_text("Sign with PEAR.")
        assert "has changed since you trusted it" in place.ask("hello").err
        assert "PLUM" not in system(place)
        assert "PEAR" not in system(place)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ((), "There is no AGENTS.md and no CLAUDE.md in"),
        (("--forget",), "Nothing is known of instructions at"),
        (("--list", "--forget"), "--list takes nothing else."),
        (("nowhere",), "There is no file or folder nowhere."),
    ],
)
def test_what_cannot_be_trusted_or_forgotten_is_said(place: Place, words: tuple[str, ...], error: str) -> None:
    ended = place.run("trust", *words)
    assert ended.code != 0
    assert error in ended.err
    assert "Traceback" not in ended.err


def test_what_is_trusted_is_listed_with_what_became_of_it_and_can_be_forgotten(place: Place) -> None:
    folders = [place.work / name for name in ("same", "changed", "gone")]
    for folder in folders:
        folder.mkdir()
        (folder / "AGENTS.md").write_text(WORDS)
        assert place.run("trust", str(folder)).code == 0
    (folders[1] / "AGENTS.md").write_text("Other words.")
    (folders[2] / "AGENTS.md").unlink()
    rows = [re.split(" {2,}", line) for line in place.run("trust", "--list").out.splitlines()]
    listed = {Path(row[0]).parent.name: row[-1] for row in rows[1:]}
    assert listed == {"same": "as trusted", "changed": "changed", "gone": "gone"}
    for folder in folders:
        assert place.run("trust", "--forget", str(folder)).code == 0
    assert "No folder's instructions were asked about yet." in place.run("trust", "--list").err


def test_a_file_that_does_not_count_in_its_folder_is_not_trusted_by_mistake(place: Place) -> None:
    (place.work / "AGENTS.md").write_text(WORDS)
    (place.work / "CLAUDE.md").write_text(WORDS)
    ended = place.run("trust", "CLAUDE.md")
    assert ended.code == 2
    assert f"angelia trust {shlex.quote(str(place.work / 'AGENTS.md'))}" in ended.err
    assert place.run("trust", "AGENTS.md").code == 0


def test_a_conversation_asks_once_and_follows_from_the_first_message_on(tmp_path: Path) -> None:
    with serving(tmp_path, [], "--echo") as place:
        (place.work / "AGENTS.md").write_text("\n".join([WORDS, *(f"Rule {n}." for n in range(2, 31))]))
        with place.chat() as terminal:
            terminal.sees("AGENTS.md in")
            terminal.sees("PLUM")
            terminal.sees("Rule 12.")
            terminal.sees("… and 18 more lines")
            terminal.sees("(y/n, v shows all of it, Esc asks later)")
            terminal.types("perhaps")
            terminal.sees("y, n or v, please")
            terminal.types("v")
            terminal.sees("Rule 30.")
            terminal.sees("(y/n, v shows all of it, Esc asks later)")
            terminal.types("y")
            terminal.sees("follows this version from the next message on")
            terminal.types("hello")
            terminal.sees("› hello")
            terminal.sees("hello")
            terminal.press(CTRL_D)
            terminal.ends()
        assert "PLUM" in system(place)
        with place.chat() as terminal:
            terminal.types("again")
            terminal.sees("› again")
            terminal.press(CTRL_D)
            terminal.ends()
            assert "y/n" not in terminal.seen


@pytest.mark.parametrize("key", ["n\r", ESC])
def test_a_no_is_data_and_is_not_asked_again_and_esc_asks_later(tmp_path: Path, key: str) -> None:
    with serving(tmp_path, [], "--echo") as place:
        (place.work / "AGENTS.md").write_text(WORDS)
        for number in range(2):
            with place.chat() as terminal:
                if number == 0 or key == ESC:
                    terminal.sees("Esc asks later)")
                    terminal.press(key)
                    terminal.sees("they are data")
                terminal.types("hello")
                terminal.sees("› hello")
                terminal.sees("hello")
                terminal.press(CTRL_D)
                terminal.ends()
            assert "PLUM" not in system(place)
        assert ("you said no" in place.run("trust", "--list").out) is (key != ESC)


def test_what_was_typed_is_stored_before_anything_is_asked_about_the_folder(tmp_path: Path) -> None:
    with serving(tmp_path, [], "--echo") as place:
        file = place.work / "AGENTS.md"
        file.write_text(WORDS)
        place.run("trust")
        with place.chat() as terminal:
            terminal.types("hello")
            terminal.sees("› hello")
            terminal.sees("hello")
            file.write_text("Sign with PEAR.")
            terminal.types("precious words")
            terminal.sees("Trust it as it is now?")
            terminal.kill()
        said = [fact["parts"][0]["text"] for fact in place.log() if fact["kind"] == "UserSaid"]
        assert said == ["hello", "precious words"]
        assert len(requests(place)) == 1


def test_a_changed_file_is_told_and_asked_about_before_the_next_message_is_read(tmp_path: Path) -> None:
    with serving(tmp_path, [], "--echo") as place:
        file = place.work / "AGENTS.md"
        file.write_text(WORDS)
        place.run("trust")
        with place.chat() as terminal:
            terminal.types("hello")
            terminal.sees("› hello")
            terminal.sees("hello")
            file.write_text("Sign with PEAR\u200b.")
            terminal.types("and now?")
            terminal.sees("› and now?")
            terminal.sees("has changed since you trusted it. Trust it as it is now?")
            terminal.sees("It holds 1 character that cannot be seen")
            terminal.sees("PEAR<U+200B>.")
            terminal.types("y")
            terminal.sees("told the model: The instructions of this folder are new")
            terminal.press(CTRL_D)
            terminal.ends()
        assert "PLUM" in system(place, 0)
        assert "PLUM" not in system(place)
        assert "PEAR<U+200B>." in system(place)


def test_the_file_of_a_helper_is_shown_whole_trusted_listed_refused_and_forgotten(place: Place) -> None:
    file = place.work / ".claude" / "agents" / "reviewer.md"
    file.parent.mkdir(parents=True)
    file.write_text(REVIEWER)
    asked = place.run("trust")
    assert asked.code == 0
    assert (
        f"{file} describes a helper that you have not trusted as it stands: angelia trust {shlex.quote(str(file))}"
        in asked.err
    )
    trusted = place.run("trust", str(file))
    assert "Note: not followed: permissionMode." in trusted.out
    assert "You review. Name the worst fault first." in trusted.out
    assert "The helper code-reviewer is trusted as" in trusted.err
    assert f"{file}: the helper code-reviewer can be given work." in place.run("trust").err
    assert "as trusted" in place.run("trust", "--list").out
    file.write_text(REVIEWER + "more")
    assert "changed" in place.run("trust", "--list").out
    assert "not spoken of until it changes" in place.run("trust", str(file), "--refuse").err
    assert "you said no" in place.run("trust", "--list").out
    assert place.run("trust", "--forget", str(file)).code == 0
    file.write_text("nothing")
    refused = place.run("trust", str(file))
    assert refused.code != 0
    assert "is not used: line 1: the file does not begin with" in refused.err


def test_the_hooks_of_a_project_are_shown_whole_and_run_until_they_are_forgotten(place: Place) -> None:
    folder = place.work / ".angelia" / "hooks"
    folder.mkdir(parents=True)
    (folder / "hooks.toml").write_text("[look]\nat = 'ending'\ncommand = './look'\n")
    (folder / "look").write_text("#!/bin/sh\nexit 0\n")
    (folder / "look").chmod(0o755)
    assert (
        f"{folder} holds hooks that you have not trusted as they stand: angelia trust {shlex.quote(str(folder))}"
        in place.run("trust").err
    )
    trusted = place.run("trust", str(folder))
    assert "── look (17 bytes, executable)\n#!/bin/sh" in trusted.out
    assert "outside of every sandbox" in trusted.err
    assert f"hook look@{place.work}" in place.run("doctor").out
    (folder / "look").write_text("#!/bin/sh\nexit 1\n")
    assert "changed; run as trusted" in place.run("trust", "--list").out
    assert place.run("trust", "--forget", str(folder)).code == 0
    assert "No folder's instructions" in place.run("trust", "--list").err
