"""Whatever hostile commands leave, nothing of it runs outside when the person goes on working, and it is told."""

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest

from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import Command, Sandbox
from angelia.testing.sandboxes.acts import said

from .conftest import Open, Person, in_both
from .outside import lives_on

pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap")]

_HERE = Path(__file__).parent
WAYS: dict[str, dict[str, Any]] = tomllib.loads((_HERE / "commands.toml").read_text())
RUN_WITHOUT_IT = [
    name
    for name, way in WAYS.items()
    if not way.get("quiet") and not way.get("inert") and not (way.get("as_root") and os.geteuid())
]
OF_GIT: dict[str, dict[str, Any]] = tomllib.loads((_HERE / "git_ways.toml").read_text())
LIVING: dict[str, dict[str, Any]] = tomllib.loads((_HERE / "living_ways.toml").read_text())
ENOUGH = 110


def test_there_are_enough_of_them() -> None:
    assert len(WAYS) + len(OF_GIT) + len(LIVING) >= ENOUGH


async def attack(person: Person, sandbox: Sandbox, way: dict[str, Any]) -> tuple[str, ...]:
    """Let the way be gone; what was told of it."""
    _, end = await said(sandbox, Command(shell=filled(person, way)))
    return end.notes


def filled(person: Person, way: dict[str, Any]) -> str:
    """The line of a way, for this person."""
    line: str = way["line"].replace("{run}", f"touch {person.marker}").replace("{marker}", str(person.marker))
    return line.replace("{home}", str(person.home)).replace("{own}", str(person.own))


def state(folder: Path) -> dict[str, bytes]:
    """Every file of the person outside of the project."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("guarded", "name"), in_both(WAYS), indirect=["guarded"])
async def test_nothing_runs_outside_and_what_is_left_is_told(name: str, person: Person, guarded: Open) -> None:
    way = WAYS[name]
    person.runs(way.get("before", "true"))
    (person.home / ".bashrc").write_text("true\n")
    home = state(person.home)
    told = await attack(person, guarded(), way)
    assert state(person.home) == home
    report = lives_on(person)
    assert not person.marker.exists(), report
    assert bool(told) is not way.get("quiet", False), told
    bits = [path for path in person.work.rglob("*") if os.lstat(path).st_mode & stat.S_ISUID]
    assert bits == []


@pytest.mark.soak
@pytest.mark.parametrize("name", RUN_WITHOUT_IT)
async def test_without_the_guard_the_same_lines_run(name: str, person: Person) -> None:
    way = WAYS[name]
    person.runs(way.get("before", "true"))
    bare = LocalSandbox(person.work, home=person.own, state=person.own / "run")
    try:
        assert await attack(person, bare, way) == ()
        report = lives_on(person)
    finally:
        await bare.close()
    assert person.marker.exists(), report


async def test_beside_a_link_that_only_root_can_follow_all_is_seen(
    person: Person, guarded: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow = os.readlink

    def as_an_ordinary_user(path: str) -> str:
        if path == "/proc/2/root":
            raise PermissionError(13, "Permission denied", path)
        return follow(path)

    monkeypatch.setattr(os, "readlink", as_an_ordinary_user)
    told = await attack(person, guarded(), WAYS["beside-links-that-nobody-can-follow"])
    assert any(".envrc" in note for note in told), told
    report = lives_on(person)
    assert not person.marker.exists(), report


@pytest.mark.parametrize("name", LIVING)
async def test_what_is_dangerous_while_its_command_runs_is_taken_away_meanwhile(
    name: str, person: Person, guarded: Open
) -> None:
    running = await guarded().start(Command(shell=filled(person, LIVING[name])))
    await person.has_heard.wait()
    report = lives_on(person)
    await running.kill()
    await running.wait()
    assert not person.marker.exists(), report


@pytest.mark.soak
@pytest.mark.parametrize("name", LIVING)
async def test_without_the_guard_it_runs_while_its_command_does(name: str, person: Person) -> None:
    bare = LocalSandbox(person.work, home=person.own, state=person.own / "run")
    try:
        running = await bare.start(Command(shell=filled(person, LIVING[name])))
        await anext(running.output())
        report = lives_on(person)
    finally:
        await bare.close()
    assert person.marker.exists(), report
