"""What commands leave in a workspace that programs outside would run is taken back, and told.

What stood before the first of them is right, whoever wrote it: until a command runs, only people change the folder. So
the first command's start accepts what it finds; from then until the last command's end each look compares. A life that
was killed leaves its record, and the next one compares with that.

What is put back by undo is looked at, too: it stands if it ever stood here, for what was kept may have been left by a
command that nobody had looked at yet.
"""

import hashlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakValueDictionary

from angelia.core.errors import AngeliaError, fault_words
from angelia.core.text import one_line
from angelia.path_queries import is_folder
from angelia.sandboxes.guard.autorun import NEW_VENV, AutorunKind
from angelia.sandboxes.guard.fingerprint import LARGEST, Fingerprint, Seen
from angelia.sandboxes.guard.originals import Kept, Originals, workspaces
from angelia.sandboxes.guard.quarantine import Quarantine
from angelia.sandboxes.guard.reasons import BECAUSE, SAYS_WHICH
from angelia.sandboxes.port import AccessRefused

_SHARE = 20
"""A look takes at most a twentieth of the time."""
_MOST_NAMED = 8


class Guard:
    """One workspace in one process; all that run commands there share it (`guard_of`).

    Every method blocks for as long as a look takes (milliseconds; `last` says how many seconds), and may be called
    from any thread.
    """

    PAUSE = 1.0
    """Seconds between two looks while commands run; more where a look itself takes long."""

    def __init__(self, workspace: Path, home: Path) -> None:
        """`home` is Angelia's own: the record and the quarantine are there."""
        self._workspace = workspace
        self._print = Fingerprint(workspace, without=(home,))
        self._originals = Originals.of(home, workspace)
        self._quarantine = Quarantine(home / "quarantine", workspace)
        self._items: dict[str, Kept] = {}
        self._environments: frozenset[str] = frozenset()
        self._running: dict[object, list[str]] = {}
        self._lock = threading.Lock()
        self._held = -1
        self._since = 0
        self._enforced = -math.inf
        self.last = 0.0

    def enter(self, holder: object) -> None:
        """A command is about to start.

        Raises:
            AccessRefused: what stands there cannot be recorded, so nothing may be begun.
        """
        with self._lock, _recorded():
            self._enter(holder, self._enforce if self._running else self._begin)

    def enter_among(self, holder: object) -> None:
        """The same, where something may live that a command of an earlier life has left: what stands is compared with
        what was recorded then.

        Raises:
            AccessRefused: as `enter`.
        """
        with self._lock, _recorded():
            compare = self._compare if self._originals.recorded() else self._begin
            self._enter(holder, self._enforce if self._running else compare)

    def hand_on(self, holder: object, heir: object) -> tuple[str, ...]:
        """`leave`, for a command of which something may live on: `heir` holds the guard from now on."""
        with self._lock:
            notes = self._left(holder)
            self._running[heir] = []
            return notes

    def see(self) -> None:
        """Something is about to be kept as it stands: what a command left is taken back before, and told later.

        Raises:
            AccessRefused: as `enter`.
        """
        with self._lock, _recorded():
            self._see()

    @contextmanager
    def restoring(self) -> Iterator[list[str]]:
        """Files are put back meanwhile. What would run outside stands if it ever stood here, and is taken back
        otherwise; at the end the list holds sentences of that. Nobody else looks meanwhile.

        Raises:
            AccessRefused: as `enter`.
        """
        notes: list[str] = []
        with self._lock:
            with _recorded():
                self._see()
                held = self._originals.hold_restoring()
            try:
                yield notes
            finally:
                notes += self._look_over()
                self._originals.let_go(held)

    def ever_stood(self) -> Callable[[str, Seen], bool]:
        """Tells of a copy of the workspace whether what it holds at a way from its top stands or stood here."""
        with self._lock:
            stood = self._originals.stood() | self._standing_now().keys()
        top = self._workspace

        def known(within: str, seen: Seen) -> bool:
            judged = seen.judged
            return _standing(f"{top}/{within}", seen.kind, judged.identity, judged.risks) in stood

        return known

    def glance(self) -> tuple[str, ...]:
        """Look while commands run, unless somebody just did; what was found, which `leave` tells as well."""
        with self._lock:
            pause = max(self.PAUSE, self.last * _SHARE)
            if not self._running or time.monotonic() - self._enforced < pause * 0.9:
                return ()
            return tuple(self._tell_all(self._look_over()))

    def leave(self, holder: object) -> tuple[str, ...]:
        """A command has ended; what was found since it began, in sentences for people and for the model."""
        with self._lock:
            if holder not in self._running:
                return ()
            notes = self._left(holder)
            if not self._running:
                self._originals.let_go(self._held)
            return notes

    def _left(self, holder: object) -> tuple[str, ...]:
        self._tell_all(self._look_over())
        notes = self._running.pop(holder)
        return tuple(dict.fromkeys([*notes, *self._originals.take_untold()]))

    def tell_later(self, notes: tuple[str, ...]) -> None:
        """What nobody could be told is told with the next command here."""
        with self._lock:
            self._originals.leave_untold(notes)

    def accept(self, path: str, sha256: str) -> None:
        """A file of this content was written in a judged way, and not by a command: it stands, if it is still there."""
        with self._lock:
            if self._running and (seen := self._look().get(path)) and seen.judged.identity.split()[0] == sha256:
                self._keep(path, seen)
                self._originals.write(self._items)

    def recover(self) -> tuple[str, ...]:
        """After a killed life: take back what its commands left. What was found is told with the next command here."""
        with self._lock, self._originals.unfinished() as (dead, _):
            notes: list[str] = []
            if dead and not self._running:
                notes = self._compare()
                self._originals.leave_untold(tuple(notes))
            return tuple(notes)

    def _enter(self, holder: object, look: Callable[[], list[str]]) -> None:
        notes = look()
        if not self._running:
            self._held = self._originals.hold()
        self._running[holder] = notes

    def _see(self) -> None:
        if self._running:
            self._tell_all(self._enforce())
        else:
            self._originals.leave_untold(tuple(self._begin()))

    def _begin(self) -> list[str]:
        """Nothing of ours runs: what stands is right, unless another process runs commands, or died while it did."""
        with self._originals.unfinished() as (dead, alive):
            self._since = time.time_ns()
            if dead or alive:
                return self._compare()
            before, self._items = self._items, {}
            for path, seen in self._look().items():
                kept = before.get(path)
                if seen.content is None and kept and kept.identity == seen.judged.identity:
                    self._items[path] = kept
                else:
                    self._keep(path, seen)
            self._environments = self._stood()
            if before != self._items or not before:
                self._originals.write(self._items)
            self._note_stood()
            return []

    def _compare(self) -> list[str]:
        """Take back what is not as it was recorded last."""
        self._since = time.time_ns()
        self._items = self._originals.items()
        self._environments = self._stood()
        return self._enforce()

    def _look(self) -> Mapping[str, Seen]:
        began = time.monotonic()
        seen = self._print.look(running_since=self._since)
        self.last = time.monotonic() - began
        return seen

    def _look_over(self) -> list[str]:
        try:
            return self._enforce()
        except OSError as error:
            return [f"What the command left could not be looked at ({error.strerror}): run nothing there unseen."]

    def _tell_all(self, notes: list[str]) -> list[str]:
        for told in self._running.values():
            told += notes
        return notes

    def _enforce(self) -> list[str]:
        """Take back what is new and risky, and let the rest stand; sentences of it."""
        closed = set(self._print.closed)
        stood = self._originals.stood() if self._originals.restoring() else frozenset[str]()
        seen, before = self._look(), dict(self._items)
        self._enforced = time.monotonic()
        known = {(kept.kind, risk) for kept in before.values() for risk in kept.risks}
        notes = [
            f"{self._shown(path)} was made unreadable and could not be looked into: look into it before you open it."
            for path in sorted(self._print.closed - closed)[:_MOST_NAMED]
        ]
        told: list[str] = []
        for path, one in seen.items():
            kept = before.get(path)
            if kept and kept.identity == one.judged.identity and one.judged.risks <= kept.risks:
                continue
            if risks := sorted(self._new_risks(path, one, known, stood)):
                notes.append(self._take_back(path, one.kind, risks[0]))
                continue
            if kept is None and one.content == b"" and self._running:
                continue  # opened to be written, perhaps: no version to go back to
            news = one.judged.told or (one.kind is AutorunKind.VENV and one.judged.risks and not kept)
            if news and _standing(path, one.kind, one.judged.identity, one.judged.risks) not in stood:
                told.append(self._shown(path))
            self._keep(path, one)
        if told:
            more = f" and {len(told) - _MOST_NAMED} more" if len(told) > _MOST_NAMED else ""
            notes.append(
                f"{', '.join(told[:_MOST_NAMED])}{more}: changed, and left as it is. Editors, shells or other programs "
                "outside may obey it, so look at it before you use it there."
            )
        if self._items != before:
            self._originals.write(self._items)
            self._note_stood()
        return notes

    def _new_risks(
        self, path: str, seen: Seen, known: set[tuple[AutorunKind, str]], stood: frozenset[str]
    ) -> Iterator[str]:
        if _standing(path, seen.kind, seen.judged.identity, seen.judged.risks) in stood:
            return
        kept = self._items.get(path)
        new_place = seen.kind is AutorunKind.VENV and os.path.dirname(path) not in self._environments  # noqa: PTH120
        for risk in seen.judged.risks:
            allowed = (seen.kind, risk) in known or (new_place and risk.startswith(NEW_VENV))
            if not allowed or (kept and kept.kind is AutorunKind.HOOK and kept.identity != seen.judged.identity):
                yield risk
        if not seen.judged.risks and kept and seen.kind is AutorunKind.HOOK and kept.identity != seen.judged.identity:
            yield seen.judged.identity  # no hook itself, but perhaps read by one

    def _note_stood(self) -> None:
        self._originals.note_stood(self._standing_now())

    def _standing_now(self) -> dict[str, None]:
        items = self._items.items()
        return dict.fromkeys(_standing(path, kept.kind, kept.identity, kept.risks) for path, kept in items)

    def _stood(self) -> frozenset[str]:
        """Folders of programs of the virtual environments that there are."""
        return frozenset(os.path.dirname(path) for path, kept in self._items.items() if kept.kind is AutorunKind.VENV)  # noqa: PTH120

    def _keep(self, path: str, seen: Seen) -> None:
        saved = ""
        small = seen.content is not None and len(seen.content) <= LARGEST
        if small and seen.kind is not AutorunKind.TOLD and not seen.link:
            saved = self._originals.keep(seen.content or b"")
        elif (old := self._items.get(path)) and old.identity == seen.judged.identity:
            saved = old.saved
        judged = seen.judged
        self._items[path] = Kept(seen.kind, judged.identity, judged.risks, seen.mode, seen.link, saved)

    def _take_back(self, path: str, kind: AutorunKind, risk: str) -> str:
        """Do it; the sentence for it."""
        kept = self._items.get(path)
        original = self._originals.original(kept) if kept and (kept.link or kept.saved) else None
        why = f"{BECAUSE[kind]} (`{one_line(risk, 80)}`)" if kind in SAYS_WHICH else BECAUSE[kind]
        try:
            if original is not None:
                taken = self._quarantine.put_back(path, original)
                done = f"was put back to what it was before the command; what the command left is in {taken}"
            else:
                done = f"was moved out of the workspace, to {self._quarantine.take_away(path)}"
        except FileNotFoundError:
            done = "was gone again when it was to be taken back"
        except OSError as error:
            done = (
                f"could NOT be taken back ({error.strerror}): it is still there. Do not enter or open the folder, and "
                "run no Git there, until a person has removed it"
            )
        return f"{self._shown(path)} {done}, because outside of the sandbox it could run programs: {why}."

    def _shown(self, path: str) -> str:
        return f"`{one_line(path[len(str(self._workspace)) + 1 :], 120)}`"


def _standing(path: str, kind: AutorunKind, identity: str, risks: frozenset[str]) -> str:
    """How it is remembered that a file stood: by a hash, since names and settings say much, and this says nothing."""
    return hashlib.sha256(
        "\0".join([path, kind, identity, *sorted(risks)]).encode("utf-8", "surrogatepass")
    ).hexdigest()


@contextmanager
def _recorded() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise AccessRefused(
            f"What stands in the workspace cannot be recorded: {error.strerror}.",
            "What a command leaves could then not be told from what was there, so nothing is begun.",
            "Give Angelia a home it can write.",
        ) from error


_guards: "WeakValueDictionary[tuple[Path, Path], Guard]" = WeakValueDictionary()


def guard_of(workspace: Path, home: Path) -> Guard:
    """The guard of this workspace in this process; it goes when nobody has it any more."""
    key = (workspace.resolve(), home.resolve())
    guard = _guards.get(key)
    if guard is None:
        guard = _guards[key] = Guard(*key)
    return guard


def recover_all(home: Path) -> list[str]:
    """Wherever a life was killed while commands ran, take back what they left; sentences of it.

    They are kept, too, and told with the next command in that workspace. Blocks for the first look at each.
    """
    told: list[str] = []
    for workspace in workspaces(home):
        if not is_folder(workspace):
            continue
        try:
            told += guard_of(workspace, home).recover()
        except (OSError, AngeliaError) as error:
            where = one_line(str(workspace), 120)
            told.append(f"What a killed command left in {where} was not looked at: {fault_words(error)}.")
    return told
