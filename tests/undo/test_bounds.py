"""What is kept to be taken back is bounded, in bytes and in days, and the oldest goes first."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from angelia.sandboxes.undo.call_sandbox import keep_at
from angelia.sandboxes.undo.store import UndoSettings, UndoStore

SIZE = 100_000


def keep(store: UndoStore, work: Path, name: str) -> None:
    """A call that overwrote a file of that name."""
    (work / name).write_bytes(b"x" * SIZE)
    step = store.begin("c", work, name)
    keep_at(step, name)
    (work / name).write_text("other")
    step.end()


def calls(store: UndoStore) -> list[str]:
    return [step.begun.call for step in store.steps("c")]


def test_what_is_kept_for_undo_stays_within_its_bytes_and_the_oldest_goes_first(tmp_path: Path) -> None:
    store = UndoStore(tmp_path / "home", UndoSettings(max_bytes=10 * SIZE))
    for number in range(30):
        keep(store, tmp_path, f"{number:02}")
        held = sum(path.stat().st_size for path in (tmp_path / "home/undo").rglob("*") if path.is_file())
        assert held <= 11 * SIZE, "the journals' own lines come to it"
    left = calls(store)
    assert len(left) >= 5
    assert set(left).isdisjoint(f"{number:02}" for number in range(10)), "those of one millisecond are in any order"


def test_what_is_kept_for_undo_goes_after_its_days(tmp_path: Path) -> None:
    store = UndoStore(tmp_path / "home", UndoSettings(days=7))
    for name in ("old", "new"):
        keep(store, tmp_path, name)
    old = time.time() - 8 * 86_400
    for step in store.steps("c"):
        if step.begun.call == "old":
            os.utime(step.folder, (old, old))
    store.prune(time.time())
    assert calls(store) == ["new"]


DAY = 86_400


def mirror(store: UndoStore, conversation: str, *, days_ago: float = 0) -> Path:
    """A copy of what is elsewhere, somewhat deep, that was asked for so long ago."""
    folder = store.mirror_folder(conversation)
    (folder / "a/b").mkdir(parents=True)
    (folder / "a/b/x").write_bytes(b"x" * 2 * SIZE)
    then = time.time() - days_ago * DAY
    os.utime(folder, (then, then))
    return folder


def test_copies_of_what_is_elsewhere_count_within_the_bytes(tmp_path: Path) -> None:
    store = UndoStore(tmp_path / "home", UndoSettings(max_bytes=10 * SIZE))
    for conversation in ("d", "e", "f"):
        mirror(store, conversation)
    for number in range(8):
        keep(store, tmp_path, f"{number:02}")
    store.prune(time.time())
    assert 1 <= len(calls(store)) <= 3


def test_a_draft_that_goes_while_it_is_counted_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = UndoStore(tmp_path / "home", UndoSettings())
    folder = tmp_path / "home/undo-mirrors/c"
    folder.mkdir(parents=True)
    for name in ("notes.txt", ".notes.txt.part"):
        (folder / name).write_bytes(b"x" * SIZE)
    scandir = os.scandir

    @contextmanager
    def put_in_place(path: Path) -> Iterator[list["os.DirEntry[str]"]]:
        with scandir(path) as found:
            entries = list(found)
        if path == folder:
            (folder / ".notes.txt.part").unlink(missing_ok=True)
        yield entries

    monkeypatch.setattr(os, "scandir", put_in_place)
    store.prune(time.time())
    assert SIZE <= store.settings.max_bytes - store.quota().left < 2 * SIZE


def test_a_copy_of_what_is_elsewhere_goes_with_what_was_kept_after_a_day(tmp_path: Path) -> None:
    store = UndoStore(tmp_path / "home", UndoSettings())
    keep(store, tmp_path, "x")
    old, used, needed = (mirror(store, name, days_ago=days) for name, days in (("o", 2), ("u", 0.5), ("c", 2)))
    store.prune(time.time())
    assert [folder.exists() for folder in (old, used, needed)] == [False, True, True]
