"""Tasks are read from lines, tables and folders, and what is wrong is said before anything is asked."""

import json
from pathlib import Path

import pytest

from angelia.core.errors import BadInput
from angelia.service.batches.tasks import digest_of, read_tasks
from angelia.service.batches.trials import trials_of

GOOD = {"id": "sum", "prompt": "Add up."}


def lines(folder: Path, *rows: object) -> Path:
    file = folder / "tasks.jsonl"
    file.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return file


def test_a_line_is_a_task_and_its_files_go_where_it_says(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.csv").write_text("1")
    (tmp_path / "b.txt").write_text("2")
    file = lines(tmp_path, {**GOOD, "files": ["data", "b.txt"]}, "", {"prompt": "?", "files": {"in/c": "b.txt"}})
    first, second = read_tasks(file)
    assert first.files == {"data/a.csv": "data/a.csv", "b.txt": "b.txt"}
    assert (second.id, second.files) == ("0003", {"in/c": "b.txt"})
    assert first.path("b.txt").read_text() == "2"


def test_a_table_has_defaults_for_all_its_tasks(tmp_path: Path) -> None:
    file = tmp_path / "tasks.toml"
    file.write_text(
        '[defaults]\nmax_steps = 7\ncheck = "true"\n[[task]]\nid = "a"\nprompt = "A?"\n'
        '[[task]]\nid = "b"\nprompt = "B?"\nmax_steps = 9\n'
    )
    assert [(task.id, task.max_steps, task.check) for task in read_tasks(file)] == [("a", 7, "true"), ("b", 9, "true")]


def test_a_folder_has_a_folder_for_each_task(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "files/deep").mkdir(parents=True)
        (tmp_path / name / "prompt.md").write_text(f"Do {name}.\n")
        (tmp_path / name / "files/deep/a.txt").write_text(name)
    (tmp_path / "one/check.py").write_text("def check(context): return True")
    (tmp_path / "two/check.sh").write_text("true")
    (tmp_path / "two/check").mkdir()
    (tmp_path / "two/check/wanted.txt").write_text("2")
    one, two = read_tasks(tmp_path)
    assert (one.prompt, one.files, one.check) == (
        "Do one.",
        {"deep/a.txt": "files/deep/a.txt"},
        str(tmp_path / "one/check.py"),
    )
    assert (two.check, two.check_files) == ("sh check.sh", {"wanted.txt": "check/wanted.txt", "check.sh": "check.sh"})


def test_a_check_for_all_is_for_those_that_have_none_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "all.py").write_text("")
    file = lines(tmp_path, GOOD, {"id": "own", "prompt": "?", "check": "test -f a"})
    assert [task.check for task in read_tasks(file, str(tmp_path / "all.py"))] == [
        str(tmp_path / "all.py"),
        "test -f a",
    ]


def test_a_check_for_all_that_is_not_there_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"There is no file .*/mistyped\.py to check by\. Nothing was asked\."):
        read_tasks(lines(tmp_path, GOOD), str(tmp_path / "mistyped.py"))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((), "There is no task in"),
        (("{",), "Line 1 of"),
        (("3",), "Line 1 of"),
        ((GOOD, GOOD), "Two tasks of"),
        (({"id": "a"},), "prompt"),
        (({"id": "a/b", "prompt": "?"},), "no usable id"),
        (({"id": "a", "prompt": "  "},), "has no prompt"),
        (({**GOOD, "promt": "?"},), "promt"),
        (({**GOOD, "files": ["away.csv"]},), "no such file"),
        (({**GOOD, "check": "away.py"},), "no such file"),
        (({**GOOD, "texts": {"../a": "x"}},), "would put a file at ../a"),
        (({**GOOD, "texts": {"/etc/a": "x"}},), "would put a file at /etc/a"),
        (({**GOOD, "check_seconds": 0},), "gives its check no time"),
    ],
)
def test_what_is_wrong_is_said_by_task_before_anything_is_asked(
    tmp_path: Path, rows: tuple[object, ...], said: str
) -> None:
    with pytest.raises(BadInput) as refused:
        read_tasks(lines(tmp_path, *rows))
    assert said in str(refused.value)


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_tasks(tmp_path / "away.jsonl")


def test_the_digest_is_that_of_the_words_wherever_they_lie(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    here, there = read_tasks(lines(tmp_path, GOOD)), read_tasks(lines(tmp_path / "there", GOOD))
    other = read_tasks(lines(tmp_path, {**GOOD, "prompt": "Add up!"}))
    assert digest_of(here) == digest_of(there) != digest_of(other)


def test_each_try_at_a_task_by_a_model_has_a_key_of_its_own(tmp_path: Path) -> None:
    tasks = read_tasks(lines(tmp_path, GOOD, {"id": "own", "prompt": "?", "model": "a:own"}))
    trials = list(trials_of("b", tasks, ("a:x", "a:y"), 2))
    assert len({trial.key for trial in trials}) == len({trial.folder for trial in trials}) == len(trials) == 6
    assert {trial.model for trial in trials if trial.task.id == "own"} == {"a:own"}
