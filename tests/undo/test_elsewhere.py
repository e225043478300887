"""What calls change in a workspace elsewhere is copied before, and can be put back there."""

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import Command, Exit, FileStat, Reach, Unreachable
from angelia.sandboxes.undo.call_journals import CallJournals
from angelia.sandboxes.undo.mirror import MOST_BYTES, Mirror
from angelia.sandboxes.undo.mirrored_call import MirroredCall
from angelia.sandboxes.undo.plan import TakingBack, UndoPlan, undo_plan
from angelia.sandboxes.undo.restore import WorkspaceNow, carry_out
from angelia.sandboxes.undo.step import WasThere
from angelia.sandboxes.undo.store import UndoSettings, UndoStore
from angelia.service.conversation.undo_candidates import candidates
from tests.undo.trees import Tree, tree

pytestmark = pytest.mark.anyio

CONVERSATION = "c"


class Elsewhere:
    """A folder that is reached by a sandbox alone, and the store of the journals here."""

    def __init__(self, folder: Path) -> None:
        self.there = folder / "there"
        self.there.mkdir()
        self.sandbox = LocalSandbox(self.there, home=folder / "home", state=folder / "run", confine="off")
        self.store = UndoStore(folder / "home", UndoSettings())
        self.mirror = self._mirror(str(self.there))
        self.journals = CallJournals(
            CONVERSATION,
            lambda call: self.store.begin(CONVERSATION, self.mirror.folder, call),
            lambda command, workspace: candidates(command, Path(workspace), folder, here=False),
        )

    def _mirror(self, workspace: str) -> Mirror:
        return Mirror(self.store.mirror_folder(CONVERSATION), self.sandbox, workspace)

    def call(self, name: str) -> MirroredCall:
        return MirroredCall(self.sandbox, name, self.journals, self._mirror)

    async def runs(self, line: str, call: str = "c1_0") -> Exit:
        running = await self.call(call).start(Command(shell=line, reach=Reach.OUTSIDE, cwd=str(self.there)))
        async for _ in running.output():
            pass
        return await running.wait()

    async def writes(self, path: str, content: bytes, call: str = "c1_1") -> None:
        digest = hashlib.sha256(content).hexdigest()
        await self.call(call).put(path, _once(content), size=len(content), sha256=digest)

    async def plan(self, *calls: str) -> tuple[UndoPlan, WorkspaceNow]:
        steps = self.store.steps(CONVERSATION)
        own = [step for step in steps if step.begun.call in calls]
        noted = [r.path for step in own for r in step.records if isinstance(r, WasThere)]
        unknown = await self.mirror.fetch(noted)
        present = WorkspaceNow(self.mirror.folder)
        return undo_plan(own, [step for step in steps if step not in own], present, unknown), present

    async def takes_back(self, *calls: str, by: str = "undo") -> Sequence[str]:
        """Take back what these calls did; what was put beside."""
        plan, present = await self.plan(*calls)
        present.close()
        step = self.store.begin(CONVERSATION, self.mirror.folder, by)
        restored = carry_out(plan, step)
        assert restored.failed == ()
        assert await self.mirror.put((*restored.done, *restored.beside)) == {}
        step.end()
        return restored.beside


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


@pytest.fixture
async def elsewhere(tmp_path: Path) -> AsyncIterator[Elsewhere]:
    made = Elsewhere(tmp_path)
    (made.there / "src/deep").mkdir(parents=True)
    for path, text in {"notes.txt": "one\n", "src/main.py": "print()\n", "src/deep/data": "x" * 5000}.items():
        (made.there / path).write_text(text)
    (made.there / "src/main.py").chmod(0o755)
    (made.there / "src/link").symlink_to("main.py")
    yield made
    await made.sandbox.close()


def without_times(found: Tree) -> dict[str, tuple[object, ...]]:
    """Times are kept to the second elsewhere."""
    return {path: (*what[:2], *what[3:]) if what[0] == "file" else what for path, what in found.items()}


CHANGES = [
    "rm notes.txt",
    "rm -rf src",
    "echo new > notes.txt",
    "rm -r src/deep && mkdir src/deep && echo y > src/deep/data",
    "mv notes.txt src/main.py",
    "rm src/*.py",
    "sed -i s/one/two/ notes.txt",
]


@pytest.mark.parametrize("line", CHANGES)
async def test_what_a_command_elsewhere_is_seen_to_change_comes_back(elsewhere: Elsewhere, line: str) -> None:
    before = without_times(tree(elsewhere.there))
    ended = await elsewhere.runs(line)
    changed = without_times(tree(elsewhere.there))
    assert ended.status == 0
    assert ended.changed
    assert changed != before
    assert await elsewhere.takes_back("c1_0") == ()
    assert without_times(tree(elsewhere.there)) == before
    assert await elsewhere.takes_back("undo", by="back") == ()
    assert without_times(tree(elsewhere.there)) == changed, "and it comes again"


async def test_a_file_that_is_written_elsewhere_comes_back_with_the_folders_on_its_way(elsewhere: Elsewhere) -> None:
    before = without_times(tree(elsewhere.there))
    await elsewhere.writes("notes.txt", b"other\n")
    await elsewhere.writes("new/deep/file", b"made\n")
    await elsewhere.writes(str(elsewhere.there / "notes.txt"), b"again\n")
    assert await elsewhere.takes_back("c1_1") == ()
    assert without_times(tree(elsewhere.there)) == before


async def test_what_somebody_changed_there_since_is_left_alone(elsewhere: Elsewhere) -> None:
    await elsewhere.writes("notes.txt", b"other\n")
    (elsewhere.there / "notes.txt").write_text("mine!\n")
    assert await elsewhere.takes_back("c1_1") == ("notes.txt.before",)
    assert (elsewhere.there / "notes.txt").read_text() == "mine!\n"
    assert (elsewhere.there / "notes.txt.before").read_text() == "one\n"


async def test_what_is_too_large_to_be_copied_is_told_and_not_touched(elsewhere: Elsewhere) -> None:
    with (elsewhere.there / "large").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    ended = await elsewhere.runs("rm large notes.txt")
    assert any("`large` was not kept" in told for told in ended.notices)
    plan, present = await elsewhere.plan("c1_0")
    present.close()
    assert {one.path: one.act for one in plan.paths} == {
        "large": TakingBack.UNABLE,
        "notes.txt": TakingBack.RESTORE,
    }


async def test_a_large_file_that_is_overwritten_cannot_be_taken_back_and_that_is_said(elsewhere: Elsewhere) -> None:
    with (elsewhere.there / "large").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    await elsewhere.writes("large", b"small")
    plan, present = await elsewhere.plan("c1_1")
    present.close()
    assert [(one.path, one.act) for one in plan.paths] == [("large", TakingBack.UNABLE)]
    assert "more than is copied" in plan.paths[0].why


async def test_a_way_that_is_lost_after_a_call_makes_no_failure_of_it(
    elsewhere: Elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, stat = elsewhere.sandbox.put, elsewhere.sandbox.stat

    async def put_and_lose(*words: Any, **more: Any) -> None:
        await put(*words, **more)
        monkeypatch.setattr(elsewhere.sandbox, "stat", lost)

    async def lost(path: str) -> FileStat:
        raise Unreachable("The way there is lost.")

    monkeypatch.setattr(elsewhere.sandbox, "put", put_and_lose)
    await elsewhere.writes("notes.txt", b"other\n")
    monkeypatch.setattr(elsewhere.sandbox, "stat", stat)
    plan, present = await elsewhere.plan("c1_1")
    present.close()
    (one,) = plan.paths
    assert (elsewhere.there / "notes.txt").read_text() == "other\n"
    assert one.path == "notes.txt"
    assert one.act in (TakingBack.BESIDE, TakingBack.UNABLE)


async def test_a_link_that_was_laid_there_since_is_not_followed(elsewhere: Elsewhere, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    await elsewhere.runs("rm -rf src")
    (elsewhere.there / "src").symlink_to(tmp_path / "secret")
    assert await elsewhere.takes_back("c1_0") == ()
    assert list((tmp_path / "secret").iterdir()) == []
    assert (elsewhere.there / "src").is_symlink()


async def test_a_copy_that_is_asked_for_counts_as_used(elsewhere: Elsewhere) -> None:
    os.utime(elsewhere.there / "notes.txt", (1, 1))
    await elsewhere.mirror.fetch(["notes.txt"])
    os.utime(elsewhere.mirror.folder, (1, 1))
    await elsewhere.mirror.fetch(["notes.txt"])
    elsewhere.store.prune(time.time())
    assert (elsewhere.mirror.folder / "notes.txt").exists()


async def test_calls_at_once_share_the_copies(elsewhere: Elsewhere) -> None:
    before = without_times(tree(elsewhere.there))
    lines = ("rm -rf src/deep", "echo x > notes.txt", "rm src/main.py", "rm src/link")
    await asyncio.gather(*(elsewhere.runs(line, f"c1_{at}") for at, line in enumerate(lines)))
    await elsewhere.takes_back(*(f"c1_{at}" for at in range(len(lines))))
    assert without_times(tree(elsewhere.there)) == before
