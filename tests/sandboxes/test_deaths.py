"""What becomes of commands when they leave something behind, and when we die."""

import asyncio
import os
import select
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from angelia.sandboxes.local import command
from angelia.sandboxes.local.confinement import trial_complaint
from angelia.sandboxes.local.process_ledger import DRAFT, Life, reap_leftovers
from angelia.sandboxes.local.processes import MARK, everybody
from angelia.sandboxes.port import AccessRefused, Command, Reach, SandboxGone
from angelia.sandboxes.shared.tree_removal import remove_tree
from angelia.testing.sandboxes.acts import refused, said, shell

from .conftest import Build

pytestmark = pytest.mark.anyio


def children() -> set[int]:
    """Our own, the dead whose status nobody took among them; servers of other tests may be there too."""
    return {pid for pid, known in everybody().items() if known.parent == os.getpid()}


def descriptors() -> set[tuple[str, str]]:
    """What we hold open: each number with what it leads to."""
    held = set()
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208 - a link to a pipe leads to no path
        with suppress(FileNotFoundError):  # the one by which the folder was read
            held.add((number, os.readlink(f"/proc/self/fd/{number}")))  # noqa: PTH115
    return held


LIFE = """
import asyncio, pathlib, sys
from angelia.sandboxes.local.sandbox import LocalSandbox
from angelia.sandboxes.port import Command, Reach

async def main(folder, reach, line):
    sandbox = LocalSandbox(folder, home=folder / "own", state=folder / "own/run")
    running = await sandbox.start(Command(shell=line, reach=reach))
    async for chunk in running.output():
        print(chunk.decode(), end="", flush=True)

asyncio.run(main(pathlib.Path(sys.argv[1]), Reach(sys.argv[2]), sys.argv[3]))
"""
HOLD = "exec 9> beat; setsid sleep 1000 & env -i sleep 1000 & "
"""All that it starts holds the FIFO `beat` open; one has left the session, one has lost its environment."""


@asynccontextmanager
async def witness(beat: Path) -> AsyncIterator[asyncio.Future[int]]:
    """Done when the last process that holds the FIFO `beat` has ended."""
    reader = await asyncio.create_subprocess_exec("cat", str(beat))
    everyone_gone = asyncio.ensure_future(reader.wait())
    try:
        yield everyone_gone
    finally:
        if not everyone_gone.done():
            reader.kill()
        await everyone_gone


async def live_and_be_killed(folder: Path, reach: Reach, line: str) -> None:
    """A process of ours runs `line`, and is killed once the command has said `ready`."""
    script = (sys.executable, "-c", LIFE, str(folder), reach, line)
    life = await asyncio.create_subprocess_exec(*script, stdout=asyncio.subprocess.PIPE)
    assert life.stdout is not None
    assert await life.stdout.readline() == b"ready\n"
    life.send_signal(signal.SIGKILL)
    await life.wait()


@pytest.mark.real("bwrap")
async def test_a_confined_tree_dies_with_us(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "beat")
    async with witness(tmp_path / "beat") as everyone_gone:
        await live_and_be_killed(tmp_path, Reach.CONFINED, f"{HOLD} echo ready; sleep 1000")
        await asyncio.wait_for(everyone_gone, 60)


async def test_what_a_dead_life_left_running_is_ended_at_the_next_start(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "beat")
    async with witness(tmp_path / "beat") as everyone_gone:
        await live_and_be_killed(tmp_path, Reach.OUTSIDE, f"{HOLD} echo ready; sleep 1000")
        assert not everyone_gone.done()
        told = await reap_leftovers(tmp_path / "own/run")
        await asyncio.wait_for(everyone_gone, 60)
    assert len(told) == 3, told  # the shell has become the last `sleep`
    assert all("left running by an earlier start, and has been ended" in sentence for sentence in told)
    assert not list((tmp_path / "own/run").iterdir())
    assert await reap_leftovers(tmp_path / "own/run") == []


async def test_what_sheds_its_mark_when_it_is_told_to_end_is_ended_nevertheless(tmp_path: Path) -> None:
    """It has a session of its own, and its parent is gone; so would a process be missed that is just dying."""
    os.mkfifo(tmp_path / "beat")
    sheds = "trap 'exec env -i sleep 1000' TERM; echo ready; exec > /dev/null 2>&1; while :; do sleep 1; done"
    async with witness(tmp_path / "beat") as everyone_gone:
        await live_and_be_killed(
            tmp_path, Reach.OUTSIDE, f'exec 9> beat; (setsid bash -c "{sheds}" &); exec 9>&-; sleep 1000'
        )
        told = await reap_leftovers(tmp_path / "own/run")
        await asyncio.wait_for(everyone_gone, 60)
    assert not [sentence for sentence in told if "could not be ended" in sentence]


async def test_what_a_life_of_an_older_version_left_running_is_ended_too(tmp_path: Path) -> None:
    """Each life had a lock of its own, and its record beneath the name of that."""
    (life := tmp_path / "01older").mkdir()
    (tmp_path / "01older.lock").touch()
    (life / "commands").write_text("")
    left = await asyncio.create_subprocess_exec("sleep", "1000", env={MARK: "01older.1"})
    told = await reap_leftovers(tmp_path)
    assert await left.wait() == -signal.SIGTERM
    assert ["sleep 1000" in sentence for sentence in told] == [True]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("reused", [False, True])
async def test_what_a_first_process_left_and_ended_itself_is_known_by_its_session(reused: bool, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "beat")
    os.mkfifo(tmp_path / "go")
    async with witness(tmp_path / "beat") as everyone_gone:
        await live_and_be_killed(
            tmp_path, Reach.OUTSIDE, "exec 9> beat; env -i sleep 1000 & echo ready; read -r _ < go; true"
        )
        (record,) = tmp_path.glob("own/run/*/*/commands")
        (count, boot), (pid, *_) = (line.split() for line in record.read_text().splitlines())
        if reused:  # all numbers may have been given out since
            record.write_text(record.read_text().replace(f"{count} {boot}", f"{-(10**9)} {boot}", 1))
        ended = os.pidfd_open(int(pid))
        (tmp_path / "go").write_text("on\n")
        await asyncio.to_thread(select.select, [ended], [], [])
        os.close(ended)
        for _ in range(100_000):  # until whoever takes in orphans has seen it
            if int(pid) not in everybody():
                break
            await asyncio.sleep(0)
        told = await reap_leftovers(tmp_path / "own/run")
        if reused:
            assert told == []
            assert not everyone_gone.done()
            os.killpg(int(pid), signal.SIGKILL)
        await asyncio.wait_for(everyone_gone, 60)
    assert [sentence.partition(")")[0].partition("(")[2] for sentence in told] == ([] if reused else ["sleep 1000"])


PUT = """
import asyncio, hashlib, os, pathlib, signal, sys
from angelia.core.crash import on_crash_point
from angelia.sandboxes.local.sandbox import LocalSandbox

async def content():
    yield b"new"

async def main(folder, path):
    on_crash_point(lambda name: name == "put.before_rename" and os.kill(os.getpid(), signal.SIGKILL))
    sandbox = LocalSandbox(folder / "work", home=folder / "own", state=folder / "own/run", confine="off")
    await sandbox.put(path, content(), size=3, sha256=hashlib.sha256(b"new").hexdigest())

asyncio.run(main(pathlib.Path(sys.argv[1]), sys.argv[2]))
"""


@pytest.mark.parametrize("path", ["file", "folder/file", "link/file", "folder/../file"])
async def test_what_a_dead_life_left_half_written_is_removed_at_the_next_start(path: str, tmp_path: Path) -> None:
    (tmp_path / "work/folder").mkdir(parents=True)
    (tmp_path / "work/link").symlink_to(tmp_path / "work/folder")
    (tmp_path / "work/file").write_text("old")
    before = sorted(tmp_path.joinpath("work").rglob("*"))
    life = await asyncio.create_subprocess_exec(sys.executable, "-c", PUT, str(tmp_path), path)
    assert await life.wait() == -signal.SIGKILL
    assert sorted(tmp_path.joinpath("work").rglob("*")) != before
    assert await reap_leftovers(tmp_path / "own/run") == []
    assert sorted(tmp_path.joinpath("work").rglob("*")) == before
    assert (tmp_path / "work/file").read_text() == "old"
    assert not list((tmp_path / "own/run").iterdir())


async def test_what_a_living_process_runs_is_left_alone(build: Build, own: Path) -> None:
    sandbox = build()
    running = await sandbox.start(Command(shell="echo on; sleep 1000", reach=Reach.OUTSIDE))
    await anext(running.output())
    assert await reap_leftovers(own / "run") == []
    await said(sandbox, Command(shell="true", reach=Reach.OUTSIDE))
    await running.kill()
    assert (await running.wait()).signal == signal.SIGTERM


async def test_records_of_another_boot_and_of_another_process_end_nobody(own: Path) -> None:
    own.joinpath("run").mkdir()
    life = Life(own / "run")
    bystander = await asyncio.create_subprocess_exec("sleep", "1000", start_new_session=True)
    with life.recording() as note:
        note(bystander.pid)
    record = life.folder / "commands"
    _, _, pid, started, boot = record.read_text().split()
    record.write_text(f"{pid} {int(started) + 1} {boot}\n{pid} {started} another-boot\n{pid} {started[:2]}")
    life.leave()
    assert await reap_leftovers(own / "run") == []
    assert bystander.returncode is None
    bystander.kill()
    await bystander.wait()


async def test_lives_of_one_process_hold_one_lock_and_nothing_else_open(own: Path) -> None:
    def held() -> list[str]:
        return [path for _, path in descriptors() if path.startswith(str(own))]

    lives = [Life(own / "run") for _ in range(50)]
    for life in lives:
        with life.recording() as note:
            note(os.getpid())
    assert held() == [str(one) for one in (own / "run").glob("*.lock")]
    assert len(held()) == 1
    for life in lives[1:]:
        life.close()
    assert await reap_leftovers(own / "run") == []
    assert lives[0].folder.is_dir()
    lives[0].close()
    assert held() == []
    assert not list((own / "run").iterdir())


async def test_a_life_that_was_left_is_taken_up_while_others_of_its_process_go_on(own: Path) -> None:
    left, other = Life(own / "run"), Life(own / "run")
    draft = own / f"{DRAFT}half"
    draft.touch()
    left.note_draft(draft)
    assert await reap_leftovers(own / "run") == []
    assert draft.exists()
    left.leave()
    assert await reap_leftovers(own / "run") == []
    assert not draft.exists()
    assert other.folder.is_dir()
    other.close()
    assert not list((own / "run").iterdir())


async def test_a_life_goes_on_when_what_it_is_in_was_removed_by_somebody(own: Path) -> None:
    lost = Life(own / "run")
    remove_tree(own / "run")
    found = Life(own / "run")
    assert found.folder.is_dir()
    lost.close()
    assert found.folder.is_dir()
    found.close()
    assert not list((own / "run").iterdir())


async def test_a_start_is_not_disturbed_by_lives_that_begin_and_end_beside_it(own: Path) -> None:
    (own / "run").mkdir()
    over = threading.Event()

    def come_and_go() -> None:
        while not over.is_set():
            Life(own / "run").close()

    loop = asyncio.get_running_loop()
    others = [loop.run_in_executor(None, come_and_go) for _ in range(2)]
    try:
        for _ in range(500):
            assert await reap_leftovers(own / "run") == []
    finally:
        over.set()
        await asyncio.gather(*others)
    assert not list((own / "run").iterdir())


async def test_what_a_command_leaves_in_the_background_ends_with_it(build: Build, tmp_path: Path) -> None:
    sandbox = build(confine="off")
    await shell(sandbox, "mkfifo beat")
    async with witness(tmp_path / "work/beat") as everyone_gone:
        output, end = await said(sandbox, Command(shell=f"({HOLD}) >/dev/null 2>&1; echo done"))
        await asyncio.wait_for(everyone_gone, 60)
    assert (output, end.status) == (b"done\n", 0)


async def test_what_outlives_its_command_for_a_moment_may_finish(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "LINGER", 60)  # a moment on the busiest machine; nobody waits longer than it takes
    sandbox = build(confine="off")
    assert await shell(sandbox, "(sleep 0.02; echo late) & echo early") == "early\nlate"


async def test_closing_removes_every_trace(build: Build, own: Path) -> None:
    sandbox = build()
    running = await sandbox.start(Command(argv=("sleep", "1000"), reach=Reach.OUTSIDE))
    await said(sandbox, Command(shell="mkdir -p ~/a/b; touch ~/a/b/c; chmod 0 ~/a/b ~/a", reach=Reach.OUTSIDE))
    await sandbox.close()
    assert (await running.wait()).signal == signal.SIGTERM
    assert not list((own / "run").iterdir())
    await refused(sandbox.start(Command(argv=("true",), reach=Reach.OUTSIDE)), SandboxGone)


async def test_a_life_that_cannot_be_recorded_runs_nothing(build: Build, own: Path) -> None:
    (own / "run").write_text("a file, where a folder should be")
    error = await refused(build(confine="off").start(Command(argv=("true",))), AccessRefused)
    assert "cannot be recorded" in str(error)


async def test_no_descriptor_and_no_child_is_left(build: Build) -> None:
    sandbox = build(confine="off")
    await said(sandbox, Command(argv=("true",)))
    others, held = children(), descriptors()
    for _ in range(20):
        await said(sandbox, Command(shell="echo x; cat", stdin=b"input"))
    assert children() <= others
    assert descriptors() <= held


def test_a_trial_that_does_not_end_is_ended_with_all_that_it_began(tmp_path: Path) -> None:
    """While bubblewrap sets things up, its inner process does not end with the outer one; so it is with this shell."""
    os.mkfifo(alive := tmp_path / "alive")
    pipe = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    said, tried = b"", 0.25
    while not said:  # a trial that is ended before it has begun anything shows nothing
        tried *= 2
        assert trial_complaint(("sh", "-c", f"sh -c 'echo $$; exec sleep 1000' > {alive}; true"), tried) is not None
        with suppress(BlockingIOError):
            said = os.read(pipe, 100)
    try:
        ended, _, _ = select.select([pipe], [], [], 60.0)
        assert ended, "somebody lives and holds the other end"
        assert os.read(pipe, 100) == b""
    finally:
        os.close(pipe)
        with suppress(ProcessLookupError):
            os.kill(int(said), signal.SIGKILL)
