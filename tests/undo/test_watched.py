"""What confined commands do to a workspace is kept before it is done: real commands, real bubblewrap."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from angelia.sandboxes.local.confinement import bubblewrap_program
from angelia.sandboxes.port import SandboxError
from angelia.sandboxes.undo import supervision
from angelia.sandboxes.undo.store import UndoSettings, UndoStore
from angelia.sandboxes.undo.supervision import Supervision, can_watch
from angelia.sandboxes.undo.supervisor import WatchEnded
from angelia.store.media.processes import program_folders
from tests.supervisors import FRESH
from tests.undo.restoring import CONVERSATION, taken_back
from tests.undo.trees import furnish, tree

RACING = Path(__file__).with_name("racing.py").read_text()
HONEST = {
    "written, made, removed": "echo x > notes.txt; rm src/main.py; mkdir -p a/b; echo y > a/b/c; rmdir empty",
    "appended": "echo more >> notes.txt; echo even >> nothing",
    "in place": "sed -i s/two/zwei/ notes.txt; chmod 640 src/run.sh; touch -d 2001-01-01 nothing",
    "a tree removed": "rm -rf src",
    "everything removed": "rm -rf -- * ",
    "a tree moved": "mv src lib; echo x > lib/main.py; rm lib/run.sh; mv lib/deep .",
    "names swapped": "mv notes.txt t; mv src/main.py notes.txt; mv t src/main.py",
    "links": "ln notes.txt hard; echo x > hard; rm notes.txt; ln -sf /etc/passwd away; rm src/link",
    "through a link": "cd src; echo x > link; cd ..; ln -s $PWD/src/deep d; rm d/er/data.bin",
    "from elsewhere": 'cd /tmp; echo x > "$W/notes.txt"; ln -s "$W" w; echo y > w/src/main.py; rm w/src/run.sh',
    "packed and unpacked": "tar cf all.tar src && rm -r src && tar xf all.tar && rm all.tar",
    "by copies": "cp -a src copy; cp copy/main.py notes.txt; rm -r src; mv copy src",
    "by descriptors": "exec 3<>notes.txt; echo abc >&3; exec 3>&-; truncate -s 3 src/deep/er/data.bin;"
    " dd if=/dev/zero of=nothing count=1",
    "modes": "chmod -R a-w src; chmod 000 notes.txt; chmod 700 empty",
    "by Python": "python3 -c \"import os,pathlib; p=pathlib.Path('src'); p.rename('s2'); os.mkdir('src');"
    " os.replace('s2/main.py','src/main.py'); os.truncate('notes.txt',1); os.mkfifo('f')\"",
    "Git": "git init -q . && git config user.email a@b.c && git config user.name a && git add -A && git commit -qm x"
    " && git rm -q notes.txt && git reset -q --hard && git checkout -q -b other && git gc -q && rm -rf .git",
    "hard links that were there": "echo x > pair/one; sed -i s/x/y/ pair/two; chmod 600 pair/one",
    "a socket": "python3 -c \"import socket,os; s=socket.socket(socket.AF_UNIX); s.bind('src/s.sock'); s.listen();"
    " c=socket.socket(socket.AF_UNIX); c.connect(os.getcwd() + '/src/s.sock'); s.accept();"
    " t=socket.socket(); t.bind(('127.0.0.1', 0)); u=socket.socket(socket.AF_UNIX); u.bind('/tmp/elsewhere')\"",
    "names exchanged": 'python3 -c "import ctypes; c=ctypes.CDLL(None); x=lambda a,b: c.renameat2(-100,a,-100,b,2);'
    " assert x(b'notes.txt', b'src/main.py') == 0; assert x(b'src', b'empty') == 0;"
    " assert x(b'empty', b'nothing') == 0; assert x(b'src', b'src/no') < 0; open('nothing/new','w').close()\"",
    "files without a name": "python3 -c \"import os; f=os.open('src', os.O_TMPFILE | os.O_RDWR, 0o640);"
    " os.write(f, b'x'); here=os.open('.', os.O_RDONLY); os.link(f'/proc/self/fd/{f}', 'named', dst_dir_fd=here);"
    " os.close(os.open('.', os.O_TMPFILE | os.O_WRONLY)); open('named','a').write('y');"
    " assert open('named').read() == 'xy'\"",
    "attributes": "python3 -c \"import os; os.setxattr('notes.txt','user.a',b'new'); os.setxattr('src','user.b',b'2');"
    " os.removexattr('src/main.py','user.kept'); f=os.open('nothing',os.O_WRONLY); os.setxattr(f,'user.c',b'3');"
    " assert os.getxattr(f,'user.c') == b'3'; os.remove('src/run.sh')\"",
    "a database": "python3 -c \"import sqlite3; d=sqlite3.connect('d.db'); d.execute('pragma journal_mode=wal');"
    " d.execute('create table t(x)'); d.executemany('insert into t values(?)', [(i,) for i in range(500)]); d.commit();"
    ' d.close()"',
}


class Commands:
    """Commands in a workspace that they only read, but for what is done for them."""

    def __init__(self, folder: Path, fixed: tuple[str, ...] = (), settings: UndoSettings | None = None) -> None:
        self.workspace, self.home = folder / "workspace", folder / "home"
        self.workspace.mkdir(parents=True)
        self.store = UndoStore(self.home, settings or UndoSettings())
        self.supervision = Supervision(self.workspace, bubblewrap_program(), fixed)

    def run(self, *argv: str) -> WatchEnded:
        """Run it to its end; what it changed."""
        watch = self.supervision.watch(self.store, CONVERSATION, "c1_0")
        words = [
            bubblewrap_program(),
            *("--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
            *("--tmpfs", "/tmp"),
            *(word for place in program_folders() for word in ("--ro-bind", place, place)),  # wherever they lie
            *("--ro-bind", str(self.workspace), str(self.workspace), "--cap-drop", "ALL"),
            *("--chdir", str(self.workspace), "--", *argv),
        ]
        env = {"PATH": f"{os.environ['PATH']}:/usr/bin:/bin", "HOME": "/tmp", "W": str(self.workspace)}
        with Path(os.devnull).open("rb") as nothing:  # see `launch`: a thread that is watched opens nothing
            process = watch.launch(lambda: subprocess.Popen(words, stdin=nothing, stderr=subprocess.PIPE, env=env))
        assert process.stderr is not None
        self.said = process.stderr.read().decode()
        process.stderr.close()
        self.status = process.wait()
        return watch.end()


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    if not can_watch(bubblewrap_program()):
        pytest.skip("commands cannot be watched here")
    made = Commands(tmp_path)
    furnish(made.workspace)
    yield made
    made.supervision.close()


@pytest.mark.parametrize("line", HONEST.values(), ids=HONEST.keys())
def test_what_an_honest_command_did_is_taken_back_to_the_byte(commands: Commands, line: str) -> None:
    for path in ("src/main.py", "src/run.sh"):
        os.setxattr(commands.workspace / path, "user.kept", b"1")
    before = tree(commands.workspace)
    ended = commands.run("bash", "-ec", line)
    assert commands.status == 0, commands.said
    assert "Read-only" not in commands.said
    assert ended.refused == {}
    restored = taken_back(commands.home, commands.workspace)
    assert restored.failed == ()
    assert tree(commands.workspace) == before


@pytest.mark.soak(every=5)
@pytest.mark.parametrize("run", range(10))
def test_a_hostile_race_loses_nothing(commands: Commands, run: int) -> None:
    for number in range(6):
        (commands.workspace / f"keep{number}").write_bytes(bytes([65 + number]) * (1000 + number))
    (commands.workspace / "folder").mkdir()
    (commands.workspace / "folder/inner").write_text("inner\n")
    (commands.workspace / "other").write_text("other\n")
    before = tree(commands.workspace)
    commands.run(sys.executable, "-c", RACING, "2")
    assert tree(commands.workspace) != before
    restored = taken_back(commands.home, commands.workspace)
    assert restored.failed == ()
    assert tree(commands.workspace) == before


def test_hooks_and_settings_of_a_repository_that_was_there_are_refused_at_the_call(commands: Commands) -> None:
    git = commands.workspace / ".git"
    subprocess.run(["git", "init", "-q", str(commands.workspace)], check=True, env={**os.environ, "HOME": "/nowhere"})
    before = {path: path.read_bytes() for path in git.rglob("*") if path.is_file()}
    hostile = (
        "echo x >> .git/config; cp /bin/true .git/hooks/pre-commit; echo ../e > .git/commondir; mv .git old;"
        "mv .git/hooks .git/h2; ln -sf x .git/config; rm -rf .git/hooks; mkdir -p .git/info;"
        "echo x > .git/info/attributes;"
        "git config core.fsmonitor x; rm -f .git/config; : > .GIT/config"
    )
    ended = commands.run("bash", "-c", hostile)
    assert {path: path.read_bytes() for path in git.rglob("*") if path.is_file()} == before
    assert set(ended.refused) >= {".git/config", ".git/hooks/pre-commit", ".git/commondir", ".git"}


def _repository(folder: Path) -> Path:
    env = {**os.environ, "HOME": "/nowhere"}
    for words in (
        ["init", "-q", "-b", "main"],
        ["remote", "add", "origin", "https://example.org/mine.git"],
        ["config", "core.hooksPath", "checks"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"],
        ["update-ref", "refs/remotes/origin/next", "HEAD"],
    ):
        subprocess.run(["git", "-C", str(folder), *words], check=True, env=env)
    return folder / ".git/config"


SETTLING = {
    "a name": "git config user.name Ann",
    "a remote": "git remote add other https://example.org/other.git",
    "a branch that follows one": "git checkout -q -b next origin/next",
    "a branch that goes again": "git checkout -q -b next origin/next && git checkout -q main && git branch -q -D next",
    "a remote that goes": "git remote remove origin",
}


@pytest.mark.parametrize("line", SETTLING.values(), ids=SETTLING.keys())
def test_settings_that_run_nothing_and_lead_nowhere_else_are_written(commands: Commands, line: str) -> None:
    config = _repository(commands.workspace)
    before = tree(commands.workspace)
    ended = commands.run("bash", "-ec", line)
    assert (commands.status, commands.said, ended.refused) == (0, "", {})
    assert not list(config.parent.glob("config.*"))
    taken_back(commands.home, commands.workspace)
    assert tree(commands.workspace) == before


DIVERTING = {
    "a program": "git config core.fsmonitor x",
    "other hooks": "git config core.hooksPath evil",
    "the person's hooks off": "git config --unset core.hooksPath",
    "other settings": "git config include.path ../evil",
    "a helper": "git remote add e 'ext::sh -c evil'",
    "their remote's address": "git remote set-url origin https://example.com/evil.git",
    "one address more": "git remote set-url --add origin https://example.com/evil.git",
    "where it pushes": "git config remote.origin.pushurl https://example.com/evil.git",
    "what it pushes to by default": "git config remote.pushDefault evil",
    "where a branch pushes": "git config branch.main.pushRemote evil",
    "addresses by their beginning": "git config url.https://example.com/.insteadOf https://example.org/",
    "by hand": "cp .git/config c; echo '[core] pager = evil' >> c; mv -f c .git/config",
    "no settings": "echo '[broken' > c; mv -f c .git/config",
    "nothing": ": > c; mv -f c .git/config",
    "a link": "ln -s notes.txt c; mv -f c .git/config",
}


@pytest.mark.parametrize("line", DIVERTING.values(), ids=DIVERTING.keys())
def test_settings_that_run_programs_or_lead_elsewhere_stay(commands: Commands, line: str) -> None:
    config = _repository(commands.workspace)
    before = config.read_bytes()
    ended = commands.run("bash", "-c", line)
    assert commands.status != 0
    assert config.read_bytes() == before
    assert ended.refused


def test_settings_are_not_changed_after_they_were_judged(commands: Commands) -> None:
    config = _repository(commands.workspace)
    program = (
        "import os; f = open('c', 'w+'); f.write('[user]\\n name = Ann\\n' + open('.git/config').read()); f.flush();"
        "os.rename('c', '.git/config'); f.write('[core]\\n pager = evil\\n'); f.flush()"
    )
    commands.run(sys.executable, "-c", program.replace("\\\\", "\\"))
    assert commands.status == 0, commands.said
    assert "Ann" in config.read_text()
    assert "evil" not in config.read_text()


def test_what_a_command_may_own_it_gets_and_whose_it_was_comes_back(commands: Commands) -> None:
    others = next((group for group in os.getgroups() if group != os.getegid()), 65534 if os.geteuid() == 0 else -1)
    if others < 0:
        pytest.skip("this user is in no other group")
    os.chown(commands.workspace / "notes.txt", -1, others)
    os.chown(commands.workspace / "src", -1, others)
    before = tree(commands.workspace)
    program = (
        "import os; g=os.getgid(); os.chown('notes.txt', -1, g); os.chown('src', os.getuid(), g);"
        "assert os.stat('src').st_gid == g; os.chown('src/link', -1, g, follow_symlinks=False)\n"
        "for who in ((12345, -1), (-1, 12345)):\n"
        "    try: os.chown('src/main.py', *who); raise SystemExit('it was given away')\n"
        "    except OSError: pass"
    )
    ended = commands.run(sys.executable, "-c", program)
    assert commands.status == 0, commands.said
    assert set(ended.changed) == {"notes.txt", "src"}
    assert taken_back(commands.home, commands.workspace).failed == ()
    assert tree(commands.workspace) == before


@pytest.mark.parametrize("name", ["security.capability", "trusted.x", "system.posix_acl_access"])
def test_no_attribute_is_set_that_gives_rights(commands: Commands, name: str) -> None:
    before = tree(commands.workspace)
    commands.run(sys.executable, "-c", f"import os; os.setxattr('src/main.py', '{name}', b'x' * 20)")
    assert commands.status != 0
    assert tree(commands.workspace) == before


POINTS = ("undo.noted:1", "undo.noted:4", "undo.kept:1", "undo.kept:3", "watch.made:1", "watch.made:6", "watch.made:11")
ENDS = ("watch.begun:1", "undo.before_end:1", "undo.ended:1", "watch.ended:1")


@pytest.mark.parametrize("point", [*POINTS, *ENDS])
def test_a_supervisor_that_is_killed_anywhere_has_kept_what_it_changed(
    commands: Commands, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, _, occurrence = point.partition(":")
    dies = (
        "import os, signal; from angelia.core.crash import on_crash_point; left = [" + occurrence + "]\n"
        "def hook(name):\n"
        f"    left[0] -= name == {name!r}\n"
        "    if left == [0]: os.kill(os.getpid(), signal.SIGKILL)\n"
        "on_crash_point(hook)\n"
    )
    begins = "import sys; sys.path.extend(sys.argv[2:])\n"
    serves = "from angelia.sandboxes.undo.supervisor import main; main()"
    monkeypatch.setattr("angelia.sandboxes.undo.supervision.begin_supervisor", FRESH)
    monkeypatch.setattr("angelia.sandboxes.undo.supervision._BEGIN", begins + dies + serves)
    before = tree(commands.workspace)
    line = "sed -i s/two/zwei/ notes.txt; rm src/main.py; mv src lib; echo x > lib/run.sh; mkdir -p a/b; rm -r lib/deep"
    with pytest.raises(SandboxError):
        commands.run("bash", "-c", line)
    commands.store.recover()
    assert taken_back(commands.home, commands.workspace).failed == ()
    assert tree(commands.workspace) == before


REUSED = """
import os, signal
from angelia.sandboxes.undo import call_context, seccomp
take, read = seccomp.next_call, call_context.read_path
def reads(thread, address):
    return os.environ["THEIRS"] if thread == os.getpid() else read(thread, address)
def killed(listener):
    call = take(listener)
    if call is None or os.path.basename(os.readlink(f"/proc/{call.thread}/exe")) != "mkdir":
        return call
    handle = os.pidfd_open(call.thread)
    signal.pidfd_send_signal(handle, signal.SIGKILL)
    os.close(handle)
    while seccomp.still_waits(listener, call):
        pass
    return seccomp.StoppedCall(call.id, os.getpid(), call.name, call.arguments)
seccomp.next_call, call_context.read_path = killed, reads
"""
"""A program is killed while its call waits, and its number is another's by the time that its path is read."""


def test_nothing_is_made_of_what_another_process_holds_that_has_the_number_now(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = commands.workspace / "theirs"
    begins = f"import os, sys; sys.path.extend(sys.argv[2:]); os.environ['THEIRS'] = {str(theirs)!r}\n"
    serves = "from angelia.sandboxes.undo.supervisor import main; main()"
    monkeypatch.setattr("angelia.sandboxes.undo.supervision.begin_supervisor", FRESH)
    monkeypatch.setattr("angelia.sandboxes.undo.supervision._BEGIN", begins + REUSED + serves)
    ended = commands.run("bash", "-c", "mkdir ours; echo x > after")
    assert not theirs.exists()
    assert (ended.changed, commands.status) == (("after",), 0)


def test_fixed_places_are_neither_written_nor_moved(tmp_path: Path) -> None:
    made = Commands(tmp_path, fixed=("private",))
    (made.workspace / "private/in").mkdir(parents=True)
    (made.workspace / "private/in/key").write_text("secret")
    before = tree(made.workspace)
    try:
        made.run("bash", "-c", "echo x > private/in/key; mv private p2; rm -rf private; ln private/in/key k")
        made.run("bash", "-c", "mkdir private/x; : > private/y; chmod 777 private/in/key; cd private && rm -rf in")
        assert tree(made.workspace) == before
    finally:
        made.supervision.close()


def test_a_file_that_is_too_large_to_be_kept_is_not_changed(tmp_path: Path) -> None:
    made = Commands(tmp_path, settings=UndoSettings(file_bytes=10_000))
    (made.workspace / "large").write_bytes(b"x" * 100_000)
    try:
        ended = made.run("bash", "-c", "echo x > large; truncate -s 0 large; echo y >> large")
        assert (made.workspace / "large").read_bytes() == b"x" * 100_000
        assert any("at most" in why for why in ended.refused.values())
    finally:
        made.supervision.close()


def test_of_supervisors_without_a_command_the_last_few_stay_and_any_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "MOST_AT_REST", 2)
    made = [Commands(tmp_path / name) for name in "abc"]

    def begun() -> list[bool]:
        return [one.supervision.begun for one in made]

    try:
        for one in made:
            one.run("touch", "new")
        assert begun() == [False, True, True]
        assert made[0].run("rm", "new").changed == ("new",)
        assert begun() == [True, False, True]
        coming = made[0].supervision.watch(made[0].store, CONVERSATION, "c1_1")
        for one in made[1:]:
            one.run("rm", "new")
        assert begun() == [True, True, True]
        coming.end()
        assert begun() == [True, False, True]
    finally:
        for one in made:
            one.supervision.close()
    assert begun() == [False] * 3


def test_when_the_supervisor_is_killed_nothing_more_is_changed(commands: Commands) -> None:
    before = tree(commands.workspace)
    watch = commands.supervision.watch(commands.store, CONVERSATION, "c1_0")
    script = "rm notes.txt; echo removed; read; rm -rf src; echo x > new; echo over"
    ws = str(commands.workspace)
    words = [bubblewrap_program(), "--ro-bind", "/", "/", "--dev", "/dev", "--ro-bind", ws, ws, "--chdir", ws]
    pipe = subprocess.PIPE
    with Path(os.devnull).open("wb") as nothing:
        process = watch.launch(
            lambda: subprocess.Popen([*words, "bash", "-c", script], stdin=pipe, stdout=pipe, stderr=nothing)
        )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"removed\n"
    commands.supervision.kill()
    left = tree(commands.workspace)
    process.stdin.write(b"\n")
    process.stdin.close()
    assert process.stdout.read() == b"over\n"
    process.stdout.close()
    process.wait()
    assert tree(commands.workspace) == left != before
    commands.store.recover()
    assert taken_back(commands.home, commands.workspace).failed == ()
    assert tree(commands.workspace) == before
