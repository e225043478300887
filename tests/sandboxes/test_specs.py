"""A conversation names its sandbox, works there and nowhere else, and its files arrive."""

import hashlib
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from angelia.core.errors import ConfigError
from angelia.sandboxes.context import SandboxContext as Where
from angelia.sandboxes.registry import open_sandbox, workspace_in
from angelia.sandboxes.terminal import HasShell
from angelia.testing.model.steps import call, say
from tests.faces.angelia import Place, serving

from .apptainer import Images
from .by_commands_sandbox import SandboxThatOnlyStarts
from .daemon import IMAGE, Daemon
from .modal_cloud import Cloud
from .sshd import Server

MADE = "seq 1 90000 | gzip >'a b.bin'; sha256sum <'a b.bin'; cat /etc/os-release; echo $SSH_CONNECTION"
STEPS = (call("shell", {"command": MADE}), call("send_file", {"path": "a b.bin"}), say("Here it is."))


def shown(place: Place) -> str:
    """The last conversation's log, as text."""
    return place.run("show", "--json").out


def arrived_is_what_was_made(place: Place) -> bool:
    (arrived,) = (place.home / "outbox").iterdir()
    return hashlib.sha256(arrived.read_bytes()).hexdigest() in shown(place)


@pytest.mark.real("docker")
def test_a_file_made_in_a_container_arrives_as_it_was_made(tmp_path: Path, docker: Daemon) -> None:
    with serving(tmp_path, STEPS) as place:
        spec = f"docker:{IMAGE}"
        host = f"unix://{docker.socket}"
        in_memory = ("--set", "sandbox.docker.workspace=tmpfs")
        ended = place.ask("make it", "--sandbox", spec, *in_memory, DOCKER_HOST=host)
        assert (ended.code, ended.out) == (0, "Here it is.\n"), ended.err
        assert "Busybox of the tests" in shown(place)
        assert arrived_is_what_was_made(place)
        assert not list(place.work.iterdir())
        assert docker.containers() == []
        again = place.ask("and", "--continue", "--sandbox", "local", DOCKER_HOST=host)
        assert (again.code, again.out) == (2, "")
        assert f"works in {spec}, and stays there" in again.err


@pytest.mark.real("docker")
def test_a_bound_workspace_stays_and_is_worked_in(tmp_path: Path, docker: Daemon) -> None:
    steps = [call("write", {"path": "note.txt", "content": "hello"}), call("shell", {"command": "cat note.txt; id -u"})]
    with serving(tmp_path, [*steps, say("Done.")]) as place:
        ended = place.ask("go", "--sandbox", f"docker:{IMAGE}", DOCKER_HOST=f"unix://{docker.socket}")
        assert (ended.code, ended.out) == (0, "Done.\n"), ended.err
        assert (place.work / "note.txt").read_text() == "hello"
        assert f"hello{os.getuid()}" in shown(place)


@pytest.mark.real("apptainer")
def test_a_file_made_in_an_instance_arrives_as_it_was_made(tmp_path: Path, apptainer: Images) -> None:
    with serving(tmp_path, STEPS) as place:
        ended = place.ask("make it", "--sandbox", f"apptainer:{apptainer.file}")
        assert (ended.code, ended.out) == (0, "Here it is.\n"), ended.err
        assert "Busybox of the tests" in shown(place)
        assert arrived_is_what_was_made(place)
        assert [made.name for made in place.work.iterdir()] == ["a b.bin"]
        assert place.run("sandbox", "list").out == ""


@pytest.mark.real("bwrap")
@pytest.mark.soak
def test_a_file_made_at_modal_arrives_as_it_was_made_and_is_there_the_next_time(tmp_path: Path, modal: Cloud) -> None:
    look = [call("shell", {"command": "sha256sum <'a b.bin'"}), say("Still there.")]
    with serving(tmp_path, (*STEPS, *look)) as place:
        ended = place.ask("make it", "--sandbox", f"modal:{modal.image}", **modal.environ)
        assert (ended.code, ended.out) == (0, "Here it is.\n"), ended.err
        assert "Busybox of the tests" in shown(place)
        assert arrived_is_what_was_made(place)
        assert not list(place.work.iterdir())
        again = place.ask("is it there?", "--continue", **modal.environ)
        assert (again.code, again.out) == (0, "Still there.\n"), again.err
        (arrived,) = (place.home / "outbox").iterdir()
        assert shown(place).count(hashlib.sha256(arrived.read_bytes()).hexdigest()) > 1


@pytest.mark.real("bwrap")
def test_without_a_token_modal_is_an_error_that_says_how_to_get_one(tmp_path: Path, modal: Cloud) -> None:
    with serving(tmp_path, [say("Done.")]) as place:
        ended = place.ask("do it", "--sandbox", f"modal:{modal.image}", **dict(modal.environ, MODAL_TOKEN_SECRET="no"))
        assert ended.code != 0
        assert "modal setup" in ended.err


@pytest.mark.real("ssh")
def test_a_file_made_on_another_machine_arrives_as_it_was_made(tmp_path: Path, sshd: Server) -> None:
    with serving(tmp_path, STEPS) as place, TemporaryDirectory() as there:
        sshd.introduce(tmp_path)
        ended = place.ask("make it", "--sandbox", f"ssh:box:{there}", "--set", "sandbox.confine=off")
        assert (ended.code, ended.out) == (0, "Here it is.\n"), ended.err
        assert f"127.0.0.1 {sshd.port}" in shown(place)
        assert arrived_is_what_was_made(place)
        assert not list(place.work.iterdir())


@pytest.mark.real("ssh")
def test_what_runs_unconfined_on_another_machine_needs_a_yes(tmp_path: Path, sshd: Server) -> None:
    with serving(tmp_path, [call("shell", {"command": "touch here"}), say("No.")]) as place:
        with TemporaryDirectory() as there:
            sshd.introduce(tmp_path)
            assert place.ask("do it", "--sandbox", f"ssh:box:{there}").code == 0
            assert not list(Path(there).iterdir())
        assert "offers no confinement" in shown(place)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("docker:no", "There is no container daemon"),
        ("ssh:127.0.0.1:1", "does not answer"),
        ("cloud:thing", "There is no sandbox 'cloud:thing'"),
        ("docker:", "No image is named"),
        ("apptainer:no.sif", "no apptainer and no singularity"),
    ],
)
def test_a_sandbox_that_cannot_be_had_is_an_error_and_nothing_runs_here(tmp_path: Path, spec: str, says: str) -> None:
    with serving(tmp_path, [call("shell", {"command": "touch here"}), say("Done.")]) as place:
        ended = place.ask("do it", "--sandbox", spec, DOCKER_HOST="unix:///no/docker.sock", PATH="/no")
        assert ended.code != 0
        assert says in ended.err
        assert ended.out == ""
        assert not list(place.work.iterdir())


def test_a_spec_says_where_the_workspace_is(tmp_path: Path) -> None:
    assert workspace_in("local", tmp_path) == str(tmp_path)
    assert workspace_in("docker:python:3.12", tmp_path) == str(tmp_path)
    assert workspace_in("ssh:me@box", tmp_path) == "~"
    assert workspace_in("modal:python:3.12", tmp_path) == "/workspace"
    assert workspace_in("modal:python:3.12:/srv/it", tmp_path) == "/srv/it"
    assert workspace_in("ssh:me@box:22:/srv/a b", tmp_path) == "/srv/a b"


@pytest.mark.anyio
async def test_this_machine_is_a_room_as_well(tmp_path: Path) -> None:
    where = Where("c", str(tmp_path), tmp_path / "own", tmp_path / "own/run", confine="off")
    sandbox = open_sandbox("local", where, {})
    assert (await sandbox.describe()).workspace == str(tmp_path)
    assert isinstance(sandbox, HasShell)
    await sandbox.close()
    with pytest.raises(ConfigError, match="Write local"):
        open_sandbox("local:there", where, {})


def opened(rest: str, place: Where, settings: object) -> SandboxThatOnlyStarts:
    """A third-party sandbox, as its entry point names it."""
    return SandboxThatOnlyStarts(Path(place.workspace) / rest, place.home)


@pytest.mark.anyio
async def test_a_strangers_room_is_found_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "stranger-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1\n")
    (package / "entry_points.txt").write_text("[angelia.sandboxes]\nstrange = tests.sandboxes.test_specs:opened\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    sandbox = open_sandbox("strange:inner", Where("c", str(tmp_path), tmp_path / "own", tmp_path / "own/run"), {})
    assert (await sandbox.describe()).workspace == str(tmp_path / "inner")
    await sandbox.close()
