"""Containers: made once, walled in, found again after a crash, and gone when nobody needs them."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from angelia.core.errors import ConfigError
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.docker.sandbox import DockerSandbox
from angelia.sandboxes.docker.settings import DockerSettings, socket_of
from angelia.sandboxes.port import AccessRefused, Command, Reach, SandboxGone, SandboxMissing
from angelia.sandboxes.shared.volumes import volumes
from angelia.testing.sandboxes.acts import arrives, place, refused, said, script, shell

from .daemon import IMAGE, Daemon, live_and_be_killed

pytestmark = [pytest.mark.anyio, pytest.mark.real("docker")]

Contain = Callable[..., DockerSandbox]


@pytest.fixture
async def contain(docker: Daemon, person: Path, own: Path, tmp_path: Path) -> AsyncIterator[Contain]:
    """Makes sandboxes of one conversation; closed after the test, and then no container is left."""
    made: list[DockerSandbox] = []

    def contain(image: str = IMAGE, conversation: str = "one", **settings: object) -> DockerSandbox:
        workspace = tmp_path / "work"
        workspace.mkdir(exist_ok=True)
        made.append(
            DockerSandbox(
                image,
                SandboxContext(conversation, str(workspace), own, own / "run", told.append),
                settings=DockerSettings(**settings),  # type: ignore[arg-type]
                socket=docker.socket,
            )
        )
        return made[-1]

    told.clear()
    yield contain
    for sandbox in made:
        await sandbox.close()
    assert docker.containers() == []


told: list[str] = []
"""What was said about the progress."""


@pytest.mark.soak
async def test_concurrent_first_calls_make_one_container(contain: Contain, docker: Daemon) -> None:
    first, second = contain(), contain()
    names = await asyncio.gather(*(shell(one, "cut -d' ' -f22 /proc/1/stat") for one in (first, second) * 5))
    assert len(set(names)) == 1
    assert len(docker.containers()) == 1


async def test_only_workspace_home_and_tmp_can_be_written(contain: Contain, tmp_path: Path) -> None:
    sandbox = contain()
    assert await shell(sandbox, "for d in . ~ /tmp; do echo x >$d/file && echo yes; done") == "yes\nyes\nyes"
    output, _ = await said(
        sandbox, script("for d in / /bin /etc /dev /root; do touch $d/x 2>/dev/null && echo $d; done")
    )
    assert output in (b"", b"/dev\n")  # Docker's /dev is a file system of the container's own, in memory
    entry = (tmp_path / "work/file").stat()
    assert (entry.st_uid, entry.st_gid) == (os.getuid(), os.getgid())


@pytest.mark.parametrize("kind", ["bind", "tmpfs"])
async def test_a_command_has_the_persons_own_user_id(
    contain: Contain, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    (own / "run/docker/one/home").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    for folder in (own / "run/docker/one/home", tmp_path / "work"):
        os.chown(folder, 1234, 1235)
    monkeypatch.setattr(os, "getuid", lambda: 1234)
    monkeypatch.setattr(os, "getgid", lambda: 1235)
    sandbox = contain(workspace=kind)
    assert await shell(sandbox, "touch file ~/file && stat -c %u:%g file ~/file") == "1234:1235\n1234:1235"
    if kind == "bind":
        entry = (tmp_path / "work/file").stat()
        assert (entry.st_uid, entry.st_gid) == (1234, 1235)


async def test_it_has_no_capabilities_no_new_privileges_no_network_and_limits(contain: Contain) -> None:
    sandbox = contain(memory_mb=100, processes=50)
    status = await shell(sandbox, "grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status")
    assert status.split() == ["CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1"]
    assert await shell(sandbox, "ls /sys/class/net") == "lo"
    limits = "cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/pids.max "
    limits += "/sys/fs/cgroup/pids/pids.max 2>/dev/null; :"
    memory, processes = (await shell(sandbox, limits)).split()
    assert (int(memory) // 1_000_000, int(processes)) == (99, 50)  # the kernel counts in pages
    told_limits = "All that runs here has at most 100 MB of memory, 50 processes and 1,000 MB in /tmp."
    assert told_limits in (await sandbox.describe()).notes


async def test_a_command_over_its_memory_is_killed_and_the_container_stays(contain: Contain) -> None:
    sandbox = contain(memory_mb=60)
    _, end = await said(sandbox, script("tail /dev/zero", seconds=60))
    assert (end.signal, end.timed_out) == (signal.SIGKILL, False)
    assert await shell(sandbox, "echo still here") == "still here"


async def test_network_and_outside_are_refused_where_there_are_none(contain: Contain) -> None:
    sandbox = contain()
    for reach in (Reach.NETWORK, Reach.OUTSIDE):
        await refused(sandbox.start(Command(shell="echo no", reach=reach)), AccessRefused)
    described = await sandbox.describe()
    assert described.confined
    assert described.network == "off, and it cannot be had"
    assert "Busybox of the tests" in described.system


async def test_credentials_and_our_own_home_are_not_seen_in_the_workspace(contain: Contain, tmp_path: Path) -> None:
    secrets, own = tmp_path / "work/.ssh", tmp_path / "work/.angelia"
    os.environ["HOME"] = str(tmp_path / "work")
    secrets.mkdir(parents=True)
    (secrets / "id").write_text("canary")
    (tmp_path / "work/.netrc").write_text("canary")
    own.mkdir()
    sandbox = contain()
    output, _ = await said(sandbox, script("ls -A .ssh; cat .netrc .ssh/id 2>&1"))
    assert b"canary" not in output
    for path in (".ssh/id", ".netrc"):
        await refused(arrives(sandbox, path), AccessRefused)


async def test_git_hooks_and_settings_are_read_only(contain: Contain, tmp_path: Path) -> None:
    (tmp_path / "work/.git/hooks").mkdir(parents=True)
    (tmp_path / "work/.git/config").write_text("[core]\n")
    sandbox = contain()
    line = "echo x >.git/hooks/h; echo x >>.git/config; mv .git .g; echo x >.git/HEAD; ls -A .git .git/hooks"
    output, _ = await said(sandbox, script(f"({line}) 2>/dev/null"))
    assert output.split() == [b".git:", b"HEAD", b"config", b"hooks", b".git/hooks:"]
    await refused(place(sandbox, ".git/hooks/pre-commit", b"x"), AccessRefused)


async def test_files_move_in_the_home_and_in_tmp_too(contain: Contain) -> None:
    sandbox = contain()
    for path in ("/tmp/in/a b", "/home/angelia/in/a b"):
        await place(sandbox, path, b"some bytes")
        assert await shell(sandbox, f"cat '{path}'") == "some bytes"
        assert await arrives(sandbox, path) == b"some bytes"
        assert [entry.path async for entry in sandbox.list(path[:-4])] == [path]
        assert (await sandbox.stat(path)).size == 10


@pytest.mark.soak
async def test_a_volume_that_files_would_be_moved_past_is_refused(contain: Contain, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    for inside in (f"{tmp_path}/work/data", f"/{tmp_path}/work", "/data/../home/angelia/.cache"):
        with pytest.raises(ConfigError, match=r"cannot lie in .*at /volumes/"):
            contain(volumes=(f"{tmp_path}/more:{inside}:rw",))
    beside = contain(volumes=(f"{tmp_path}/more:/data:rw",))
    await place(beside, "/data/x", b"some bytes")
    assert (tmp_path / "more/x").read_bytes() == b"some bytes"
    await beside.close()
    within = contain(volumes=(f"{tmp_path}/more:{tmp_path}/work/data:rw",), workspace="tmpfs")
    await place(within, "data/y", b"in memory all files move inside")
    assert (tmp_path / "more/y").read_bytes() == b"in memory all files move inside"


@pytest.mark.soak
async def test_a_container_that_sees_other_folders_than_we_do_is_not_worked_in(
    contain: Contain, docker: Daemon, own: Path
) -> None:
    first, second = contain(), contain()
    await shell(first, "true")
    home = own / "run/docker/one/home"
    home.rename(home.with_name("elsewhere"))  # the container still has that one, as a daemon in another file system has
    error = await refused(second.start(script("echo no")), SandboxMissing)
    assert str(home) in error.what
    assert 'workspace = "tmpfs"' in error.then
    assert len(docker.containers()) == 1, "somebody uses it"
    assert not [*home.iterdir(), *(own / "run").glob("*.lock")]
    await first.close()
    assert await shell(second, "ls -A ~; echo fine") == "fine"


async def test_after_a_crash_the_container_is_found_again_and_its_commands_have_ended(
    contain: Contain, docker: Daemon, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    os.mkfifo(tmp_path / "work/beat")
    witness = await asyncio.create_subprocess_exec("cat", str(tmp_path / "work/beat"))
    line = "exec 9>beat; setsid sleep 1000 & echo kept >/tmp/kept; echo ready; sleep 1000"
    await live_and_be_killed(tmp_path, docker, line)
    await asyncio.wait_for(witness.wait(), 60)
    assert await shell(contain(), "cat /tmp/kept") == "kept"
    assert len(docker.containers()) == 1


@pytest.mark.soak
async def test_a_read_that_was_given_up_holds_no_container(contain: Contain, docker: Daemon) -> None:
    for moments in (0, 12, 24, 10_000):
        sandbox = contain(workspace="tmpfs")
        await place(sandbox, "file", b"x")
        reading = asyncio.ensure_future(anext(aiter(sandbox.get("file", limit=1))))
        for _ in range(moments):
            if len(sandbox._engine.begun) == 2:  # the holder, and this
                break
            await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait([reading])
        await sandbox.close()
        assert docker.containers() == []


@pytest.mark.soak
async def test_a_container_of_other_settings_is_not_taken_for_ours(contain: Contain, docker: Daemon) -> None:
    first, second = contain(), contain(processes=77)
    await shell(first, "echo x >/tmp/kept")
    assert await shell(second, "ls /tmp/kept 2>/dev/null || echo not there") == "not there"
    assert len(docker.containers()) == 1


async def test_nobody_is_left_when_nobody_needs_it(contain: Contain, docker: Daemon, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    await live_and_be_killed(tmp_path, docker, "echo ready; sleep 1000")
    (name,) = docker.containers()
    sandbox = contain(conversation="another", idle_minutes=0)
    await shell(sandbox, "true")
    (other,) = set(docker.containers()) - {name}
    assert sandbox._keeper is not None
    await sandbox._keeper.close()  # as when we die
    gone = {"condition": "removed"}
    await sandbox._engine.call("POST", f"/containers/{other}/wait", query=gone, deed="wait for the container's end")
    assert docker.containers() == [name]
    docker.docker("rm", "-f", name)


async def test_a_container_that_dies_is_said_and_the_next_command_has_a_new_one(
    contain: Contain, docker: Daemon
) -> None:
    sandbox = contain()
    running = await sandbox.start(script("echo on; sleep 1000"))
    assert await anext(running.output()) == b"on\n"
    docker.docker("rm", "-f", *docker.containers())
    with suppress(SandboxGone):  # or the status that the daemon gives for it
        assert (await running.wait()).status != 0
    await refused(sandbox.start(script("echo no")), SandboxGone)
    assert await shell(sandbox, "echo again") == "again"


async def test_an_image_that_cannot_be_had_explains_itself(contain: Contain) -> None:
    error = await refused(contain("registry.invalid/no/such:image").describe(), SandboxMissing)
    assert "registry.invalid/no/such:image" in str(error)
    assert "docker pull" in str(error)
    assert told == ["the image registry.invalid/no/such:image is being fetched"]


async def test_a_container_that_the_daemon_cannot_make_is_said_with_its_reason(contain: Contain) -> None:
    error = await refused(contain(memory_mb=1).describe(), SandboxMissing)
    assert "memory" in str(error)
    assert "[sandbox.docker]" in str(error)


async def test_limits_that_the_daemon_would_ignore_are_refused(own: Path, tmp_path: Path) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        said = b'{"Rootless":true,"CgroupVersion":"1"}'
        writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(said), said))
        writer.close()

    server = await asyncio.start_unix_server(answer, tmp_path / "s")
    sandbox = DockerSandbox(IMAGE, SandboxContext("c", str(tmp_path), own, own), socket=str(tmp_path / "s"))
    error = await refused(sandbox.describe(), SandboxMissing)
    assert "memory_mb" in error.then
    await sandbox.close()
    server.close()


async def test_without_a_daemon_it_is_missing_and_says_how_to_mend_it(own: Path, tmp_path: Path) -> None:
    with pytest.raises(SandboxMissing, match=r"/no/docker\.sock is not there.*DOCKER_HOST"):
        DockerSandbox(IMAGE, SandboxContext("c", str(tmp_path), own, own), socket="/no/docker.sock")


def test_the_socket_and_the_volumes_are_read_strictly(tmp_path: Path) -> None:
    nothing_set = DockerSettings()
    assert socket_of(nothing_set, {"DOCKER_HOST": "unix:///run/x.sock"}) == "/run/x.sock"
    assert socket_of(DockerSettings(socket="/run/y.sock"), {"DOCKER_HOST": "unix:///run/x.sock"}) == "/run/y.sock"
    with pytest.raises(ConfigError, match="not a Unix socket"):
        socket_of(nothing_set, {"DOCKER_HOST": "tcp://10.0.0.1:2375"})
    (known,) = volumes((f"{tmp_path}:/data:rw",))
    assert (known.outside, known.inside, known.writable) == (str(tmp_path), "/data", True)
    for text in (f"{tmp_path}", f"{tmp_path}:data", f"{tmp_path}:/data:x", "/no/such/folder:/data"):
        with pytest.raises(ConfigError):
            volumes((text,))


async def test_the_images_own_folder_is_worked_in_as_its_user_and_all_of_it_can_be_written(
    contain: Contain, docker: Daemon, tmp_path: Path
) -> None:
    folder = tmp_path / "image"
    folder.mkdir()
    (folder / "given.txt").write_text("given")
    (folder / "Dockerfile").write_text(f"FROM {IMAGE}\nENV KIND=lab\nWORKDIR /app\nCOPY given.txt .\n")
    sandbox = contain(str(folder), workspace="image")
    line = "pwd; cat given.txt; echo; id -u; echo $HOME $KIND; echo x >/etc/x && chown 7:7 /etc/x && stat -c %u /etc/x"
    assert await shell(sandbox, line) == "/app\ngiven\n0\n/root lab\n7"
    await place(sandbox, "made/a.txt", b"a")
    await place(sandbox, "/tests/b.txt", b"b")
    await place(sandbox, "/c.txt", b"c")
    assert await shell(sandbox, "cat /app/made/a.txt /tests/b.txt /c.txt") == "abc"
    assert await arrives(sandbox, "/etc/x") == b"x\n"
    assert (await sandbox.describe()).workspace == "/app"
    assert [*(tmp_path / "work").iterdir()] == []
    told.clear()
    again = contain(str(folder), "two", workspace="image")
    assert await shell(again, "ls /etc/x given.txt 2>/dev/null; true") == "given.txt", "a container of its own"
    assert told == [], "nothing was built a second time"


@pytest.mark.soak
async def test_an_image_without_a_folder_of_its_own_is_worked_in_at_its_root(contain: Contain) -> None:
    sandbox = contain(workspace="image")
    await place(sandbox, "here.txt", b"x")
    assert await shell(sandbox, "pwd; cat /here.txt") == "/\nx"
    assert await arrives(sandbox, "here.txt") == b"x"


async def test_an_image_that_cannot_be_built_explains_itself(contain: Contain, tmp_path: Path) -> None:
    (tmp_path / "image").mkdir()
    nothing = contain(str(tmp_path / "image"))
    assert "There is no Dockerfile" in str(await refused(nothing.describe(), SandboxMissing))
    (tmp_path / "image/Dockerfile").write_text(f"FROM {IMAGE}\nCOPY away.txt .\n")
    broken = contain(str(tmp_path / "image"))
    error = await refused(broken.describe(), SandboxMissing)
    assert "could not be built" in str(error)
    assert "away.txt" in str(error)
