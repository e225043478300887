"""What counted in a workspace and what it held, on disk, so that a start after a killed life knows what was there."""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from angelia.sandboxes.guard.autorun import AutorunKind
from angelia.sandboxes.guard.quarantine import Original

FOLDER = "guarded"
"""Where records lie in a home."""
_RECORD, _UNTOLD, _STOOD = "record.json", "untold.json", "stood"
_RESTORING = ".restoring"
_MOST_STOOD = 10_000
"""Of what stood here; twice as many are on disk at most, 64 bytes each."""


class Kept(Struct, frozen=True):
    """A file that stands: how it is judged, what it holds, the risks it was allowed, and its original's hash.

    `saved` is empty for what is only told of.
    """

    kind: AutorunKind
    identity: str
    risks: frozenset[str]
    mode: int
    link: str = ""
    saved: str = ""


class Originals:
    """The record of one workspace, in a folder of our home for ourselves alone.

    While commands of a process run, it holds a locked file there; the kernel drops the lock when the process dies.
    """

    def __init__(self, folder: Path, workspace: Path) -> None:
        """Nothing is made yet."""
        self._folder, self._workspace = folder, workspace

    @classmethod
    def of(cls, home: Path, workspace: Path) -> "Originals":
        """Those of this workspace."""
        name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:24]
        return cls(home / FOLDER / name, workspace)

    def keep(self, content: bytes) -> str:
        """Keep a file's bytes, once; their name."""
        name = hashlib.sha256(content).hexdigest()
        place = self._made() / "originals" / name
        if not place.exists():
            place.parent.mkdir(mode=0o700, exist_ok=True)
            _write(place, content)
        return name

    def original(self, kept: Kept) -> Original | None:
        """What stood there, if its bytes were kept."""
        if kept.link:
            return Original(kept.mode, link=kept.link)
        try:
            return Original(kept.mode, content=(self._folder / "originals" / kept.saved).read_bytes())
        except OSError:
            return None

    def write(self, items: Mapping[str, Kept]) -> None:
        """Write the record; nothing is flushed: a crash of the machine ends the commands as well."""
        rows = {
            path: [kept.kind, kept.identity, sorted(kept.risks), kept.mode, kept.link, kept.saved]
            for path, kept in items.items()
        }
        data = {"workspace": str(self._workspace), "items": rows}
        _write(self._made() / _RECORD, json.dumps(data).encode())
        if len(list(self._folder.glob("running-*"))) > 1:
            return  # another process may need what we do not
        named = {kept.saved for kept in items.values()}
        with suppress(FileNotFoundError):
            for place in (self._folder / "originals").iterdir():
                if place.name not in named:
                    place.unlink(missing_ok=True)

    def recorded(self) -> bool:
        """Whether there is a record."""
        return (self._folder / _RECORD).exists()

    def items(self) -> dict[str, Kept]:
        """The record as it was written last; empty if there is none."""
        rows: dict[str, list[Any]] = _json(self._folder / _RECORD, {}).get("items", {})
        return {
            path: Kept(AutorunKind(kind), identity, frozenset(risks), mode, link, saved)
            for path, (kind, identity, risks, mode, link, saved) in rows.items()
        }

    def note_stood(self, found: Iterable[str]) -> None:
        """Remember what stands; of these the latest 10,000."""
        place = self._made() / _STOOD
        lines = self._stood_lines()
        if new := list(dict.fromkeys(found).keys() - set(lines)):
            if len(lines) + len(new) > 2 * _MOST_STOOD:
                _write(place, "".join(f"{one}\n" for one in [*lines, *new][-_MOST_STOOD:]).encode())
                return
            handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(handle, "".join(f"{one}\n" for one in new).encode())  # one write: other processes add, too
            finally:
                os.close(handle)

    def stood(self) -> frozenset[str]:
        """What stood here at some time, as it was noted."""
        return frozenset(self._stood_lines())

    def _stood_lines(self) -> list[str]:
        try:
            return (self._folder / _STOOD).read_text("ascii").split()
        except FileNotFoundError:
            return []

    def leave_untold(self, notes: tuple[str, ...]) -> None:
        """Keep what somebody has still to be told."""
        if notes:
            before = _json(self._folder / _UNTOLD, [])
            _write(self._made() / _UNTOLD, json.dumps([*before, *notes]).encode())

    def take_untold(self) -> tuple[str, ...]:
        """What has still to be told; it is not any more."""
        notes = tuple(_json(self._folder / _UNTOLD, []))
        with suppress(FileNotFoundError):
            (self._folder / _UNTOLD).unlink()
        return notes

    def hold(self) -> int:
        """Say that commands run here; the handle is for `let_go`."""
        return self._hold("")

    def hold_restoring(self) -> int:
        """Say that files are put back here which stood before; the handle is for `let_go`."""
        return self._hold(_RESTORING)

    def restoring(self) -> bool:
        """Whether somebody puts files back here, or died while they did."""
        return next(self._folder.glob(f"running-*{_RESTORING}"), None) is not None

    def _hold(self, kind: str) -> int:
        while True:
            place = self._made() / f"running-{os.urandom(8).hex()}{kind}"
            handle = os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(handle, fcntl.LOCK_EX)
            if os.fstat(handle).st_nlink:  # nobody took it for a dead one's in the instant between the two
                return handle
            os.close(handle)

    def let_go(self, handle: int) -> None:
        """Commands of this holder have ended, and were looked after."""
        here = os.fstat(handle)
        for place in self._folder.glob("running-*"):
            with suppress(FileNotFoundError):
                if place.stat().st_ino == here.st_ino:
                    place.unlink()
        os.close(handle)

    @contextmanager
    def unfinished(self) -> Iterator[tuple[bool, bool]]:
        """Whether a life died here while commands ran, and whether another process runs some now.

        Dead ones are forgotten when this ends without an error.
        """
        dead: list[tuple[Path, int]] = []
        alive = False
        for place in self._folder.glob("running-*"):
            try:
                handle = os.open(place, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                dead.append((place, handle))
            except BlockingIOError:
                os.close(handle)
                alive = True
        try:
            yield bool(dead), alive
            for place, _ in dead:
                place.unlink(missing_ok=True)
        finally:
            for _, handle in dead:
                os.close(handle)

    def _made(self) -> Path:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder.parent.chmod(0o700)
        return self._folder


def workspaces(home: Path) -> Iterator[Path]:
    """Those in which a process runs commands, or was killed while it did."""
    for folder in sorted({place.parent for place in (home / FOLDER).glob("*/running-*")}):
        workspace = _json(folder / _RECORD, {}).get("workspace")
        if workspace:
            yield Path(workspace)


def _write(place: Path, data: bytes) -> None:
    draft = place.with_name(f"{place.name}.{os.getpid()}.part")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(handle, "wb") as file:  # noqa: PTH123
        file.write(data)
    draft.rename(place)


def _json(place: Path, otherwise: Any) -> Any:
    try:
        return json.loads(place.read_bytes())
    except (FileNotFoundError, ValueError):
        return otherwise
