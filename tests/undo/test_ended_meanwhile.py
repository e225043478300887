"""A journal that its call ends while another life looks at it: that life begins, and finds what was kept."""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest

from angelia.sandboxes.undo.call_sandbox import keep_at
from angelia.sandboxes.undo.step import JOURNAL, OPEN, StepJournal
from angelia.sandboxes.undo.store import UndoSettings, UndoStore


def _changed(step: StepJournal, work: Path) -> None:
    (work / "notes.txt").write_text("before")
    keep_at(step, "notes.txt")
    (work / "notes.txt").write_text("after")


def _start(store: UndoStore) -> list[str]:
    store.recover()
    return []


def _undo(store: UndoStore) -> list[str]:
    return [step.begun.call for step in store.steps("c")]


@pytest.mark.parametrize("look", [_start, _undo])
@pytest.mark.parametrize("changes", [True, False])
def test_it_is_found_where_it_is_then(
    look: Callable[[UndoStore], list[str]], changes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, opened = UndoStore(tmp_path / "home", UndoSettings()), os.open
    (work := tmp_path / "work").mkdir()
    step = store.begin("c", work, "c1_0")
    if changes:
        _changed(step, work)

    def after_its_end(path: Any, *args: Any, **more: Any) -> int:
        at = Path(os.fsdecode(path)) if isinstance(path, str | bytes | Path) else Path()
        if at.name == JOURNAL and at.parent.name.endswith(OPEN):
            monkeypatch.setattr(os, "open", opened)
            step.end()
        return opened(path, *args, **more)

    monkeypatch.setattr(os, "open", after_its_end)
    found = look(store)
    assert os.open is opened, "nobody looked"
    kept = ["c1_0"] if changes else []
    assert found == (kept if look is _undo else [])
    assert _undo(store) == kept


def test_one_that_was_killed_before_it_had_its_name_goes_with_age_as_others_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = UndoStore(tmp_path / "home", UndoSettings(days=0))
    (work := tmp_path / "work").mkdir()
    step = store.begin("c", work, "c1_0")
    _changed(step, work)
    with monkeypatch.context() as killed:
        killed.setattr(Path, "rename", staticmethod(partial(_raises, Killed)))
        with pytest.raises(Killed):
            step.end()
    for handle in (step._journal, step.root):  # as the system does
        os.close(handle)
    store.recover()
    (found,) = store.steps("c")
    assert not found.folder.name.endswith(OPEN)
    store.prune(time.time())
    assert _undo(store) == []


class Killed(BaseException):
    """The life ends here."""


def _raises(error: type[BaseException], *_: object) -> NoReturn:
    raise error
