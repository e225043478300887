"""What became of each file of an old home, and what is to be done now."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from angelia.core.counts import counted
from angelia.core.unambiguous import unambiguous_line


class FileVerdict(StrEnum):
    """What became of a file."""

    TAKEN = "taken"
    LEFT = "left"
    UNKNOWN = "unknown"
    """Nobody here knows what it is, or it cannot be read."""


class FileAccount(Struct, frozen=True):
    """One file, and why; both are as they are shown."""

    path: str
    verdict: FileVerdict
    why: str


class ImportAccount(Struct):
    """All files, each once, in order of their paths; and what a person has to know besides.

    `timers` are schedules that go on in the old agent until somebody stops them there, `people` those whose
    conversations were left. `waiting` counts notes, `unseen` skills, `paused` schedules and `helpers` presets that were
    taken just now.
    """

    files: list[FileAccount] = []
    timers: list[str] = []
    people: set[str] = set()
    keys: list[str] = []
    conversations: int = 0
    waiting: int = 0
    unseen: int = 0
    paused: int = 0
    helpers: int = 0

    def note(self, path: str, verdict: FileVerdict, why: str) -> None:
        """A file is accounted for."""
        self.files.append(FileAccount(unambiguous_line(path), verdict, unambiguous_line(why)))


def account_rows(files: Sequence[FileAccount]) -> list[tuple[str, str, str]]:
    """Rows for people: verdict, path, why; files of a folder that share verdict and reason are one row.

    >>> logs = [FileAccount(f"logs/{name}", FileVerdict.LEFT, "its logs") for name in "ab"]
    >>> account_rows([*logs, FileAccount("x", FileVerdict.UNKNOWN, "no idea")])
    [('left', 'logs/ (2 files)', 'its logs'), ('unknown', 'x', 'no idea')]
    """
    groups: dict[tuple[FileVerdict, str, str], list[FileAccount]] = {}
    for file in files:
        top = file.path.partition("/")[0] if "/" in file.path else ""
        groups.setdefault((file.verdict, top, file.why), []).append(file)
    rows = []
    for (verdict, top, why), found in groups.items():
        if len(found) == 1:
            rows.append((str(verdict), found[0].path, why))
        else:
            where = f"{top}/" if top else "at the top"
            rows.append((str(verdict), f"{where} ({counted(len(found), 'file')})", why))
    order = [str(verdict) for verdict in FileVerdict]
    return sorted(rows, key=lambda row: (order.index(row[0]), row[1]))
