"""Killed at any point, a change is either kept and can be taken back, or was not made."""

import os
import sys
from pathlib import Path

import pytest

from angelia.testing.model.answerers import by_replies
from angelia.testing.model.server import ModelServer
from tests import nursery
from tests.promise.lives import Place
from tests.undo.restoring import changed, taken_back
from tests.undo.test_turns import CHANGES, OFF
from tests.undo.trees import Tree, furnish, tree

pytestmark = pytest.mark.anyio

ENTRY = "tests.undo.restoring:main"
ENV = {"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.environ["PATH"]}


def _each_kind(points: list[str]) -> list[str]:
    """The first and the last time that each point is passed."""
    names = dict.fromkeys(point.partition(":")[0] for point in points)
    found = [[point for point in points if point.partition(":")[0] == name] for name in names]
    return list(dict.fromkeys(point for some in found for point in (some[0], some[-1])))


@pytest.mark.soak
async def test_a_turn_that_was_killed_anywhere_is_taken_back(tmp_path: Path) -> None:
    async with ModelServer(by_replies(list(CHANGES))) as server:
        whole = Place(tmp_path / "whole", server, sets=OFF)
        furnish(whole.workspace)
        passed = await nursery.occurrences(whole.argv("Change things."), whole.env)
    points = _each_kind([at for at in passed if at.startswith(("undo.", "put.", "command."))])
    assert len(points) > 8
    for at, point in enumerate(points):
        async with ModelServer(by_replies(list(CHANGES))) as server:
            place = Place(tmp_path / str(at), server, sets=OFF)
            before = tree(furnish(place.workspace))
            await place.ask("Change things.", at=point)
            left = tree(place.workspace)
            done = await nursery.run(["undo", "--yes"], place.env)
            assert done.status == 0 or left == before, (point, done.stderr)
            assert _without_drafts(tree(place.workspace)) == before, point


async def test_what_a_person_changes_after_the_next_start_is_theirs(tmp_path: Path) -> None:
    async with ModelServer(by_replies(list(CHANGES))) as server:
        place = Place(tmp_path, server, sets=OFF)
        furnish(place.workspace)
        await place.ask("Change things.", at="undo.before_end:1")
        assert "zwei" in (place.workspace / "notes.txt").read_text()
        await place.ask("--continue")
        (place.workspace / "notes.txt").write_text("mine\n")
        done = await nursery.run(["undo", "--yes"], place.env)
    assert done.status == 0, done.stderr
    assert (place.workspace / "notes.txt").read_text() == "mine\n"
    assert (place.workspace / "notes.txt.before").read_text() == "one\ntwo\nthree\n"


async def test_taking_back_that_was_killed_anywhere_is_done_the_next_time(tmp_path: Path) -> None:
    lived, home = tmp_path / "lived", tmp_path / "home"
    before = tree(furnish(lived))
    changed(home, lived)
    assert tree(lived) != before
    points = await nursery.occurrences([str(home), str(lived)], ENV, entry=ENTRY)
    assert tree(lived) == before
    assert len(points) > 20
    for at, point in enumerate(points):
        workspace, own = tmp_path / f"{at}", tmp_path / f"{at}-home"
        before = tree(furnish(workspace))
        changed(own, workspace)
        await nursery.run_killed_at(point, [str(own), str(workspace)], ENV, entry=ENTRY)
        restored = taken_back(own, workspace)
        assert restored.failed == (), point
        assert _without_drafts(tree(workspace)) == before, point


def _without_drafts(found: Tree) -> Tree:
    """What a killed life was writing under a name of its own stays beside."""
    return {path: stands for path, stands in found.items() if ".angelia-" not in path}
