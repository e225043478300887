"""Copies of a folder in which conversations work have nothing that a command left for programs outside."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest

from angelia.core import entry as e
from angelia.core.content import Media
from angelia.core.ids import ConversationId
from angelia.sandboxes.guard.guard import guard_of
from angelia.sandboxes.undo.call_sandbox import keep_at
from angelia.sandboxes.undo.store import UndoSettings, UndoStore
from angelia.service.delegation.changes import CopyChanges
from angelia.service.delegation.copies import WorkspaceCopies
from angelia.service.replays.earlier_files import EarlierFiles
from angelia.store.log.transcript import Transcript
from angelia.store.sql.database import Database
from tests.escape.conftest import Person, person

__all__ = ["person"]
pytestmark = pytest.mark.anyio
CHILD = ConversationId("child")


class KeepsNothing:
    """What is handed over of a copy; a claim that nothing is."""

    async def stream_to_media(self, chunks: AsyncIterator[bytes], name: str, *, limit: int = 0) -> Media:
        raise AssertionError(f"{name} was handed over")


def copies_of(person: Person) -> WorkspaceCopies:
    return WorkspaceCopies(person.own, 10_000_000, KeepsNothing())


def own(person: Person) -> None:
    """What the person has there themselves, and would run."""
    (person.work / ".vscode").mkdir()
    (person.work / ".vscode/tasks.json").write_text("mine")
    (person.work / "story.txt").write_text("once")


@contextmanager
def leaves(person: Person, path: str) -> Iterator[None]:
    """A command runs and has left a file, and nobody has looked since; its end tells what became of that."""
    guard, holder = guard_of(person.work, person.own), object()
    guard.enter(holder)
    (person.work / path).write_text("evil")
    yield
    (told,) = guard.leave(holder)
    assert f"`{path}` was moved" in told


async def test_what_a_command_left_just_before_a_helpers_copy_is_made_is_in_neither(person: Person) -> None:
    own(person)
    with leaves(person, ".envrc"):
        assert await copies_of(person).made(CHILD, person.work) == ()
        assert not (person.work / ".envrc").exists()
    copy = copies_of(person).folder(CHILD)
    assert sorted(path.name for path in copy.iterdir()) == [".vscode", "story.txt"]
    assert (copy / ".vscode/tasks.json").read_text() == "mine"


async def test_what_runs_in_a_helpers_copy_alone_is_left_out_and_counts_for_no_change(person: Person) -> None:
    """A link that leads out of the folder, which is an interpreter's way, and into the copy to come."""
    own(person)
    (person.work / ".venv/bin").mkdir(parents=True)
    (person.work / ".venv/pyvenv.cfg").touch()
    to_come = copies_of(person).folder(CHILD).with_suffix(".part")
    (person.work / ".venv/bin/python").symlink_to(to_come / "evil")
    (person.work / "evil").write_text("#!/bin/sh")
    guard_of(person.work, person.own).see()
    (told,) = await copies_of(person).made(CHILD, person.work)
    assert ".venv/bin/python is not in your copy" in told
    assert not (copies_of(person).folder(CHILD) / ".venv/bin/python").is_symlink()
    assert (person.work / ".venv/bin/python").is_symlink()
    assert await copies_of(person).changes(CHILD, "h1", person.work) == CopyChanges()


async def test_earlier_files_have_the_persons_own_and_nothing_that_never_stood(person: Person) -> None:
    """Whatever came to be kept: by a race, or before anybody looked."""
    own(person)
    guard, undo, copy = guard_of(person.work, person.own), UndoStore(person.own, UndoSettings()), person.home / "copy"
    guard.see()
    (person.work / ".autoenv").write_text("evil, and nobody has looked")
    step = undo.begin(CHILD, person.work, "c1")
    for path in (".autoenv", ".vscode/tasks.json"):
        keep_at(step, path)
        (person.work / path).unlink()
    step.end()
    database = Database.open(person.own)
    try:
        transcript = Transcript(database)
        await transcript.append(CHILD, [e.ConversationOpened("terminal", str(person.work))])
        entries = await transcript.entries(CHILD)
        with leaves(person, ".envrc"):
            lost = await EarlierFiles(undo, transcript, 10_000_000).lay_out(CHILD, entries, 1, copy)
            assert not (person.work / ".envrc").exists()
    finally:
        database.close()
    assert sorted(path.name for path in copy.iterdir()) == [".vscode", "story.txt"]
    assert (copy / ".vscode/tasks.json").read_text() == "mine"
    (told,) = lost
    assert told.startswith(".autoenv is left out")
