"""Changes a workspace with a journal, and takes it back: a program for the crash harness."""

import os
import sys
from pathlib import Path

from angelia.sandboxes.undo.plan import undo_plan
from angelia.sandboxes.undo.restore import Restored, WorkspaceNow, carry_out
from angelia.sandboxes.undo.step import StepJournal
from angelia.sandboxes.undo.store import UndoSettings, UndoStore

CONVERSATION = "c"


def changed(home: Path, workspace: Path) -> None:
    """Write, replace, make, remove, rename and swap, each noted before."""
    step = UndoStore(home, UndoSettings()).begin(CONVERSATION, workspace, "c1_0")
    _keep(step, "notes.txt")
    (workspace / "notes.txt").write_text("other\n")
    _keep(step, "src/main.py")
    (workspace / "src/main.py").unlink()
    for path in ("new", "new/deep", "new/deep/file"):
        step.note_as(path, _nothing(step, path))
    (workspace / "new/deep").mkdir(parents=True)
    (workspace / "new/deep/file").write_text("made\n")
    # two names change places, without a copy
    one, other, free = "src/run.sh", "src/deep/er/data.bin", "src/free"
    for path in (one, other, free):
        step.note(path, step.root, path)
    for old, new in ((one, free), (other, one), (free, other)):
        (workspace / old).rename(workspace / new)
    # a file where a folder was, and a folder where a file was
    step.note("empty", step.root, "empty")
    (workspace / "empty").rmdir()
    (workspace / "empty").write_text("a file now\n")
    _keep(step, "nothing")
    step.note_as("nothing/inner", _nothing(step, "nothing/inner"))
    (workspace / "nothing").unlink()
    (workspace / "nothing/inner").mkdir(parents=True)
    step.note("src/link", step.root, "src/link")
    (workspace / "src/link").unlink()
    (workspace / "src/link").symlink_to("run.sh")
    step.end()


def _keep(step: StepJournal, path: str) -> None:
    step.note(path, step.root, path)
    handle = os.open(path, os.O_RDONLY, dir_fd=step.root)
    step.keep(handle)
    os.close(handle)


def _nothing(step: StepJournal, path: str):  # type: ignore[no-untyped-def]
    from angelia.sandboxes.undo.step import states_of

    return states_of(step.root, [path])[path]


def taken_back(home: Path, workspace: Path) -> Restored:
    """Take all of it back."""
    store = UndoStore(home, UndoSettings())
    found = store.steps(CONVERSATION)
    own = [step for step in found if step.begun.call != "undo"]
    present = WorkspaceNow(workspace)
    plan = undo_plan(own, [step for step in found if step not in own], present)
    present.close()
    step = store.begin(CONVERSATION, workspace, "undo")
    try:
        return carry_out(plan, step)
    finally:
        step.end()


def main() -> None:
    """Take back what the words of the command line name: a home and a workspace."""
    restored = taken_back(Path(sys.argv[1]), Path(sys.argv[2]))
    sys.exit(1 if restored.failed else 0)
