"""The journals of all conversations in our home: begun, found, bounded in size and days, and forgotten."""

import logging
import os
import time
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from angelia.core.amounts import Count, PositiveCount
from angelia.core.ids import sortable_id
from angelia.sandboxes.shared.private_folders import make_private
from angelia.sandboxes.shared.tree_removal import remove_tree
from angelia.sandboxes.undo.step import JOURNAL, OPEN, Quota, Record, StepBegun, StepJournal, finish_killed, reading

logger = logging.getLogger("angelia.sandboxes")

FOLDER, MIRRORS = "undo", "undo-mirrors"
"""Where journals lie in a home, and copies of what is elsewhere."""
_DAY_S = 86_400
_SLACK = 10
"""A tenth of the bound is made free at once, so that this is not done for each call."""


class UndoSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What is kept of what calls change, so that it can be taken back (`angelia undo`).

    `max_bytes` in all, for at most `days`; the oldest goes first. Of one file at most `file_bytes` are kept; commands
    that are held to it (see SECURITY.md) cannot change a larger one. `enabled` = false keeps nothing.
    """

    enabled: bool = True
    max_bytes: Count = 2_000_000_000
    days: Count = 7
    file_bytes: PositiveCount = 200_000_000


class FoundStep(Struct, frozen=True):
    """The journal of one call. `name` sorts by time."""

    name: str
    folder: Path
    begun: StepBegun
    records: tuple[Record, ...]
    alive: bool


class UndoStore:
    """All journals of a home. Methods block for some milliseconds, or as long as files take to be removed."""

    def __init__(self, home: Path, settings: UndoSettings) -> None:
        """Nothing is made or looked at yet."""
        self.home = home
        self._folder, self._mirrors = home / FOLDER, home / MIRRORS
        self.settings = settings
        self._quota = Quota(-1, settings.file_bytes)

    def quota(self) -> Quota:
        """What may still be kept; the oldest journals go where it is little."""
        if self._quota.left < self.settings.max_bytes // _SLACK:
            self.prune(0.0)
        return self._quota

    def spent(self, size: int) -> None:
        """So many bytes were kept by somebody else."""
        self._quota.left -= size

    def own_folder(self) -> Path:
        """Where everything of this store is."""
        make_private(self._folder, exist_ok=True)
        return self._folder

    def new_folder(self, conversation: str) -> Path:
        """Where the journal of a call may be begun; it is not made yet."""
        return self.own_folder() / conversation / f"{sortable_id()}{OPEN}"

    def mirror_folder(self, conversation: str) -> Path:
        """Where copies of the files of a conversation lie that works elsewhere; it is not made yet."""
        make_private(self._mirrors, exist_ok=True)
        return self._mirrors / conversation

    def begin(self, conversation: str, workspace: Path, call: str) -> StepJournal:
        """Begin a journal in this process.

        Raises:
            OSError: the home cannot be written.
        """
        return StepJournal(self.new_folder(conversation), workspace, call, self.quota())

    def steps(self, conversation: str) -> list[FoundStep]:
        """What can be taken back in a conversation, oldest first; those of killed lives are ended."""
        found = []
        for folder in sorted(_folders(self._folder / conversation)):
            for at in dict.fromkeys((_finished(folder), folder.with_suffix(""))):  # it has another once it is ended
                with suppress(FileNotFoundError), reading(at) as (records, alive):
                    if records and isinstance(records[0], StepBegun):
                        found.append(FoundStep(at.name.removesuffix(OPEN), at, records[0], tuple(records[1:]), alive))
                    break
        return found

    def recover(self) -> None:
        """End the journals of killed lives: what stands now is the nearest to what they left."""
        for folder in self._folder.glob(f"*/*{OPEN}"):
            _finished(folder)

    def forget(self, conversation: str) -> None:
        """Remove all that is kept of a conversation."""
        for place in (self._folder, self._mirrors):
            remove_tree(place / conversation)

    def prune(self, upto: float) -> None:
        """Remove what is too old at a moment (Unix seconds), and the oldest of what is too much. Copies of what is
        elsewhere count, too; they go once nothing is kept of their conversation and nobody has asked for a day.
        """
        held = sorted(
            (folder.name, folder, _size(folder)) for home in _folders(self._folder) for folder in _folders(home)
        )
        mirrors = [(folder, _tree_size(folder)) for folder in _folders(self._mirrors)]
        used = sum(size for _, _, size in held) + sum(size for _, size in mirrors)
        latest = upto - self.settings.days * _DAY_S
        for name, folder, size in held:
            old = _is_older(folder, latest)
            full = used > self.settings.max_bytes - self.settings.max_bytes // _SLACK * 2
            if name.endswith(OPEN) or not (old or full):
                continue
            remove_tree(folder)
            used -= size
            if not old:
                logger.warning("what the call %s had changed cannot be taken back any more: the store is full", name)
        for folder, size in mirrors:
            if not _folders(self._folder / folder.name) and _is_older(folder, time.time() - _DAY_S):
                remove_tree(folder)
                used -= size
        self._quota.left = self.settings.max_bytes - used


def _finished(folder: Path) -> Path:
    if folder.name.endswith(OPEN) and (folder / JOURNAL).exists():
        finish_killed(folder)
        ended = folder.with_suffix("")
        return ended if ended.exists() else folder
    return folder


def _folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as found:
            return [Path(entry.path) for entry in found if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []


def _is_older(folder: Path, than: float) -> bool:
    """Whether it was last changed before that; not if another process has removed it meanwhile."""
    try:
        return folder.stat().st_mtime < than
    except FileNotFoundError:
        return False


def _tree_size(folder: Path) -> int:
    return _size(folder) + sum(_tree_size(inner) for inner in _folders(folder))


def _size(folder: Path) -> int:
    """What goes meanwhile, as drafts of calls at the same time do, takes no room."""
    taken = 0
    with suppress(FileNotFoundError), os.scandir(folder) as found:
        for entry in found:
            with suppress(FileNotFoundError):
                taken += entry.stat(follow_symlinks=False).st_blocks * 512
    return taken
