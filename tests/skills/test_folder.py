"""A skill's folder is read whole, or refused: nothing outside of it, nothing without end, nothing that hides."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from angelia.skills import folder as limits
from angelia.skills.folder import fingerprint, read_folder
from angelia.skills.skill import read_skill
from tests.skills.folders import write_skill


def unreadable_name(at: Path) -> None:
    Path(os.fsdecode(os.fsencode(at) + b"/\xff")).touch()


def folder_for_file(at: Path) -> None:
    (at / "SKILL.md").unlink()
    (at / "SKILL.md").mkdir()


def many_files(at: Path) -> None:
    for number in range(201):
        (at / f"x{number}").touch()


BREAKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link to a file outside": (lambda at: (at / "x").symlink_to("/etc/passwd"), "it is a link"),
    "a link within": (lambda at: (at / "x").symlink_to("SKILL.md"), "it is a link"),
    "a link to a folder": (lambda at: (at / "x").symlink_to(".."), "it is a link"),
    "a pipe": (lambda at: os.mkfifo(at / "x"), "neither a file nor a folder"),
    "instructions without end": (
        lambda at: (at / "SKILL.md").write_text("---\nname: tea\ndescription: x\n---\n" + "x" * 60_000),
        "60,",
    ),
    "a large file": (lambda at: (at / "x").write_bytes(b"x" * 2_000_001), "2,000,001 bytes"),
    "many files": (many_files, "more than 200 files"),
    "deep folders": (lambda at: (at / "a/b/c/d/e/f/g").mkdir(parents=True), "folders deep"),
    "a hidden character in a name": (lambda at: (at / "a\u202eb").touch(), "not seen"),
    "a name that is no UTF-8": (unreadable_name, "no UTF-8"),
    "instructions that are no UTF-8": (
        lambda at: (at / "SKILL.md").write_bytes(b"---\nname: \xff"),
        "SKILL.md:2: it is not",
    ),
    "instructions with a NUL": (lambda at: (at / "SKILL.md").write_bytes(b"---\n\n\0"), "SKILL.md:3: it holds a NUL"),
    "none": (lambda at: (at / "SKILL.md").unlink(), "there is no file SKILL.md"),
    "instructions that are a folder": (
        folder_for_file,
        "there is no file SKILL.md",
    ),
}


@pytest.mark.parametrize("kind", BREAKS)
def test_a_folder_is_refused_for(tmp_path: Path, kind: str) -> None:
    folder = write_skill(tmp_path)
    assert read_skill(folder).usable
    breaks, words = BREAKS[kind]
    breaks(folder)
    skill = read_skill(folder)
    assert not skill.usable
    assert words in " ".join(one.in_words() for one in skill.findings)
    assert all(b"root:" not in one.data for one in skill.content.files)


def test_all_files_together_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_BYTES", 1_000)
    folder = write_skill(tmp_path, files={"a": "x" * 900, "b": "x" * 900, "c": "x"})
    assert not read_skill(folder).usable


CHANGES: dict[str, Callable[[Path], object]] = {
    "a word": lambda at: (at / "SKILL.md").write_text((at / "SKILL.md").read_text().replace("PLUM", "PEAR")),
    "a file more": lambda at: (at / "x").touch(),
    "a file less": lambda at: (at / "scripts/run.sh").unlink(),
    "a file renamed": lambda at: (at / "scripts/run.sh").rename(at / "scripts/ruin.sh"),
    "what may be executed": lambda at: (at / "scripts/run.sh").chmod(0o644),
    "what stands where": lambda at: (
        (at / "a").write_text((at / "b").read_text() + "x"),
        (at / "b").write_text("a"),
    ),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_the_digest_is_another_after_a_change_of(tmp_path: Path, kind: str) -> None:
    folder = write_skill(tmp_path, files={"scripts/run.sh": "echo tea\n", "a": "a", "b": "b"})
    digest, before = read_skill(folder).digest, fingerprint(folder)
    assert (read_skill(folder).digest, fingerprint(folder)) == (digest, before)
    CHANGES[kind](folder)
    assert read_skill(folder).digest != digest
    assert fingerprint(folder) != before


def test_times_and_what_is_no_part_of_it_change_nothing(tmp_path: Path) -> None:
    folder = write_skill(tmp_path, files={"a": "a"})
    digest = read_skill(folder).digest
    os.utime(folder / "a", (1, 1))
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("x")
    assert read_skill(folder).digest == digest
    assert [one.path for one in read_folder(folder)[0].files] == ["SKILL.md", "a"]
