"""Instances: started once, walled in, found again after a crash, and gone when nobody needs them."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from angelia.core.errors import ConfigError
from angelia.sandboxes.apptainer import persistent
from angelia.sandboxes.apptainer.program import find
from angelia.sandboxes.apptainer.sandbox import ApptainerSandbox, open_sandbox
from angelia.sandboxes.apptainer.settings import ApptainerSettings
from angelia.sandboxes.context import SandboxContext
from angelia.sandboxes.port import AccessRefused, Command, Reach, SandboxGone, SandboxMissing
from angelia.sandboxes.shared.persistent import PersistentPlace, Use
from angelia.testing.sandboxes.acts import arrives, place, refused, said, script, shell

from .apptainer import Images, live_and_be_killed

pytestmark = [pytest.mark.anyio, pytest.mark.real("apptainer"), pytest.mark.soak]  # the kit meets it in every run

Enter = Callable[..., ApptainerSandbox]


@pytest.fixture
async def enter(apptainer: Images, person: Path, own: Path, tmp_path: Path) -> AsyncIterator[Enter]:
    """Makes sandboxes of one conversation; closed after the test, and then no instance is left."""
    made: list[ApptainerSandbox] = []

    def enter(
        image: Path = apptainer.folder, conversation: str = "one", *, visit: bool = False, **settings: object
    ) -> ApptainerSandbox:
        workspace = tmp_path / "work"
        workspace.mkdir(exist_ok=True)
        where = SandboxContext(conversation, str(workspace), own, own / "run", visit=visit)
        made.append(ApptainerSandbox(str(image), where, settings=ApptainerSettings(**settings)))  # type: ignore[arg-type]
        return made[-1]

    yield enter
    for sandbox in made:
        await sandbox.close()
    assert await instances(own) == []


async def instances(own: Path) -> list[PersistentPlace]:
    """Those of this home."""
    return list(await persistent.found(own / "run", [ApptainerSettings()]))


@pytest.mark.soak
async def test_concurrent_first_calls_start_one_instance(enter: Enter, own: Path) -> None:
    first, second = enter(), enter()
    names = await asyncio.gather(*(shell(one, "cut -d' ' -f22 /proc/1/stat") for one in (first, second) * 3))
    assert len(set(names)) == 1
    (known,) = await instances(own)
    assert (known.place, known.use) == ("one", Use.IN_USE)


async def test_only_workspace_home_and_tmp_can_be_written(enter: Enter, apptainer: Images, tmp_path: Path) -> None:
    for image in (apptainer.folder, apptainer.file):
        sandbox = enter(image)
        assert await shell(sandbox, "for d in . ~ /tmp; do echo x >$d/file && echo yes; done") == "yes\nyes\nyes"
        output, _ = await said(
            sandbox, script("for d in / /bin /etc /root; do touch $d/x 2>/dev/null && echo $d; done")
        )
        assert output == b""
        entry = (tmp_path / "work/file").stat()
        assert (entry.st_uid, entry.st_gid) == (os.getuid(), os.getgid())
        await sandbox.close()


async def test_the_kernels_settings_are_read_only_even_for_root(enter: Enter) -> None:
    """One of them names a program that runs outside of everything, `kernel/core_pattern`."""
    one = "/proc/sys/kernel/shm_rmid_forced"
    tried = f"cat {one} > /tmp/x; cat /tmp/x > {one} && echo written; ls /sys/kernel; test -s /tmp/x && echo looked"
    output, _ = await said(enter(), Command(shell=tried))
    assert output.split()[-1] == b"looked"
    assert b"written" not in output
    assert b"/sys/kernel: No such file" in output or os.geteuid()


async def test_it_has_no_capabilities_no_new_privileges_and_no_network(enter: Enter) -> None:
    sandbox = enter()
    status = await shell(sandbox, "grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status")
    assert status.split() == ["CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1"]
    devices = await shell(sandbox, "tail -n +3 /proc/net/dev")
    assert [line.split(":")[0].strip() for line in devices.splitlines()] == ["lo"]
    for reach in (Reach.NETWORK, Reach.OUTSIDE):
        await refused(sandbox.start(Command(shell="echo no", reach=reach)), AccessRefused)
    described = await sandbox.describe()
    assert described.confined
    assert described.network == "off, and it cannot be had"
    assert "Busybox of the tests" in described.system
    assert "There is no limit but this machine's on memory, processors and processes." in described.notes


async def test_with_the_network_of_this_machine_it_says_so(enter: Enter) -> None:
    sandbox = enter(network="host")
    assert (await sandbox.describe()).always_networked
    running = await sandbox.start(Command(shell="cat /proc/net/dev", reach=Reach.NETWORK))
    seen = b"".join([chunk async for chunk in running.output()])
    assert len(seen.splitlines()) == len(Path("/proc/net/dev").read_text().splitlines())


@pytest.mark.skipif(os.geteuid() != 0, reason="without root limits need systemd")
async def test_limits_are_obeyed(enter: Enter) -> None:
    sandbox = enter(memory_mb=60, processes=40)
    assert "All that runs here has at most 60 MB of memory and 40 processes." in (await sandbox.describe()).notes
    _, end = await said(sandbox, script("tail /dev/zero", seconds=60))
    assert (end.signal, end.timed_out) == (signal.SIGKILL, False)
    output, _ = await said(sandbox, script("i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i+1)); done", seconds=60))
    assert b"fork" in output
    assert await shell(sandbox, "echo still here") == "still here"


async def test_what_the_person_has_set_for_apptainer_does_not_reach_in(
    enter: Enter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "diary").write_text("canary")
    monkeypatch.setenv("APPTAINER_BIND", f"{tmp_path}/diary:/diary")
    monkeypatch.setenv("APPTAINERENV_SECRET", "canary")
    output, _ = await said(enter(), script("env; cat /diary; ls /home /root"))
    assert b"canary" not in output


async def test_credentials_and_our_own_home_are_not_seen_in_the_workspace(enter: Enter, tmp_path: Path) -> None:
    secrets = tmp_path / "work/.ssh"
    os.environ["HOME"] = str(tmp_path / "work")
    secrets.mkdir(parents=True)
    (secrets / "id").write_text("canary")
    (tmp_path / "work/.netrc").write_text("canary")
    sandbox = enter()
    output, _ = await said(sandbox, script("ls -A .ssh; cat .netrc .ssh/id 2>&1"))
    assert b"canary" not in output
    assert b"id\n" not in output
    for path in (".ssh/id", ".netrc"):
        await refused(arrives(sandbox, path), AccessRefused)


async def test_git_hooks_and_settings_are_read_only(enter: Enter, tmp_path: Path) -> None:
    (tmp_path / "work/.git/hooks").mkdir(parents=True)
    (tmp_path / "work/.git/config").write_text("[core]\n")
    sandbox = enter()
    line = "echo x >.git/hooks/h; echo x >>.git/config; mv .git .g; echo x >.git/HEAD; ls -A .git .git/hooks"
    output, _ = await said(sandbox, script(f"({line}) 2>/dev/null"))
    assert output.split() == [b".git:", b"HEAD", b"config", b"hooks", b".git/hooks:"]
    await refused(place(sandbox, ".git/hooks/pre-commit", b"x"), AccessRefused)


async def test_files_move_in_every_place_that_can_be_written(enter: Enter, tmp_path: Path) -> None:
    for name in ("shared", "given", "around/angelia"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "given/letter").write_text("read only")
    volumes = (f"{tmp_path}/shared:/shared:rw", f"{tmp_path}/given:/given")
    sandbox = enter(volumes=(*volumes, f"{tmp_path}/around:/home:rw"))
    await shell(sandbox, "ln -s /given out")
    for path in ("/tmp/in/a b", "/var/tmp/c", "/home/angelia/in/a b", "/shared/d"):
        await place(sandbox, path, b"some bytes")
        assert await shell(sandbox, f"cat '{path}'") == "some bytes"
        assert await arrives(sandbox, path) == b"some bytes"
    assert (tmp_path / "shared/d").read_bytes() == b"some bytes"
    assert await arrives(sandbox, "out/letter") == b"read only"
    for path in ("/given/letter", "/given/new", "out/letter", "out/new"):
        await refused(place(sandbox, path, b"x"), AccessRefused)
    assert (tmp_path / "given/letter").read_text() == "read only"
    for inside in (f"{tmp_path}/work/data", "/home/angelia", "/tmp/x", "/shared/../given/in"):
        with pytest.raises(ConfigError, match="cannot lie in"):
            enter(volumes=(*volumes, f"{tmp_path}/shared:{inside}"))


async def test_what_is_changed_in_the_image_stays_in_an_overlay(enter: Enter) -> None:
    first = enter(overlay="keep")
    await shell(first, "mkdir -p /opt/tool && echo made >/opt/tool/file && ln -s /etc/passwd /opt/tool/link")
    await first.close()
    again = enter(overlay="keep")
    assert await shell(again, "cat /opt/tool/file") == "made"
    assert await arrives(again, "/opt/tool/file") == b"made\n"
    await refused(place(again, "/opt/tool/file", b"x"), AccessRefused)
    passing = enter(conversation="two", overlay="tmpfs")
    assert await shell(passing, "echo x >/etc/new && cat /etc/new && ls /opt 2>/dev/null; :") == "x"


async def test_after_a_crash_the_instance_is_found_again_and_its_commands_have_ended(
    enter: Enter, apptainer: Images, own: Path, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    os.mkfifo(tmp_path / "work/beat")
    witness = await asyncio.create_subprocess_exec("cat", str(tmp_path / "work/beat"))
    line = "exec 9>beat; setsid sleep 1000 & echo kept >/tmp/kept; echo ready; sleep 1000"
    await live_and_be_killed(tmp_path, apptainer.folder, line)
    await asyncio.wait_for(witness.wait(), 60)
    sandbox = enter()
    assert await shell(sandbox, "cat /tmp/kept") == "kept"
    assert len(await instances(own)) == 1
    await sandbox.close()
    assert not (own / "run/apptainer/one/scratch").exists()


@pytest.mark.soak
async def test_an_instance_of_other_settings_is_not_taken_for_ours(enter: Enter, own: Path) -> None:
    first, second = enter(), enter(overlay="tmpfs")
    await shell(first, "echo x >/tmp/kept")
    assert await shell(second, "ls /tmp/kept 2>/dev/null || echo not there") == "not there"
    assert len(await instances(own)) == 1


@pytest.mark.soak
async def test_nobody_is_left_when_nobody_needs_it(enter: Enter, own: Path) -> None:
    sandbox = enter(idle_minutes=0)
    await shell(sandbox, "true")
    (known,) = await instances(own)
    sandbox._idle.stop()  # what we do about it ourselves is the next claim
    assert sandbox._keeper is not None
    await sandbox._keeper.close()  # as when we die
    first = await sandbox._program.said("instance", "list", "--json", known.name)
    gone = await asyncio.create_subprocess_exec(
        "tail", "--pid", str(json.loads(first)["instances"][0]["pid"]), "-f", "/dev/null"
    )
    await asyncio.wait_for(gone.wait(), 60)
    assert await instances(own) == []


async def test_an_instance_that_is_held_and_not_used_ends_and_comes_again(enter: Enter, own: Path) -> None:
    sandbox = enter()
    assert await shell(sandbox, "echo x >~/kept; echo on") == "on"
    await sandbox._rest()  # as when it has not been used for 15 minutes
    assert await instances(own) == []
    assert await shell(sandbox, "cat ~/kept") == "x"


@pytest.mark.soak
async def test_resting_leaves_an_instance_that_somebody_else_uses(enter: Enter, own: Path) -> None:
    first, second = enter(), enter()
    await shell(first, "echo kept >/tmp/note")
    running = await second.start(script("echo ready; sleep 1000"))
    assert await anext(running.output()) == b"ready\n"
    await first._rest()  # as when we have not used it for 15 minutes, and a person's shell is open there
    assert await shell(second, "cat /tmp/note") == "kept"
    await running.kill()
    await second._rest()
    assert await instances(own) == [], "the last one who rests ends it"


async def test_a_visit_leaves_an_idle_instance_as_it_was(enter: Enter, own: Path) -> None:
    host = enter()
    await shell(host, "echo kept >/tmp/note")
    assert host._keeper is not None
    await host._keeper.close()  # as when we die
    for _ in range(2):
        guest = enter(visit=True)
        assert await shell(guest, "cat /tmp/note") == "kept"
        await guest.close()
    (known,) = await instances(own)
    assert known.use is Use.IDLE


async def test_an_instance_that_dies_is_said_and_the_next_command_has_a_new_one(enter: Enter, own: Path) -> None:
    sandbox = enter()
    running = await sandbox.start(script("echo on; sleep 1000"))
    assert await anext(running.output()) == b"on\n"
    (known,) = await instances(own)
    await persistent.end(known)
    with suppress(SandboxGone):  # or the status that the program gives for it
        assert (await running.wait()).status != 0
    await refused(sandbox.start(script("echo no")), SandboxGone)
    assert await shell(sandbox, "echo again") == "again"


@pytest.mark.parametrize(
    ("image", "says"),
    [
        ("python:3.12", "Write apptainer:docker://python:3.12"),
        ("no.sif", "There is no image"),
        ("docker-archive:/no/such.tar", "docker-archive:/no/such.tar"),
    ],
)
async def test_an_image_that_cannot_be_had_explains_itself(enter: Enter, image: str, says: str) -> None:
    with pytest.raises(SandboxMissing) as caught:
        await enter(Path(image)).describe()
    assert says in str(caught.value)


_NO_CGROUPS = "while applying cgroups config: cannot use cgroups - cannot use systemd cgroups manager"
SAID = (
    (f"FATAL:   container creation failed: {_NO_CGROUPS}, systemd not running as init on this host", "memory_mb"),
    ("FATAL:   While checking container encryption: could not open image /a.sif: image format not recognized", "name"),
    ("ERROR  : Failed to create user namespace: user namespace disabled", "apptainer-suid"),
    ("FATAL:   while starting master process: something else", "--containall"),
)
"""By Apptainer 1.4.5, and what has to be in the way to mend it."""


@pytest.mark.parametrize(("words", "mend"), SAID)
async def test_what_the_program_says_is_told_with_a_way_to_mend_it(
    enter: Enter, tmp_path: Path, words: str, mend: str
) -> None:
    program = tmp_path / "apptainer"
    program.write_text(f"#!/bin/sh\ncase $* in *list*) echo '{{}}';; *) echo '{words}' >&2; exit 255;; esac\n")
    program.chmod(0o755)
    error = await refused(enter(program=str(program)).describe(), SandboxMissing)
    assert words.split(":", 1)[1].strip() in str(error)
    assert mend in error.then


async def test_without_apptainer_it_is_missing_and_says_how_to_mend_it(tmp_path: Path) -> None:
    with pytest.raises(SandboxMissing, match=r"no apptainer and no singularity.*\[sandbox.apptainer\]"):
        find("", {"PATH": str(tmp_path)})
    with pytest.raises(ConfigError, match="No image is named"):
        open_sandbox("", SandboxContext("c", str(tmp_path), tmp_path / "own", tmp_path / "own/run"), None)
