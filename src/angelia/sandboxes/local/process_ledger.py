"""The record of what this process runs and writes, so that the next start can end and remove what a dead one left."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from angelia.core.ids import sortable_id
from angelia.core.text import one_line
from angelia.sandboxes.local.process_folder import ProcessFolder, of_dead_processes, of_process
from angelia.sandboxes.local.processes import PROC, bears, belonging, end, everybody, facts
from angelia.sandboxes.port import AccessRefused
from angelia.sandboxes.shared.tree_removal import remove_tree

_DRAFTS = "drafts"
DRAFT = ".angelia-"
"""How the name of a file begins that is being written."""


class Life:
    """One sandbox in one process: a folder `NAME` in the folder of the process beneath `state`.

    It is dead when the process is (`process_folder`). Every process that is started bears the life's name in its
    environment, and the name is on the disk before anything starts, so nothing runs that cannot be found.
    Nothing is flushed: only a crash of the whole machine could lose the record, and it ends the processes as well.
    Nothing is held open: the process's one lock is all that lives need.
    """

    def __init__(self, state: Path) -> None:
        """Begin one.

        Raises:
            AccessRefused: `state` cannot be written.
        """
        self._count = 0
        self._state, self.name = state, sortable_id()
        with _recorded_in(state):
            self._process = of_process(state)
            try:
                self.folder.mkdir(mode=0o700)
                record = _opened(self._commands)
                try:
                    os.write(record, f"{_started_so_far()} {_boot()}\n".encode())
                finally:
                    os.close(record)
            except OSError:
                remove_tree(self.folder)
                self._process.let_go()
                raise

    @property
    def folder(self) -> Path:
        """Private to this life, and removed with it."""
        return self._process.path / self.name

    def private(self, name: str) -> Path:
        """A folder of this life's own, made when first asked for."""
        folder = self.folder / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def next_mark(self) -> str:
        """Names the next command."""
        self._count += 1
        return f"{self.name}.{self._count}"

    @contextmanager
    def recording(self) -> Iterator[Callable[[int], None]]:
        """What remembers the first process of a command too, for commands that wipe their environment. It is had before
        the command is begun, so nothing begins that cannot be recorded.

        The start time tells it from a later process of the same number. A death in the millisecond between its start
        and this leaves what wipes its environment, and outlives it, unfound.

        Raises:
            AccessRefused: the record cannot be written, or no more files can be opened.
        """
        with _recorded_in(self._state):
            record = _opened(self._commands)

        def note(pid: int) -> None:
            known = facts(pid)
            if known is not None:
                os.write(record, f"{pid} {known.started} {_boot()}\n".encode())

        try:
            yield note
        finally:
            os.close(record)

    def note_draft(self, path: Path) -> None:
        """Remember a file that is not finished yet, before it is made."""
        with (self.folder / _DRAFTS).open("ab", buffering=0) as record:
            record.write(os.fsencode(path) + b"\0")  # what of a name a crash cut off has no end, and is dropped

    def forget_drafts(self) -> None:
        """Every one of them is finished."""
        (self.folder / _DRAFTS).unlink(missing_ok=True)

    def leave(self) -> None:
        """Be dead: what is recorded is left to whoever comes next, after this process where that cannot be said now."""
        with suppress(OSError):
            ProcessFolder(self._state).abandon(self.folder)
            self._process.let_go()

    def close(self) -> None:
        """Forget everything; for when nothing runs any more."""
        remove_tree(self.folder)
        self._process.let_go()

    @property
    def _commands(self) -> Path:
        return self.folder / "commands"


def _opened(record: Path) -> int:
    return os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


@contextmanager
def _recorded_in(state: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise AccessRefused(
            f"What runs and what is written cannot be recorded in {state}: {error.strerror}.",
            "What is not recorded could outlive us unseen, so nothing is begun.",
            "Give Angelia a home it can write.",
        ) from error


@contextmanager
def unfinished(state: Path, folder: Path) -> Iterator[str]:
    """A name for a file that is being written into `folder`; if we die meanwhile, the next start removes it.

    Raises:
        AccessRefused: `state` cannot be written.
    """
    name = f"{DRAFT}{os.urandom(8).hex()}"
    life = Life(state)
    try:
        life.note_draft(folder / name)
        yield name
    finally:
        life.close()


async def reap_leftovers(state: Path) -> list[str]:
    """End what dead processes left running, remove what they left half written, and their folders; one sentence for
    each process found.

    Lives whose process still runs (a gateway beside a terminal) keep their lock, and are left alone.
    """
    told: list[str] = []
    for folder in of_dead_processes(state):
        told += await _end_life(folder)
    return told


async def _end_life(folder: Path) -> list[str]:
    find = _members(folder)
    names = {pid: _command_line(pid) for pid in sorted(find())}
    left = await end(find)
    _remove_drafts(folder)
    remove_tree(folder)
    return [
        f"Process {pid} ({name}) was left running by an earlier start, and "
        + ("could not be ended: it does not take signals." if pid in left else "has been ended.")
        for pid, name in names.items()
    ]


def _members(folder: Path) -> Callable[[], set[int]]:
    leaders, numbers_are_new = _recorded(folder / "commands")

    def find() -> set[int]:
        table = everybody()
        found = {pid for pid, known in table.items() if known.alive and bears(pid, f"{folder.name}.")}
        for pid, started in leaders.items():
            # The first process may have ended since, and left others in its session: they bear its number.
            if table[pid].started == started if pid in table else numbers_are_new:
                found |= belonging(pid, folder.name, table)
        return found

    return find


def _remove_drafts(folder: Path) -> None:
    """Remove what was being written. A folder that has become another since holds no file of that name."""
    for draft in drafts_of(folder):
        with suppress(OSError):  # its folder is gone, or not ours any more
            draft.unlink()


def drafts_of(folder: Path) -> list[Path]:
    """What a life was writing when it died."""
    with suppress(FileNotFoundError):
        names = (folder / _DRAFTS).read_bytes().split(b"\0")[:-1]
        return [draft for name in names if (draft := Path(os.fsdecode(name))).name.startswith(DRAFT)]
    return []


def _recorded(commands: Path) -> tuple[dict[int, int], bool]:
    """First processes with their start times, as far as they are of this boot; a line cut by a crash is dropped.

    And whether no number can have been given out a second time since the life began: Linux gives them out in a circle
    (pid_namespaces(7), `/proc/sys/kernel/pid_max`), and counts what it has started (proc(5), `processes`).
    """
    leaders: dict[int, int] = {}
    numbers_are_new = False
    with suppress(FileNotFoundError):
        for line in commands.read_text().splitlines():
            match line.split():
                case [pid, started, boot] if boot == _boot():
                    leaders[int(pid)] = int(started)
                case [count, boot] if boot == _boot() and int(count):
                    numbers_are_new = _started_so_far() - int(count) < _numbers() // 2
                case _:
                    pass
    return leaders, numbers_are_new


def _started_so_far() -> int:
    """Processes and threads since the machine's start, 0 where nobody counts them."""
    with suppress(OSError):
        for line in (PROC / "stat").read_bytes().splitlines():
            if line.startswith(b"processes "):
                return int(line.split()[1])
    return 0


def _numbers() -> int:
    """How many numbers there are for processes."""
    return int((PROC / "sys/kernel/pid_max").read_bytes())


def _boot() -> str:
    """Differs from start to start of the machine (random(4), `boot_id`)."""
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"


def _command_line(pid: int) -> str:
    try:
        words = (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        return "gone by now"
    return one_line(words.decode(errors="replace"), 60)
