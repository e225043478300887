"""What a confined command cannot do."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.sandboxes.local.bubblewrap import private_in_etc
from angelia.sandboxes.local.confinement import Share
from angelia.sandboxes.local.resource_limits import LocalSettings
from angelia.sandboxes.port import AccessRefused, Command, NoSuchFile, Reach, SandboxError
from angelia.testing.sandboxes.acts import arrives, names_in, place, refused, said, shell

from .conftest import Build

pytestmark = [pytest.mark.anyio, pytest.mark.real("bwrap")]


async def test_no_secret_is_in_sight(build: Build, person: Path, own: Path) -> None:
    sandbox = build()
    line = f"cat {person}/diary {own}/keys ~/diary; env; cat /proc/*/environ; ls -laR ~ {own}; "
    line += f"grep -r canary- {own.parent}"
    output, _ = await said(sandbox, Command(shell=line))
    assert b"canary" not in output
    outside, _ = await said(sandbox, Command(shell=line, reach=Reach.OUTSIDE))
    assert b"canary-diary" in outside  # so the line does look in the right places
    assert "canary" not in (await said(sandbox, Command(argv=("env",), reach=Reach.OUTSIDE)))[0].decode()


async def test_what_only_its_owner_may_read_in_etc_is_unreadable_even_for_root(build: Build) -> None:
    for path in {*private_in_etc(), "/etc/shadow"}:
        output, end = await said(build(), Command(shell=f"cat {path} || find {path} -mindepth 1 | grep ."))
        assert end.status != 0, (path, output)


async def test_a_home_as_workspace_keeps_its_secrets(build: Build, person: Path) -> None:
    for secret in (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gh/hosts.yml", ".angelia/angelia.db"):
        (person / secret).parent.mkdir(exist_ok=True, parents=True)
        (person / secret).write_text("canary")
    (person / "dotfiles").mkdir()
    (person / "dotfiles/npmrc").write_text("canary")
    (person / ".npmrc").symlink_to("dotfiles/npmrc")
    sandbox = build(person, hidden=[person / ".angelia"])
    output, _ = await said(sandbox, Command(shell="grep -rs canary . ; cat .netrc .ssh/* .npmrc dotfiles/npmrc"))
    assert output.count(b"canary") == 1, output  # the diary: it lies in the workspace
    for path in (".ssh/id_ed25519", ".netrc", ".npmrc", "dotfiles/npmrc", ".angelia/angelia.db"):
        await refused(arrives(sandbox, path), AccessRefused)
    await refused(place(sandbox, ".ssh/authorized_keys", b"me"), AccessRefused)


async def test_what_would_be_written_over_a_hidden_place_and_lost_fails(build: Build, person: Path) -> None:
    (person / "work/.aws").mkdir(parents=True)
    sandbox = build(person / "work", hidden=[person / "work/.aws"])
    for line in ("echo x > .aws/config", "mkdir .aws/y", "echo x > /etc/x"):
        output, end = await said(sandbox, Command(shell=line))
        assert end.status != 0, line
        assert b"Read-only" in output or b"denied" in output


async def test_start_up_files_that_lie_in_the_workspace_are_read_only(build: Build, person: Path) -> None:
    work = person / "dotfiles"
    for folder in ("shell", "config/fish", "open"):
        (work / folder).mkdir(parents=True)
    for file in ("shell/rc", "config/fish/config.fish", "open/note", "login"):
        (work / file).write_text("as it was")
    (person / ".bashrc").symlink_to("dotfiles/shell/rc")
    (person / ".config").symlink_to(work / "config")
    (person / ".profile").symlink_to("dotfiles/login")
    sandbox = build(work)
    attacks = (
        "echo evil >> shell/rc",
        "mv shell other && mkdir shell && echo evil > shell/rc",
        "rm shell/rc",
        "echo evil > config/fish/conf.d",
        "mv config/fish away",
        "mv config away && mkdir -p config/fish",
        "echo evil > login",
        "ln -sf /tmp/evil login",
    )
    for attack in attacks:
        _, end = await said(sandbox, Command(shell=f"({attack}) && true"))
        assert end.status != 0, attack
    for path in ("shell/rc", "config/fish/config.fish", "config/fish/new.fish", "login"):
        await refused(place(sandbox, path, b"evil"), AccessRefused)
    assert await shell(sandbox, "cat shell/rc; echo more > open/note; echo new > shell/new; cat open/note shell/new")
    assert (work / "shell/rc").read_text() == (work / "login").read_text() == "as it was"
    assert sorted(path.name for path in (work / "config/fish").iterdir()) == ["config.fish"]


async def test_what_is_not_set_is_limited_all_the_same(build: Build) -> None:
    sandbox = build()
    table = (await said(sandbox, Command(shell="cat /proc/self/limits")))[0].decode().splitlines()
    assert next(line for line in table if line.startswith("Max file size")).split()[3:5] == ["20000000000"] * 2
    most = int(next(line for line in table if line.startswith("Max processes")).split()[2])
    assert most < int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2]) + 4096 + 500
    notes = " ".join((await sandbox.describe()).notes)
    assert "4,096 processes" in notes
    assert "20,000 MB in one file" in notes


async def test_a_command_has_limits_from_its_first_instant_and_the_model_is_told(build: Build) -> None:
    sandbox = build(limits=LocalSettings(processes=377, file_mb=2, memory_mb=300))
    line = (
        "ulimit -u; python3 -c 'bytearray(400_000_000)'; head -c 5000000 /dev/zero > big; stat -c %s big; "
        "cat /proc/self/oom_score_adj; (exec sleep 9) & cat /proc/$!/limits; kill $!"
    )
    text = (await said(sandbox, Command(shell=line)))[0].decode()
    assert "MemoryError" in text
    assert "\n2000000\n1000\n" in text
    assert int(text.splitlines()[0]) < int(Path("/proc/loadavg").read_text().split()[3].partition("/")[2]) + 500
    assert "2000000              2000000              bytes" in text
    notes = " ".join((await sandbox.describe()).notes)
    assert "377 processes, 2 MB in one file and 300 MB of memory in one process" in notes


async def test_a_limit_that_was_met_is_told(build: Build) -> None:
    sandbox = build(limits=LocalSettings(file_mb=2))
    _, end = await said(sandbox, Command(shell="exec head -c 5000000 /dev/zero > big"))
    assert end.notes == ("A file of it reached 2 MB, the most that one may have (`sandbox.local.file_mb`).",)


SMALL_DISK = """
import asyncio, pathlib, sys
from angelia.sandboxes.local.resource_limits import LocalSettings
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import Command

async def main(work, own):
    sandbox = LocalSandbox(work, home=own, state=own / "run")
    sandbox.limits = LocalSettings(free_mb=20)
    running = await sandbox.start(Command(shell="dd if=/dev/zero of=big bs=1M count=30; echo still; sleep 600"))
    end = await running.wait()
    print(end.signal, *end.notes, sep="|")
    await sandbox.close()

asyncio.run(main(*map(pathlib.Path, sys.argv[1:])))
"""


async def test_a_command_that_fills_the_disk_is_ended_and_told(own: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    small = (
        f"mount -t tmpfs -o size=40m none '{tmp_path}/work' && "
        f"exec {sys.executable} -c '{SMALL_DISK}' '{tmp_path}/work' '{own}'"
    )
    ended = await asyncio.to_thread(
        subprocess.run,
        ["unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", small],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "15|It was ended because the disk runs full: 10 MB are free for" in ended.stdout, ended
    assert "20 MB are kept (`sandbox.local.free_mb`)" in ended.stdout


@pytest.mark.skipif(os.geteuid() == 0, reason="the kernel holds root to no number of processes")
async def test_a_fork_bomb_ends_at_its_limit(build: Build) -> None:
    sandbox = build(limits=LocalSettings(processes=50))
    line = "for n in $(seq 3000); do sleep 30 & done; ls /proc | grep -c '^[0-9]'"
    output, _ = await said(sandbox, Command(shell=line, seconds=60))
    assert b"temporarily unavailable" in output


async def test_limits_that_are_switched_off_are_none(build: Build) -> None:
    free, usual = build(limits=LocalSettings(processes=0, file_mb=0)), build()
    assert await shell(free, "ulimit -f") == "unlimited"
    assert await shell(usual, "ulimit -f") == "19531250"  # in 1,024 bytes
    assert not any("at most" in note for note in (await free.describe()).notes)


async def test_this_machines_loopback_is_reached_from_outside_the_confinement_alone(build: Build) -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        line = f"exec 3<>/dev/tcp/127.0.0.1/{server.sockets[0].getsockname()[1]} && cat <&3"
        for reach, greeting in ((Reach.CONFINED, b""), (Reach.NETWORK, b""), (Reach.OUTSIDE, b"hello")):
            output, end = await said(build(), Command(argv=("bash", "-c", line), reach=reach))
            assert (end.status == 0) == bool(greeting), reach
            assert greeting in output, reach


async def test_the_system_is_read_only(build: Build) -> None:
    line = "for d in /usr /etc /bin /usr/local/bin; do touch $d/new && echo wrote $d; done"
    output, _ = await said(build(), Command(shell=line))
    assert b"wrote" not in output


async def test_the_kernels_settings_are_read_only_even_for_root(build: Build) -> None:
    """One of them names a program that runs outside of everything, `kernel/core_pattern`.

    The sizes of message queues, semaphores and shared memory and the numbers of processes are no setting of the
    machine's to an ordinary user: they are those of the command's own namespaces, and belong to whoever made them.
    """
    own = (
        "fs/mqueue",
        *(f"kernel/{name}" for name in ("auto_msgmni", "msg*", "sem*", "shm*", "ns_last_pid", "pid_max")),
    )
    own = own if os.geteuid() else ()
    pruned = " -o ".join(f"-path '/proc/{one}'" for one in ("[0-9]*", "pressure", *(f"sys/{name}" for name in own)))
    files = f"find /proc \\( {pruned} \\) -prune -o -type f -writable -print 2>/dev/null"
    output, _ = await said(build(), Command(shell=f"{files}; test -d /proc/sys/kernel && echo looked"))
    assert output.split() == [b"looked"]


async def test_processes_outside_are_out_of_sight_and_reach(build: Build) -> None:
    output, _ = await said(build(), Command(shell=f"ls /proc | grep -c '^[0-9]'; kill -0 {os.getpid()}"))
    assert int(output.split()[0]) < 10
    assert b"No such process" in output


async def test_tmp_and_home_are_private_and_last_as_long_as_the_sandbox(build: Build, person: Path) -> None:
    sandbox = build()
    await shell(sandbox, "echo kept > /tmp/a-file; echo kept > ~/a-file; test -d /var/tmp")
    assert await shell(sandbox, "cat /tmp/a-file ~/a-file /var/tmp/a-file") == "kept\nkept\nkept"
    assert await arrives(sandbox, "/tmp/a-file") == b"kept\n"
    await place(sandbox, "/tmp/given", b"given")
    assert await shell(sandbox, "cat /tmp/given") == "given"
    assert not Path("/tmp/a-file").exists()
    assert not (person / "a-file").exists()
    await refused(arrives(build(), "/tmp/a-file"), NoSuchFile)


async def test_links_from_tmp_lead_into_the_workspace_and_nowhere_else(build: Build) -> None:
    sandbox = build()
    await shell(sandbox, 'echo inside > file; ln -s "$PWD/file" /tmp/link; ln -s /etc/passwd /tmp/out; ln -s /tmp/x y')
    assert await arrives(sandbox, "/tmp/link") == b"inside\n"
    await refused(arrives(sandbox, "/tmp/out"), AccessRefused)
    await refused(arrives(sandbox, "y"), NoSuchFile)


async def test_git_works_and_its_hooks_and_settings_are_read_only(build: Build, tmp_path: Path) -> None:
    for repository in ("work", "work/inner"):
        (tmp_path / repository).mkdir()
    sandbox = build()
    _, end = await said(sandbox, Command(shell="git init -q && git init -q inner", reach=Reach.OUTSIDE))
    assert end.status == 0
    attacks = (
        "echo evil > .git/hooks/pre-commit",
        "echo evil >> .git/config",
        "rm -rf .git/hooks",
        "mv .git/config .git/old",
        "mv .git elsewhere && mkdir .git",
        "ln -sf /tmp/evil .git/config",
        "git config core.fsmonitor evil",
        "git config user.name me",
        "echo evil > inner/.git/hooks/pre-commit",
        "mv inner/.git inner/git && mkdir inner/.git",
    )
    for attack in attacks:
        _, end = await said(sandbox, Command(shell=f"({attack}) && true"))
        assert end.status != 0, attack
    for path in (".git/hooks/pre-commit", ".git/config", "inner/.git/config", ".GIT/Hooks/x", ".git/commondir"):
        await refused(place(sandbox, path, b"evil"), AccessRefused)
    await shell(sandbox, "ln -s .git/hooks hooks")
    await refused(place(sandbox, "hooks/pre-commit", b"evil"), AccessRefused)
    name = "git -c user.name=me -c user.email=me@example.org"
    assert "first" in await shell(sandbox, f"echo x > file && git add file && {name} commit -q -m first && git log")


async def test_a_work_trees_pointer_stays(build: Build, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/.git").write_text("gitdir: /somewhere/.git/worktrees/work")
    _, end = await said(build(), Command(shell="echo gitdir: evil > .git || mv .git x || rm .git"))
    assert end.status != 0


async def test_a_share_is_seen_and_written_only_if_it_may_be(build: Build, tmp_path: Path) -> None:
    for name in ("read", "write", "read/secret"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    shares = [Share(tmp_path / "read"), Share(tmp_path / "write", writable=True)]
    sandbox = build(shares=shares, hidden=[tmp_path / "read/secret"])
    assert await shell(sandbox, f"cat '{tmp_path}/read/file' '{tmp_path}/write/file'") == "readwrite"
    for line, works in (("write/new", True), ("read/new", False)):
        _, end = await said(sandbox, Command(shell=f"touch '{tmp_path}/{line}'"))
        assert (end.status == 0) is works
    _, end = await said(sandbox, Command(shell=f"cat '{tmp_path}/read/secret/file'"))
    assert end.status != 0


async def test_tools_on_the_path_run_although_the_home_is_hidden(
    build: Build, person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = person / ".tools/bin/greet"
    tool.parent.mkdir(parents=True)
    tool.write_text('#!/bin/sh\ncat "$(dirname "$0")/../share/greeting"\n')
    tool.chmod(0o755)
    (person / ".tools/share").mkdir()
    (person / ".tools/share/greeting").write_text("good morning")
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    assert await shell(build(), "greet") == "good morning"
    (person / ".tools/credentials.json").write_text("canary")
    (person / ".tools/config").mkdir()
    (person / ".tools/config/token").write_text("canary")
    assert "canary" not in await shell(build(), "grep -rs canary ~/.tools; ls -A ~/.tools")
    _, end = await said(build(), Command(shell="touch ~/.tools/bin/greet"))
    assert end.status != 0


async def test_variables_of_a_command_do_not_reach_the_confinement_itself(build: Build, tmp_path: Path) -> None:
    # bubblewrap runs outside; a loader that obeyed the command's variables there would write this file
    variables = {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(tmp_path / "loader")}
    _, end = await said(build(), Command(shell="true", env=variables))
    assert end.status == 0
    assert not list(tmp_path.glob("loader*"))


async def test_nothing_a_command_says_becomes_an_option_of_the_confinement(build: Build, person: Path) -> None:
    sandbox = build()
    bind = f"\0--ro-bind\0{person}\0{person}"
    for command in (
        Command(shell="true", env={"A": f"x{bind}"}),
        Command(shell="true", env={f"A{bind}": "x"}),
        Command(shell="true", cwd=f"/{bind}"),
        Command(argv=("true", f"x{bind}")),
    ):
        assert "canary" not in str(await refused(sandbox.start(command), SandboxError))


async def test_listing_does_not_show_another_sandboxs_files(build: Build) -> None:
    one, other = build(), build()
    await shell(one, "echo x > /tmp/mine")
    assert await shell(other, "ls /tmp") != "mine"
    assert "mine" in await names_in(one, "/tmp")


NO_CONFINEMENT = """
import asyncio, pathlib, sys
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import AccessRefused, Command, Reach

async def main():
    folder = pathlib.Path(sys.argv[1])
    sandbox = LocalSandbox(folder, home=folder / "own", state=folder / "own/run")
    print(sandbox.confinement())
    for reach in Reach:
        try:
            print(reach, (await (await sandbox.start(Command(shell="touch ran-" + reach, reach=reach))).wait()).status)
        except AccessRefused as error:
            print(reach, error)
    print((await sandbox.describe()).confined)
    await sandbox.close()

asyncio.run(main())
"""


async def test_without_confinement_nothing_runs_confined_and_the_reason_is_said(tmp_path: Path) -> None:
    # a kernel that forbids user namespaces, as some distributions and containers do
    forbid = ["bwrap", "--unshare-user", "--disable-userns", "--dev-bind", "/", "/", "--"]
    script = [*forbid, sys.executable, "-c", NO_CONFINEMENT, str(tmp_path)]
    told = await asyncio.to_thread(subprocess.run, script, capture_output=True, text=True, check=False)
    lines = told.stdout.splitlines()
    assert lines[0].startswith("Unconfined(why='the kernel does not let bubblewrap"), told
    assert "each command needs a person's yes" in lines[1]
    assert "each command needs a person's yes" in lines[2]
    assert lines[3:] == ["outside 0", "False"]
    assert {path.name for path in tmp_path.glob("ran-*")} == {"ran-outside"}
