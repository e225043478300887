"""The files of a conversation's folder as they were at one of its entries, laid out in a folder of their own.

They are what stands there now, with what calls after that entry changed put back (`sandboxes/undo`). The folder itself
is only read, once what a command left there was taken back; and the copy has nothing that would run by itself and never
stood there, whatever came to be kept. What others changed meanwhile is not known, and stays as it is.
"""

import asyncio
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from angelia.core import entry as e
from angelia.core.crash import crash_point
from angelia.core.errors import BadInput
from angelia.core.ids import ConversationId
from angelia.core.text import clean
from angelia.sandboxes.guard.brought import leave_out
from angelia.sandboxes.guard.guard import Guard, guard_of
from angelia.sandboxes.shared.tree_removal import remove_tree
from angelia.sandboxes.undo.plan import PlannedPath, TakingBack, undo_plan
from angelia.sandboxes.undo.restore import WorkspaceNow
from angelia.sandboxes.undo.states import FileState, FolderState, LinkState, NothingThere
from angelia.sandboxes.undo.store import FoundStep, UndoStore
from angelia.service.conversation.earlier_folders import laying_out
from angelia.service.conversation.undo_steps import FolderSteps, steps_of
from angelia.service.conversation.worked_folder import WorkedFolder
from angelia.store.log.transcript import Transcript


class EarlierFiles(Struct, frozen=True):
    """Where files of earlier moments come from; `most` is the size in bytes of the largest folder that is copied."""

    undo: UndoStore
    transcript: Transcript
    most: int

    async def lay_out(
        self, conversation: ConversationId, entries: Sequence[e.Entry], upto: int, target: Path
    ) -> list[str]:
        """Put the files of the conversation as they were after entry number `upto` into `target`, which
        is there whole or not at all.
        Returns what could not be had, a sentence each.

        Raises:
            BadInput: the folder is too large, is gone, or cannot be copied.
            AccessRefused: what stands there cannot be recorded.
        """
        steps = await steps_of(self.undo, self.transcript, conversation, entries)
        later = _after(steps, entries, upto)
        return await asyncio.to_thread(self._laid_out, Path(WorkedFolder().now(entries)), later, target)

    def _laid_out(self, source: Path, later: Sequence[FoundStep], target: Path) -> list[str]:
        guard = guard_of(source, self.undo.home)
        try:
            self._see_size(source)
            guard.see()
            with laying_out(target) as part:
                shutil.copytree(source, part, symlinks=True, ignore=_special, dirs_exist_ok=True)
                crash_point("earlier.copied")
                return self._taken_back(source, later, part, guard)
        except OSError as error:
            why = error.strerror or str(error)[:300]
            raise BadInput(f"{source} cannot be copied to {target}: {why}.") from error

    def _taken_back(self, source: Path, later: Sequence[FoundStep], part: Path, guard: Guard) -> list[str]:
        """Put back in the copy what was changed later, and leave out what would run; what could not be had."""
        present = WorkspaceNow(source)
        try:
            plan = undo_plan(later, (), present)
            lost = [told for one in plan.paths if (told := _put(one, present, part))]
        finally:
            present.close()
        crash_point("earlier.taken_back")
        left = leave_out(part, guard.ever_stood())
        return lost + [f"{clean(name)} is left out: programs could run it ({why})." for name, why in left.items()]

    def _see_size(self, source: Path) -> None:
        size = sum(path.lstat().st_size for path in source.rglob("*") if not path.is_dir())
        if size > self.most:
            raise BadInput(
                f"{source} holds {size / 1e6:,.0f} MB, and {self.most / 1e6:,.0f} MB are copied at most "
                "(delegation.copy_bytes); nothing was begun."
            )


def _after(steps: FolderSteps, entries: Sequence[e.Entry], upto: int) -> list[FoundStep]:
    """The journals of what was done after an entry, oldest first. A call counts as done with its result."""
    until: set[str] = {entry.fact.call for entry in entries[:upto] if isinstance(entry.fact, e.ToolFinished)}
    until |= {entry.fact.step for entry in entries[:upto] if isinstance(entry.fact, e.FilesTakenBack)}
    at = entries[upto - 1].at
    return [
        step
        for step in steps.steps
        if (step.begun.at > at if step.name in steps.by else not {step.begun.call, step.name} & until)
    ]


def _special(folder: str, names: list[str]) -> list[str]:
    """What no copy has: sockets, pipes and devices."""
    kinds = {name: Path(folder, name).lstat().st_mode for name in names}
    return [n for n, mode in kinds.items() if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))]


def _put(one: PlannedPath, present: WorkspaceNow, target: Path) -> str:
    """Make one path what it was; says why where that cannot be."""
    at = target / one.path
    if one.act is TakingBack.UNABLE or (isinstance(one.before, FileState) and one.act is TakingBack.LEAVE):
        return f"{clean(one.path)} is as it is now: {one.why or 'what it held is not kept'}."
    try:
        _make_parents(target, one.path)
        if not isinstance(one.before, FolderState) or at.is_symlink() or not at.is_dir():
            _clear(at)
        match one.before:
            case FileState(mode=mode):
                _write(one, present, at)
                at.chmod(stat.S_IMODE(mode))
            case FolderState(mode=mode):
                at.mkdir(exist_ok=True)
                at.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)
            case LinkState(target=points_to):
                at.symlink_to(points_to)
            case NothingThere():
                pass
            case _:
                return f"{clean(one.path)} was a socket, pipe or device."
    except OSError as error:
        return f"{clean(one.path)} is as it is now: {error.strerror or error}."
    return ""


def _make_parents(target: Path, path: str) -> None:
    """Folders down to a path; a link that stands there by now leads elsewhere, and goes."""
    at = target
    for step in path.split("/")[:-1]:
        at = at / step
        if at.is_symlink() or (at.exists() and not at.is_dir()):
            at.unlink()
        at.mkdir(exist_ok=True)


def _write(one: PlannedPath, present: WorkspaceNow, at: Path) -> None:
    if one.holds:
        with present.opened(one.holds) as handle, open(handle, "rb", closefd=False) as moved, at.open("xb") as file:
            shutil.copyfileobj(moved, file)
    elif one.content:
        shutil.copyfile(one.content, at)
    else:
        at.touch(mode=0o600)


def _clear(at: Path) -> None:
    if at.is_dir() and not at.is_symlink():
        remove_tree(at)
    else:
        at.unlink(missing_ok=True)
