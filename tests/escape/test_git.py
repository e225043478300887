"""No Git outside runs what a confined command left, in whichever way; honest use of Git goes on."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import Command, Exit, Sandbox
from angelia.testing.sandboxes.acts import said

from .conftest import Open, Person, in_both

pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap")]

WAYS: dict[str, dict[str, Any]] = tomllib.loads((Path(__file__).parent / "git_ways.toml").read_text())
RUN = "touch {marker}"


async def attack(person: Person, sandbox: Sandbox, name: str) -> tuple[str, ...]:
    """Let the way be gone; what was told of it."""
    way = WAYS[name]
    told: list[str] = []
    for line in (way["line"], way.get("then", "true")):
        line = line.replace("{run}", RUN.format(marker=person.marker))
        _, end = await said(sandbox, Command(shell=line))
        told += end.notes
    return tuple(told)


@pytest.mark.parametrize(("guarded", "name"), in_both(WAYS), indirect=["guarded"])
async def test_no_git_outside_runs_what_a_command_left(name: str, person: Person, guarded: Open) -> None:
    person.runs(WAYS[name].get("before", "true").replace("{name}", person.work.parent.name))
    told = await attack(person, guarded(), name)
    report = person.uses_git_everywhere()
    assert not person.marker.exists(), report
    assert told or WAYS[name].get("mounted"), "nobody was told"
    for note in told:
        assert "outside of the sandbox it could run programs" in note or "left as it is" in note, note


@pytest.mark.soak
@pytest.mark.parametrize("name", WAYS)
async def test_without_the_guard_the_same_ways_lead_out(name: str, person: Person) -> None:
    person.runs(WAYS[name].get("before", "true").replace("{name}", person.work.parent.name))
    bare = LocalSandbox(person.work, home=person.own, state=person.own / "run")
    try:
        assert await attack(person, bare, name) == ()
    finally:
        await bare.close()
    report = person.uses_git_everywhere()
    assert person.marker.exists() != WAYS[name].get("mounted", False), report


HONEST = [
    "git init -q x && cd x && git config user.name me && git commit -q --allow-empty -m 1",
    "git clone -q repo copy && git -C copy log --oneline | grep first",
    "git clone -q --bare repo copy.git && git -C copy.git log --oneline | grep first",
    "git clone -q repo c && cd c && git remote add o ../repo && git fetch -q o && git branch --track t o/main",
    "cd repo && git checkout -q -b topic && echo 2 > f && git commit -qam 2 && git checkout -q main && git merge topic",
    "cd repo && git worktree add -q ../tree && git -C ../tree status",
    "git clone -q repo c && cd c && git -c protocol.file.allow=always submodule add ../repo m && git submodule status",
    "git clone -q repo c && cd c && git stash -q; git tag v1; git rebase main; git gc -q; git config pull.rebase true",
    "mkdir 'a b' && git clone -q repo 'a b/c' && git clone -q 'a b/c' d && git clone -q \"$PWD/a b/c\" e && ls d e",
    "cp -r repo repo2 && git -C repo2 status && mv repo2 repo3 && git -C repo3 log | grep first",
]


@pytest.mark.parametrize(("guarded", "line"), in_both(HONEST), indirect=["guarded"])
async def test_honest_use_of_git_goes_on_and_nobody_is_troubled(line: str, person: Person, guarded: Open) -> None:
    person.runs("git init -q -b main repo && cd repo && echo 1 > f && git add f && git commit -qm first")
    person.runs("git -C repo config core.sshCommand 'ssh -i key'; git -C repo config alias.x '!true'")
    who = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@x; set -e;"
    output, end = await said(guarded(), Command(shell=f"{who} {line}"))
    assert (end.status, end.notes) == (0, ()), output.decode()


async def test_what_stood_before_stands_and_comes_back_whole(person: Person, guarded: Open) -> None:
    person.runs("git init -q a/b/c && cd a/b/c && git config core.pager 'less -X' && chmod 640 .git/config")
    config = person.work / "a/b/c/.git/config"
    before = config.stat().st_mode
    sandbox = guarded()
    assert (await ends(sandbox, "cd a/b/c && git config user.name me")).notes == ()
    assert b"name = me" in config.read_bytes()
    assert (await ends(sandbox, "cd a/b/c && git config --unset user.name")).notes == ()
    assert (await ends(sandbox, "cd a/b/c && git config core.pager evil")).notes != ()
    assert b"less -X" in config.read_bytes()
    assert config.stat().st_mode == before


async def test_what_the_person_changes_between_commands_stands(person: Person, guarded: Open) -> None:
    sandbox = guarded()
    assert (await ends(sandbox, "git init -q x")).notes == ()
    person.runs("git -C x config core.editor vim; echo 'use flake' > .envrc")
    assert (await ends(sandbox, "touch y")).notes == ()
    assert "vim" in (person.work / "x/.git/config").read_text()
    assert (person.work / ".envrc").exists()


async def ends(sandbox: Sandbox, line: str) -> Exit:
    """Run a line that must succeed."""
    output, end = await said(sandbox, Command(shell=line))
    assert end.status == 0, output.decode()
    return end
