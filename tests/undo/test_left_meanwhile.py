"""What a command left in the moment before it was looked at is neither kept as what stood there, nor put back."""

import math
import os
import time
from pathlib import Path

import pytest

from angelia.core import entry as e
from angelia.sandboxes.guard.guard import Guard, guard_of
from angelia.sandboxes.port import Command, Running, Sandbox
from angelia.sandboxes.undo.call_journals import CallJournals
from angelia.sandboxes.undo.call_sandbox import CallSandbox
from angelia.sandboxes.undo.plan import undo_plan
from angelia.sandboxes.undo.restore import WorkspaceNow, carry_out
from angelia.sandboxes.undo.states import NothingThere
from angelia.sandboxes.undo.step import WasThere
from angelia.sandboxes.undo.store import UndoSettings, UndoStore
from angelia.service.conversation.undo_candidates import candidates
from angelia.testing.model.answerers import by_replies
from angelia.testing.model.server import ModelServer
from angelia.testing.model.steps import call, say
from angelia.testing.sandboxes.acts import place, said
from tests import nursery
from tests.escape.conftest import Open, Person, guarded, person
from tests.promise.lives import Place

__all__ = ["guarded", "person"]
pytestmark = pytest.mark.anyio
OURS = "person"


class Calls:
    """Calls of one conversation in the person's project, as the engine makes them."""

    def __init__(self, person: Person, inner: Sandbox) -> None:
        self._work, self._inner = person.work, inner
        self.store = UndoStore(person.own, UndoSettings())
        self.guard: Guard = guard_of(person.work, person.own)
        self._journals = CallJournals(
            OURS,
            lambda name: self.store.begin(OURS, person.work, name),
            lambda command, folder: candidates(command, Path(folder), person.home, here=True),
        )

    def call(self, name: str) -> CallSandbox:
        return CallSandbox(self._inner, self._work, name, self._journals, self.guard)

    def takes_back(self, name: str) -> list[str]:
        """Take back what a call did; what the guard says of it."""
        steps = self.store.steps(OURS)
        own = [step for step in steps if step.begun.call == name]
        present = WorkspaceNow(self._work)
        with self.guard.restoring() as notes:
            step = self.store.begin(OURS, self._work, "undo")
            carry_out(undo_plan(own, [one for one in steps if one not in own], present), step)
            step.end()
        present.close()
        return notes


async def in_background(sandbox: Sandbox, line: str) -> Running:
    """A command that has done this, and goes on."""
    running = await sandbox.start(Command(shell=f"{line}; echo done; sleep 1000"))
    async for _ in running.output():
        break
    return running


@pytest.mark.real("bwrap")
@pytest.mark.parametrize("path", [".envrc", ".venv/bin/ls"])
async def test_what_another_command_left_just_before_is_not_kept_as_what_stood(
    path: str, person: Person, guarded: Open
) -> None:
    (person.work / ".venv/bin").mkdir(parents=True)
    (person.work / ".venv/pyvenv.cfg").touch()
    calls = Calls(person, guarded())
    other = await in_background(guarded(), f"echo evil > {path}; chmod +x {path}")
    await said(calls.call("c1"), Command(shell=f"rm -f {path}"))
    await other.kill()
    await other.wait()
    noted = [one for step in calls.store.steps(OURS) for one in step.records if isinstance(one, WasThere)]
    assert {type(one.state) for one in noted if one.path == path} <= {NothingThere}, "what it left was kept"
    calls.takes_back("c1")
    assert not (person.work / path).exists()


@pytest.mark.real("bwrap")
async def test_nor_is_it_before_a_tool_writes_there(person: Person, guarded: Open) -> None:
    (person.work / ".venv/bin").mkdir(parents=True)
    (person.work / ".venv/pyvenv.cfg").touch()
    calls = Calls(person, guarded())
    other = await in_background(guarded(), "echo evil > .venv/bin/ls; chmod +x .venv/bin/ls")
    await place(calls.call("c1"), ".venv/bin/ls", b"judged")
    await other.kill()
    await other.wait()
    calls.takes_back("c1")
    assert not (person.work / ".venv/bin/ls").exists()


async def test_what_is_put_back_stands_only_if_it_ever_did(person: Person) -> None:
    """Whatever came to be kept: by a race, or before anybody looked."""
    (person.work / ".envrc").write_text("mine")
    guard = guard_of(person.work, person.own)
    guard.see()
    (person.work / ".envrc").unlink()
    with guard.restoring() as notes:
        (person.work / ".envrc").write_text("mine")
        (person.work / "deep").mkdir()
        (person.work / "deep/.envrc").write_text("evil")
    assert (person.work / ".envrc").read_text() == "mine"
    assert not (person.work / "deep/.envrc").exists()
    assert len(notes) == 1
    assert "`deep/.envrc` was moved" in notes[0]
    holder = object()
    guard.enter(holder)
    assert guard.leave(holder) == ()


async def test_what_a_killed_life_had_put_back_stands_if_it_ever_did(person: Person) -> None:
    (person.work / ".envrc").write_text("mine")
    (person.work / "other").write_text("x")
    guard_of(person.work, person.own).see()
    (person.work / ".envrc").unlink()
    if not (child := os.fork()):
        with guard_of(person.work, person.own).restoring():
            (person.work / ".envrc").write_text("mine")
            (person.work / ".autoenv").write_text("evil")
            os._exit(0)
    os.waitpid(child, 0)  # noqa: ASYNC222 - it ends at once
    assert [note for note in Guard(person.work, person.own).recover() if ".autoenv" in note]
    assert (person.work / ".envrc").read_text() == "mine"
    assert not (person.work / ".autoenv").exists()


async def test_what_stood_is_known_in_later_lives_and_bounded(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("angelia.sandboxes.guard.originals._MOST_STOOD", 4)
    (person.work / ".envrc").write_text("first")
    Guard(person.work, person.own).see()
    for number in range(9):
        (person.work / ".envrc").write_text(str(number))
        Guard(person.work, person.own).see()
    later = Guard(person.work, person.own)
    with later.restoring() as notes:
        (person.work / ".envrc").write_text("8")
    assert notes == []
    with later.restoring() as notes:
        (person.work / ".envrc").write_text("first")
    assert notes
    (stood,) = (person.own / "guarded").glob("*/stood")
    assert stood.stat().st_size <= 65 * 8
    assert "envrc" not in stood.read_text()


@pytest.mark.real("bwrap")
async def test_what_a_command_swaps_in_behind_a_tools_write_does_not_stand(person: Person, guarded: Open) -> None:
    (person.work / ".venv/bin").mkdir(parents=True)
    (person.work / ".venv/pyvenv.cfg").touch()
    sandbox = guarded()
    running = await sandbox.start(Command(shell="sleep 1000"))
    guard = guard_of(person.work, person.own)
    tool = person.work / ".venv/bin/ls"
    tool.write_text("evil")
    tool.chmod(0o755)
    guard.accept(str(tool), "0" * 64)  # what was put was another
    await running.kill()
    assert [note for note in (await running.wait()).notes if "ls" in note]
    assert not tool.exists()


async def test_writes_of_tools_put_no_look_off(person: Person) -> None:
    guard, holder = guard_of(person.work, person.own), object()
    guard.enter(holder)
    guard._enforced = -math.inf
    (person.work / ".envrc").write_text("evil")
    guard.accept(str(person.work / "notes.txt"), "0" * 64)
    assert guard.glance()
    guard.leave(holder)


async def test_a_clock_that_is_set_back_puts_no_look_off(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Guard, "PAUSE", 0.0)
    guard, holder = guard_of(person.work, person.own), object()
    guard.enter(holder)
    assert not guard.glance()
    guard.last, now = 0.0, time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now - 3_600_000_000_000)
    (person.work / ".envrc").write_text("evil")
    assert guard.glance()
    guard.leave(holder)


DESTROYS = (call("shell", {"command": "rm .envrc"}, wire_id="c1"), say("Done."))


@pytest.mark.parametrize("confined", ["auto", "off"])
async def test_undo_puts_the_persons_own_back_and_nothing_that_never_stood(tmp_path: Path, confined: str) -> None:
    """The second time something else lies where it was kept, as if a command had left it the moment before."""
    async with ModelServer(by_replies([*DESTROYS, *DESTROYS])) as server:
        life = Place(tmp_path, server, sets=(f"sandbox.confine={confined}", "policy.mode=autonomous"))
        mine = life.workspace / ".envrc"
        mine.write_text("mine\n")
        for evil in (b"", b"evil\n"):
            assert (await life.ask("Remove it.")).status == 0
            assert not mine.exists()
            if evil:
                latest = max((life.home / "undo").glob("*/*/1"))
                latest.unlink()
                latest.write_bytes(evil)
            done = await nursery.run(["undo", "--yes"], life.env)
            assert done.status == 0, done.stderr
            assert mine.exists() == (not evil)
        assert "`.envrc` was moved out of the workspace" in done.stdout
        facts = await life.facts()
        assert [fact for fact in facts if isinstance(fact, e.SystemSaid) and "was moved out" in fact.text]
        taken = [fact.left for fact in facts if isinstance(fact, e.FilesTakenBack)]
        assert [len(left) for left in taken] == [1]


def test_a_file_that_is_seen_while_it_is_written_is_moved_and_not_emptied(person: Person) -> None:
    guard, holder = guard_of(person.work, person.own), object()
    guard.enter(holder)
    left = person.work / "project.code-workspace"
    left.touch()  # as a shell does before it writes
    guard.see()
    left.write_text("evil")
    (note,) = guard.leave(holder)
    assert "was moved out of the workspace" in note
    assert not left.exists()
