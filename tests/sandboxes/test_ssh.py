"""Over SSH: one connection for everything, nobody is trusted by chance, and a cut is told."""

import asyncio
import os
import pwd
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.port import AccessRefused, Command, FileChanged, NoSuchFile, NotAFile, Reach, Unreachable
from angelia.sandboxes.ssh import files
from angelia.sandboxes.ssh.connection import Host, link_to
from angelia.sandboxes.ssh.exec_stream import CHUNK, WINDOW, SshExecStream
from angelia.sandboxes.ssh.sandbox import SshSandbox
from angelia.testing.sandboxes.acts import arrives, pieces, place, refused, script, sha256, shell

from .sshd import Server

pytestmark = [pytest.mark.anyio, pytest.mark.real("ssh")]

Reached = Callable[..., SshSandbox]


@pytest.fixture
async def reached(sshd: Server, person: Path, tmp_path: Path) -> AsyncIterator[Reached]:
    """Makes sandboxes on the server that the person knows as `box`; closed after the test."""
    sshd.introduce(person)
    made: list[SshSandbox] = []

    def reached(host: str = "box", **settings: object) -> SshSandbox:
        (tmp_path / "work").mkdir(exist_ok=True)
        known: dict[str, object] = {"workspace": str(tmp_path / "work"), "confine": "off"}
        made.append(SshSandbox(host, SandboxContext("c", home=tmp_path, state=tmp_path, **(known | settings))))  # type: ignore[arg-type]
        return made[-1]

    yield reached
    async with sshd.to_the_end():
        for sandbox in made:
            await sandbox.close()


async def ran(*words: str) -> None:
    """Run a program that must succeed."""
    process = await asyncio.create_subprocess_exec(*words)
    assert await process.wait() == 0, words


async def test_one_connection_serves_commands_and_files_of_all_who_work_there(reached: Reached) -> None:
    first, second = reached(), reached()
    link = link_to("box")
    for sandbox in (first, second):
        await place(sandbox, "file", b"x")
        await shell(sandbox, "echo $SSH_CONNECTION")
    assert len(link._open) == 1
    ports = {await shell(sandbox, "echo $SSH_CONNECTION") for sandbox in (first, second)}
    assert len(ports) == 1
    await first.close()
    assert await arrives(second, "file") == b"x"
    await second.close()
    assert link._open == []


async def test_another_connection_is_made_only_when_the_first_is_full(reached: Reached) -> None:
    sandbox = reached()
    wait = script("sleep 1000")
    running = await asyncio.gather(*(sandbox.start(wait) for _ in range(14)))  # a connection takes ten
    assert len(link_to("box")._open) == 2
    await asyncio.gather(*(one.kill() for one in running))


async def test_without_a_path_the_workspace_is_where_a_login_begins(reached: Reached) -> None:
    described = await reached(workspace="").describe()
    assert described.workspace == pwd.getpwuid(os.getuid()).pw_dir
    assert (described.name, described.confined, described.network) == ("ssh:box", False, "on")


async def test_what_cannot_be_confined_is_refused_unless_that_is_switched_off(reached: Reached) -> None:
    sandbox = reached(confine="auto")
    error = await refused(sandbox.start(script("echo no")), AccessRefused)
    assert "cannot confine" in str(error)
    running = await sandbox.start(Command(shell="echo yes", reach=Reach.OUTSIDE))
    assert [chunk async for chunk in running.output()] == [b"yes\n"]


async def test_a_host_that_is_not_known_is_not_trusted(reached: Reached, person: Path) -> None:
    (person / ".ssh/known_hosts").unlink()
    error = await refused(reached().describe(), AccessRefused)
    assert "ssh box" in str(error)


async def test_a_host_whose_key_has_changed_is_not_trusted(reached: Reached, person: Path, sshd: Server) -> None:
    other = (sshd.folder / "person.pub").read_text()
    (person / ".ssh/known_hosts").write_text(f"[127.0.0.1]:{sshd.port} {other}")
    error = await refused(reached().describe(), AccessRefused)
    assert "not the machine that it was" in str(error)


async def test_a_wrong_key_is_told_with_what_to_do(reached: Reached, person: Path, sshd: Server) -> None:
    other = person / "other"
    await ran("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other))
    sshd.introduce(person, f'Host box\n  IdentityFile "{other}"\n  IdentitiesOnly yes\n')
    config = (person / ".ssh/config").read_text().replace(f"IdentityFile {sshd.folder}/person", "")
    (person / ".ssh/config").write_text(config)
    error = await refused(reached().describe(), AccessRefused)
    assert "ssh-add" in str(error)


async def test_keys_of_an_agent_are_used(
    reached: Reached, person: Path, sshd: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = (person / ".ssh/config").read_text().replace(f"IdentityFile {sshd.folder}/person", "")
    (person / ".ssh/config").write_text(config)
    socket = str(sshd.folder / "agent")
    agent = await asyncio.create_subprocess_exec("ssh-agent", "-D", "-a", socket, stdout=asyncio.subprocess.PIPE)
    try:
        assert agent.stdout is not None
        await agent.stdout.readline()  # it has its socket now
        monkeypatch.setenv("SSH_AUTH_SOCK", socket)
        await ran("ssh-add", "-q", str(sshd.folder / "person"))
        assert await shell(reached(), "echo in") == "in"
    finally:
        agent.terminate()
        await agent.wait()


async def test_a_jump_host_is_jumped_over(reached: Reached, person: Path, sshd: Server) -> None:
    config = person / ".ssh/config"
    inner = f"Host inner\n  HostName 127.0.0.1\n  Port {sshd.port}\n  IdentityFile {sshd.folder}/person\n"
    config.write_text(f"{config.read_text()}\n{inner}  ProxyJump box\n")
    client = (await shell(reached("inner"), "echo $SSH_CLIENT")).split()[1]
    direct = (await shell(reached(), "echo $SSH_CLIENT")).split()[1]
    assert client != direct
    assert await shell(reached("inner"), "echo there") == "there"


async def test_a_host_that_does_not_answer_is_unreachable_and_nothing_runs_here(reached: Reached) -> None:
    error = await refused(reached("127.0.0.1:1").start(script("touch here")), Unreachable)
    assert "~/.ssh/config" in str(error)


async def test_a_cut_is_told_the_tree_is_ended_and_the_next_command_connects_anew(
    reached: Reached, tmp_path: Path
) -> None:
    sandbox = reached()
    await shell(sandbox, "mkfifo beat")
    witness = await asyncio.create_subprocess_exec("cat", str(tmp_path / "work/beat"))
    running = await sandbox.start(script("exec 9>beat; setsid sleep 1000 & echo on; sleep 1000"))
    output = running.output()
    assert await anext(output) == b"on\n"
    for connection in link_to("box")._open:
        connection.abort()
    await refused(anext(output), Unreachable)
    await refused(running.wait(), Unreachable)
    await asyncio.wait_for(witness.wait(), 60)
    assert await shell(sandbox, "echo again") == "again"
    assert [entry.path async for entry in sandbox.list(".")] == ["./beat"]


async def test_a_transfer_that_is_cut_leaves_the_old_file(reached: Reached, tmp_path: Path) -> None:
    sandbox = reached()
    await place(sandbox, "file", b"old")

    async def cut() -> AsyncIterator[bytes]:
        yield b"new"
        for connection in link_to("box")._open:
            connection.abort()
        yield b"er"

    await refused(sandbox.put("file", cut(), size=5, sha256=sha256(b"newer")), Unreachable)
    assert (tmp_path / "work/file").read_bytes() == b"old"
    await sandbox.put("file", pieces(b"newer"), size=5, sha256=sha256(b"newer"))
    assert (tmp_path / "work/file").read_bytes() == b"newer"


async def test_what_is_written_to_while_it_is_read_is_told(reached: Reached, tmp_path: Path) -> None:
    sandbox = reached()
    await place(sandbox, "log", bytes(3_000_000))
    reading = sandbox.get("log", limit=3_000_000)
    await anext(reading)
    with (tmp_path / "work/log").open("r+b") as log:  # rewritten, and longer than it was
        log.write(b"x" * 3_000_001)
    with pytest.raises(FileChanged, match="was written to"):
        [chunk async for chunk in reading]


KILLED_IN_A_PUT = """
import asyncio, os, pathlib, signal, sys
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.ssh.sandbox import SshSandbox

async def content():
    yield b"new"
    os.kill(os.getpid(), signal.SIGKILL)
    yield b"er"

async def main(folder):
    sandbox = SshSandbox("box", SandboxContext("c", str(folder / "work"), home=folder, state=folder, confine="off"))
    await sandbox.put("deep/file", content(), size=5, sha256="0" * 64)

asyncio.run(main(pathlib.Path(sys.argv[1])))
"""


async def test_what_a_killed_process_left_over_there_is_removed_by_the_next_connection(
    reached: Reached, tmp_path: Path
) -> None:
    folder = tmp_path / "work/deep"
    folder.mkdir(parents=True)
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED_IN_A_PUT, str(tmp_path))
    assert await killed.wait() == -signal.SIGKILL
    assert len(list(folder.iterdir())) == 1
    living, began = reached(), asyncio.Event()
    go_on = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        began.set()
        await go_on.wait()
        yield b"whole"

    putting = asyncio.create_task(living.put("deep/other", slowly(), size=5, sha256=sha256(b"whole")))
    await began.wait()
    (mine,) = folder.iterdir()  # the first connection removed what the dead one had begun
    await reached().stat(".")
    assert list(folder.iterdir()) == [mine], "what somebody is writing is left alone"
    go_on.set()
    await putting
    assert [path.name for path in folder.iterdir()] == ["other"]
    await living.close()
    assert not [path for path in (tmp_path / "far").rglob("*") if path.is_file()]


async def test_a_fifo_that_was_opened_holds_up_nobody_for_long(
    reached: Reached, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when it is swapped in between look and open: here it is opened without the look."""
    sandbox = reached()
    await shell(sandbox, "mkfifo pipe; echo x >file")
    with monkeypatch.context() as hasty:
        hasty.setattr(files, "SECONDS_TO_OPEN", 0.2)
        hasty.setattr(files, "_refuse_to_read", lambda *_: None)
        await refused(arrives(sandbox, "pipe"), NotAFile)
    assert await arrives(sandbox, "file") == b"x\n"


async def test_what_a_slow_reader_has_not_read_is_never_more_than_two_windows(reached: Reached) -> None:
    sandbox = reached()
    running = await sandbox.start(Command(argv=("cat", "/dev/zero")))
    output, most = running.output(), 0
    for _ in range(100):
        await anext(output)
        await sandbox.stat(".")  # the answer comes behind what the flood has sent by then
        wire = running._wire
        assert isinstance(wire, SshExecStream)
        most = max(most, wire._held + sum(len(data) for data, _ in wire._channel._recv_buf))
    assert CHUNK < most < 2 * WINDOW + CHUNK, most
    await running.kill()


@pytest.mark.parametrize(("more", "cipher"), [("", "aes256-gcm@openssh.com"), ("Ciphers aes128-ctr", "aes128-ctr")])
async def test_aes_is_tried_first_unless_the_person_says_otherwise(
    more: str, cipher: str, reached: Reached, sshd: Server, person: Path
) -> None:
    sshd.introduce(person, more)
    await reached().describe()
    assert link_to("box")._open[0].get_extra_info("recv_cipher") == cipher


async def test_a_workspace_that_is_not_there_is_said(reached: Reached) -> None:
    error = await refused(reached(workspace="/no/such/folder").describe(), NoSuchFile)
    assert "/no/such/folder" in str(error)
    error = await refused(reached(workspace="/").describe(), AccessRefused)
    assert "whole machine" in str(error)


def test_hosts_are_read_as_ssh_does() -> None:
    assert Host("box").parts() == ("", "box", 0)
    assert Host("me@box:2222").parts() == ("me", "box", 2222)
