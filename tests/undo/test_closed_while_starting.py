"""A command that was about to start when its sandbox was closed or it was given up leaves no supervisor behind."""

import asyncio
import threading
from pathlib import Path

import pytest

from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import Command, SandboxGone
from angelia.sandboxes.undo import supervision
from angelia.sandboxes.undo.store import UndoSettings, UndoStore
from angelia.sandboxes.undo.supervision import Supervision, Watch
from angelia.sandboxes.undo.supervisor import WatchEnded

pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap")]


class HeldBack:
    """A command that is being looked at on its thread: whether it can be watched."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self.there, self.go_on = asyncio.Event(), threading.Event()
        self.supervisions: list[Supervision] = []
        self.one_ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        begin, end = Supervision.begin, Watch.end

        def noted(one: Supervision) -> None:
            self.supervisions.append(one)
            begin(one)

        def told(one: Watch) -> WatchEnded:
            ended = end(one)
            self._tell(self.one_ended)
            return ended

        patch.setattr(supervision, "can_watch", self._can_watch)
        patch.setattr(Supervision, "begin", noted)
        patch.setattr(Watch, "end", told)
        for name in ("work", "own"):
            (folder / name).mkdir()
        own = folder / "own"
        self.sandbox = LocalSandbox(folder / "work", home=own, state=own / "run")
        self.sandbox.kept_in(UndoStore(own, UndoSettings()), "c_1")
        self.starting = asyncio.create_task(self.sandbox.start(Command(shell="true")))

    def _can_watch(self, program: str, folder: Path) -> bool:
        self._tell(self.there)
        return self.go_on.wait(20)

    def _tell(self, event: asyncio.Event) -> None:
        self._loop.call_soon_threadsafe(event.set)

    @property
    def begun(self) -> list[bool]:
        """Of each supervisor that was to begin: whether it is there."""
        return [one.begun for one in self.supervisions]


async def held_back_in(folder: Path, patch: pytest.MonkeyPatch) -> HeldBack:
    """Where its thread has got there."""
    made = HeldBack(patch, folder)
    async with asyncio.timeout(20):
        await made.there.wait()
    return made


async def test_one_whose_sandbox_is_closed_meanwhile_begins_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held_back = await held_back_in(tmp_path, monkeypatch)
    await held_back.sandbox.close()
    held_back.go_on.set()
    with pytest.raises(SandboxGone, match="has been closed"):
        await held_back.starting
    assert held_back.begun == [False]


async def test_one_that_is_given_up_lets_its_supervisor_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held_back = await held_back_in(tmp_path, monkeypatch)
    held_back.starting.cancel()
    await asyncio.wait([held_back.starting])
    held_back.go_on.set()
    async with asyncio.timeout(20):
        await held_back.one_ended.wait()
    assert (held_back.starting.cancelled(), held_back.begun) == (True, [True])
    await held_back.sandbox.close()
    assert held_back.begun == [False]
