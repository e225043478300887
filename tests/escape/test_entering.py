"""Nothing that runs by merely entering, opening or using the folder is left by a command without being told."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.sandboxes.guard.guard import guard_of, recover_all
from angelia.sandboxes.port import AccessRefused, Command, Reach
from angelia.testing.sandboxes.acts import place, said
from tests.examples import TIMES

from .conftest import SANDBOXES, Open, Person

pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap")]

OLD = "old\n"
TAKEN_BACK = [
    ".envrc",
    "deep/down/.envrc",
    ".vscode/tasks.json",
    "a/.vscode/tasks.json",
    ".husky/pre-commit",
    ".husky/_/husky.sh",
    ".githooks/post-checkout",
    ".shadowenv.d/500_path.lisp",
    ".idea/watcherTasks.xml",
    ".idea/startup.xml",
    ".hg/hgrc",
    ".hg/sharedpath",
    ".jj/repo/config.toml",
    ".bzr/branch/branch.conf",
    "_darcs/prefs/defaults",
    ".mise.toml",
    "mise.toml",
    ".config/mise/config.toml",
    ".autoenv",
    ".autoenv.zsh",
    ".direnv/flake.rc",
    ".exrc",
    ".vimrc",
    ".nvim.lua",
    ".venv/bin/python",
    ".venv/bin/activate",
    ".venv/bin/ls",
    "env2/bin/activate.fish",
    "bin/activate-hermit",
    "bin/hermit",
    "bin/hermit.hcl",
    ".env",
    ".env.leave",
    ".flox/env/manifest.toml",
    ".claude/settings.json",
    ".zed/settings.json",
    ".vscode/settings.json",
    ".codex/config.toml",
    ".mcp.json",
    "project.code-workspace",
    ".venv/lib/python3.11/site-packages/sitecustomize.py",
    "src/usercustomize.py",
]
TOLD = [
    ".vscode/launch.json",
    ".devcontainer/devcontainer.json",
    ".pre-commit-config.yaml",
    ".yarnrc.yml",
    ".bashrc",
    ".gdbinit",
    ".idea/workspace.xml",
    ".kiro/hooks/on-save.kiro.hook",
    ".windsurf/rules.md",
    "flake.nix",
    ".venv/bin/ruff",
]
CHANGES = [
    "echo evil >> {path}",
    "rm -f {path} && mkdir -p $(dirname {path}) && echo evil > {path} && chmod +x {path}",
    "echo evil > x && chmod +x x && mkdir -p $(dirname {path}) && mv -f x {path}",
]


def lay(person: Person, path: str) -> Path:
    """The person's own file there."""
    file = person.work / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(OLD)
    if path.startswith(".venv/") or "/bin/" in path:
        (file.parent.parent / "pyvenv.cfg").write_text("home = /usr/bin\n")
        file.chmod(0o755)
    return file


TRIED = [
    (sandbox, path, change)
    for turn, path in enumerate(TAKEN_BACK)
    for other, sandbox in enumerate(SANDBOXES)
    for change in (CHANGES if TIMES else [CHANGES[(turn + other) % len(CHANGES)]])
]
"""Every path in both sandboxes, by another change each; `make soak` takes every change."""


@pytest.mark.parametrize(("guarded", "path", "change"), TRIED, indirect=["guarded"])
async def test_what_was_there_is_as_it_was(path: str, change: str, person: Person, guarded: Open) -> None:
    file = lay(person, path)
    mode = file.stat().st_mode
    _, end = await said(guarded(), Command(shell=change.format(path=path)))
    assert (file.read_text(), file.stat().st_mode) == (OLD, mode)
    assert any(path in note and "put back" in note for note in end.notes), end


async def test_what_was_not_there_is_moved_aside_and_can_be_looked_at(person: Person, guarded: Open) -> None:
    new = [path for path in TAKEN_BACK if "activate" not in path]
    lines = [CHANGES[1].format(path=path) for path in new]
    _, end = await said(guarded(), Command(shell="\n".join([*lines, "touch .venv/pyvenv.cfg"])))
    assert [path for path in new if (person.work / path).exists()] == []
    assert [path for path in new if not any(f"`{path}` was moved" in note for note in end.notes)] == []
    kept = [file for file in (person.own / "quarantine").rglob("*") if file.is_file()]
    assert len(kept) == len(new)
    assert {file.stat().st_mode & 0o777 for file in kept} == {0o600}
    assert (person.own / "quarantine").stat().st_mode & 0o777 == 0o700
    assert (person.own / "guarded").stat().st_mode & 0o777 == 0o700


PIPES = [".gitignore", "deep/down/.gitignore", ".gitattributes", ".mailmap", ".git/info/exclude", ".git/refs/heads/x"]


@pytest.mark.parametrize("make", ["mkfifo {path}", "python3 -c 'import socket; socket.socket(1).bind(\"{path}\")'"])
async def test_nobody_waits_for_ever_who_enters(make: str, person: Person, guarded: Open) -> None:
    person.runs("git init -q . && git commit -q --allow-empty -m one")
    lines = [f"rm -f {path}; mkdir -p $(dirname {path}); {make.format(path=path)}" for path in PIPES]
    _, end = await said(guarded(), Command(shell="\n".join([*lines, "mkfifo mine"])))
    assert [path for path in PIPES if (person.work / path).exists()] == []
    assert [path for path in PIPES if not any(f"`{path}` was moved" in note for note in end.notes)] == []
    assert (person.work / "mine").is_fifo(), "what nobody opens unasked is a command's own business"
    assert "nothing added to commit" in person.runs("timeout 20 git status") or "clean" in person.runs("git status")


async def test_a_fifo_to_which_nobody_writes_holds_up_no_look(person: Person, guarded: Open) -> None:
    lines = [
        *("git init -q x", "rm x/.git/config", "mkfifo x/.git/config"),
        *("mkdir y z", "mkfifo z/commondir", "echo 'gitdir: ../z' > y/.git"),
        *("mkfifo .envrc", "mkdir deep", "echo evil > deep/.envrc"),
    ]
    _, end = await said(guarded(), Command(shell="\n".join(lines)))
    for path in ("x/.git/config", ".envrc", "deep/.envrc"):
        assert any(f"`{path}` was moved" in note for note in end.notes), path
        assert not os.path.lexists(person.work / path)


@pytest.mark.parametrize("path", TOLD)
async def test_what_developers_write_is_told_and_stays(path: str, person: Person, guarded: Open) -> None:
    file = lay(person, path)
    sandbox = guarded()
    _, end = await said(sandbox, Command(shell=CHANGES[1].format(path=path)))
    assert file.read_text() == "evil\n"
    assert any(path in note and "left as it is" in note for note in end.notes), end
    _, end = await said(sandbox, Command(shell="true"))
    assert end.notes == ()


BUILT_OF = {
    "use flake": "flake.nix",
    "use flake path:./nix": "nix/flake.lock",
    "use nix": "shell.nix",
    'eval "$(devenv direnvrc)"\nuse devenv': "devenv.nix",
    'eval "$(devbox generate direnv --print-envrc)"': "devbox.json",
    'eval "$(pixi shell-hook)"': "pixi.toml",
    "source .profile": ".profile",
    'eval "$(./tools/env)"': "tools/env",
    "python3 env.py": "env.py",
}


async def test_what_an_envrc_is_built_of_is_taken_back_and_is_told_where_there_is_none(
    person: Person, guarded: Open
) -> None:
    lines = []
    for number, (envrc, path) in enumerate(BUILT_OF.items()):
        for folder in (f"with/{number}", f"without/{number}"):
            lay(person, f"{folder}/{path}")
            lines.append(f"echo evil >> {folder}/{path}")
        lay(person, f"with/{number}/.envrc").write_text(f"{envrc}\n")
    _, end = await said(guarded(), Command(shell="\n".join(lines)))
    for number, path in enumerate(BUILT_OF.values()):
        assert (person.work / f"with/{number}/{path}").read_text() == OLD, path
        assert "evil" in (person.work / f"without/{number}/{path}").read_text(), path
        assert any(f"`with/{number}/{path}`" in note for note in end.notes), path
    assert any("`without/0/flake.nix`" in note and "left as it is" in note for note in end.notes)


EVERYDAY = [
    "mkdir -p src/hooks env bin && echo x > src/hooks/use.ts && echo x > env/x && echo x > bin/tool",
    "echo A=1 > .env; echo '* text=auto' > .gitattributes; echo 'registry=https://x' > .npmrc",
    "echo 'nodejs 20' > .tool-versions; echo '*.py diff=python' >> .gitattributes",
    "echo x > config; mkdir objects refs; echo x > Makefile; echo '{}' > package.json",
    "mkdir -p node_modules/.bin && echo x > node_modules/.bin/x",
]


@pytest.mark.parametrize("line", EVERYDAY)
async def test_everyday_work_troubles_nobody(line: str, person: Person, guarded: Open) -> None:
    output, end = await said(guarded(), Command(shell=line))
    assert (end.status, end.notes) == (0, ()), output


async def test_a_virtual_environment_made_inside_stands_and_is_told(person: Person, guarded: Open) -> None:
    sandbox = guarded()
    output, end = await said(sandbox, Command(shell="/usr/bin/python3 -m venv --without-pip .venv"))
    assert end.status == 0, output
    assert (person.work / ".venv/bin/python").exists()
    assert (person.work / ".venv/bin/activate").exists()
    assert [note for note in end.notes if "left as it is" not in note] == []
    assert end.notes
    _, end = await said(sandbox, Command(shell="ln -sf ../../evil .venv/bin/python; echo x >> .venv/bin/activate"))
    assert len(end.notes) == 2
    assert person.runs(".venv/bin/python -c 'print(6 * 7)'") == "42\n"


@pytest.mark.parametrize(
    "line",
    [
        "mkdir e && echo evil > e/pre-commit && ln -s e .husky",
        "mkdir e && echo '{}' > e/tasks.json && ln -s e .vscode",
        "ln -s /etc/passwd .envrc",
    ],
)
async def test_links_in_their_place_are_moved_aside(line: str, person: Person, guarded: Open) -> None:
    _, end = await said(guarded(), Command(shell=line))
    assert end.notes
    assert [path for path in person.work.iterdir() if path.is_symlink()] == []


async def test_a_background_process_is_looked_after_while_it_runs_and_at_its_end(person: Person, guarded: Open) -> None:
    sandbox = guarded()
    os.mkfifo(person.work / "go")
    running = await sandbox.start(Command(shell="echo 1 > .envrc; read x < go; echo 2 > .envrc"))
    await person.has_heard.wait()
    assert not (person.work / ".envrc").exists()
    (person.work / "go").write_text("x\n")
    end = await running.wait()
    assert not (person.work / ".envrc").exists()
    assert len(end.notes) == 2
    assert end.notes[0] == person.heard[0]


async def test_what_is_written_in_a_judged_way_stands_while_commands_run(person: Person, guarded: Open) -> None:
    sandbox = guarded()
    running = await sandbox.start(Command(shell="sleep 1000"))
    await place(sandbox, ".vscode/settings.json", b'{"judged": 1}')
    _, end = await said(sandbox, Command(shell="true"))
    assert end.notes == ()
    assert (person.work / ".vscode/settings.json").read_text() == '{"judged": 1}'
    await running.kill()


@pytest.mark.parametrize(
    "path", [*(path for path in TAKEN_BACK if "/bin/" not in path), "x.git/config", "x.git/hooks/post-update"]
)
async def test_and_our_own_tools_write_none_of_it(path: str, person: Person, guarded: Open) -> None:
    person.runs("git init -q --bare x.git")
    with pytest.raises(AccessRefused):
        await place(guarded(), path, b"evil")


@pytest.mark.parametrize(
    ("path", "harmless", "starts"),
    [
        (".env", "A=1\n", "A=1\nB=$(id)\n"),
        (".env", "export A='x y'  # said\n", "GIT_PAGER=./evil\n"),
        (".claude/settings.json", '{"model": "x"}', '{"hooks": {"SessionStart": []}}'),
        (".vscode/settings.json", '{"editor.tabSize": 2, // two\n}', '{"x": {"binary": {"path": "./evil"}}}'),
        (".codex/config.toml", 'model = "x"', '[mcp_servers.x]\ncommand = "./evil"'),
        ("x.code-workspace", '{"folders": []}', '{"folders": [], "tasks": {"tasks": [{"command": "./evil"}]}}'),
    ],
)
async def test_a_tool_writes_settings_that_start_nothing_and_no_others(
    path: str, harmless: str, starts: str, person: Person, guarded: Open
) -> None:
    sandbox = guarded()
    await place(sandbox, path, harmless.encode())
    with pytest.raises(AccessRefused):
        await place(sandbox, path, starts.encode())
    assert (person.work / path).read_text() == harmless
    (person.work / path).write_text(starts)
    await place(sandbox, path, b"\n" + starts.encode())  # what stands there may stay
    await place(sandbox, path, harmless.encode())


@pytest.mark.parametrize(
    "line",
    [
        "printf 'A=1\\nexport B=\"two words\" C=3 # said\\n\\nU=postgres://u:p@h/d?a=1&b=2\\n' > .env",
        "printf \"KEY='-----BEGIN\\nabc=\\n-----END'\\nD=\\${A}/x\\n\" > .env",
        "python3 -m venv --without-pip v 2> /dev/null; mkdir -p tools && echo x > tools/x",
    ],
)
async def test_what_only_assigns_stays(line: str, person: Person, guarded: Open) -> None:
    (person.work / ".env").write_text("OLD=1\n")
    _, end = await said(guarded(), Command(shell=line))
    assert [note for note in end.notes if "left as it is" not in note] == []


async def test_another_conversation_in_the_same_folder_makes_nothing_right(person: Person, guarded: Open) -> None:
    one, other = guarded(), guarded()
    running = await one.start(Command(shell="echo evil > .envrc; echo done; sleep 1000"))
    async for _ in running.output():
        break
    _, end = await said(other, Command(shell="true"))
    assert not (person.work / ".envrc").exists()
    await running.kill()
    assert [note for note in (*end.notes, *(await running.wait()).notes) if ".envrc" in note]


async def test_what_the_person_ran_outside_stands(person: Person, guarded: Open) -> None:
    sandbox = guarded()
    _, end = await said(sandbox, Command(shell="echo mine > .envrc", reach=Reach.OUTSIDE))
    assert end.notes == ()
    await said(sandbox, Command(shell="true"))
    assert (person.work / ".envrc").exists()


LIFE = """
import asyncio, pathlib, sys
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.port import Command
from angelia.sandboxes.registry import open_sandbox

async def main(work, own, line):
    sandbox = open_sandbox("local", SandboxContext("c", work, pathlib.Path(own), pathlib.Path(own, "run")), {})
    running = await sandbox.start(Command(shell=line))
    async for chunk in running.output():
        print(chunk.decode(), end="", flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


async def killed(person: Person, line: str) -> None:
    """A process of ours runs this line, and is killed once it has said `ready`."""
    words = (sys.executable, "-c", LIFE, str(person.work), str(person.own), f"{line}; echo ready; sleep 1000")
    life = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE)
    assert life.stdout is not None
    assert await life.stdout.readline() == b"ready\n"
    life.send_signal(signal.SIGKILL)
    await life.wait()


async def test_what_a_killed_life_left_is_taken_back_at_the_next_start(person: Person, guarded: Open) -> None:
    lay(person, ".envrc")
    await killed(person, "echo evil >> .envrc; git init -q x; git -C x config core.pager evil")
    told = recover_all(person.own)
    assert (person.work / ".envrc").read_text() == OLD
    assert not (person.work / "x/.git/config").exists()
    assert len(told) == 2
    assert recover_all(person.own) == []
    sandbox = guarded()
    assert set((await said(sandbox, Command(shell="true")))[1].notes) == set(told)
    assert (await said(sandbox, Command(shell="true")))[1].notes == ()


async def test_and_at_the_next_command_if_nobody_started_there(person: Person, guarded: Open) -> None:
    await killed(person, "echo evil > .envrc")
    _, end = await said(guarded(), Command(shell="true"))
    assert not (person.work / ".envrc").exists()
    assert [note for note in end.notes if ".envrc" in note]


async def test_taking_back_follows_no_link_that_a_command_lays(person: Person, guarded: Open) -> None:
    """The folder on the way is a link by the time that it is walked: nothing behind it is touched."""
    outside = person.home / "x"
    outside.mkdir()
    (outside / ".envrc").write_text("the person's own")
    lay(person, "a/.envrc")
    guard = guard_of(person.work, person.own)
    holder = object()
    guard.enter(holder)
    (person.work / "a/.envrc").write_text("evil")
    seen = guard._look()
    (person.work / "a").rename(person.work / "b")
    (person.work / "a").symlink_to(outside)
    path = str(person.work / "a/.envrc")
    assert "could NOT be taken back" in guard._take_back(path, seen[path].kind, "")
    assert (outside / ".envrc").read_text() == "the person's own"
    guard.leave(holder)
