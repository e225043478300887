"""Which sandboxes are open in which process: told by one locked file for each process, however many it has."""

import os
from pathlib import Path

from angelia.core.ids import PlaceId
from angelia.service.places.sandbox_locks import SandboxLock, SandboxLocks


def lock(number: int) -> SandboxLock:
    return SandboxLock(PlaceId(f"c{number}"), "local", "/work", number)


def open_files() -> int:
    descriptors = Path("/proc/self/fd")
    return len(list(descriptors.iterdir())) if descriptors.exists() else 0


def test_a_thousand_open_sandboxes_hold_one_file(tmp_path: Path) -> None:
    locks, others = SandboxLocks(tmp_path), SandboxLocks(tmp_path)
    before = open_files()
    held = [locks.hold(lock(number)) for number in range(1000)]
    assert open_files() <= before + 1
    assert [one.place for one in others.all()] == [f"c{number}" for number in range(1000)]
    assert {one.process for one in others.all()} == {os.getpid()}
    for one in held[1:]:
        one.close()
    assert [one.place for one in others.all()] == ["c0"]
    held[0].close()
    held[0].close()
    assert others.all() == []
    assert list((tmp_path / "open").iterdir()) == []
    assert open_files() <= before


def test_what_a_dead_process_held_is_open_no_more(tmp_path: Path) -> None:
    locks = SandboxLocks(tmp_path)
    if not (child := os.fork()):
        locks.hold(lock(1))
        os._exit(0)
    os.waitpid(child, 0)
    assert locks.all() == []
    assert list((tmp_path / "open").iterdir()) == []
