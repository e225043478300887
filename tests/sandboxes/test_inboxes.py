"""What a person sends lies in the sandbox's inbox before the model answers, whatever kind of sandbox it is."""

import hashlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from angelia.testing.model.steps import call, say
from tests.faces.angelia import Place, requests, serving

from .apptainer import Images
from .daemon import IMAGE, Daemon
from .modal_cloud import Cloud
from .sshd import Server

DATA = bytes(range(256)) * 700
STEPS = (call("shell", {"command": "sha256sum <'inbox/a b.bin'; ls inbox"}), say("I see it."))


def sees_it(place: Place, *words: str, **more: Any) -> None:
    """Send a file, and let the model look with a command of that sandbox."""
    (place.home.parent / "a b.bin").write_bytes(DATA)
    ended = place.ask("look", "--file", str(place.home.parent / "a b.bin"), *words, **more)
    assert (ended.code, ended.out) == (0, "I see it.\n"), ended.err
    assert "lies at inbox/a b.bin in the workspace" in json.dumps(requests(place)[0]["body"])
    shown = place.run("show", "--json").out
    assert hashlib.sha256(DATA).hexdigest() in shown.partition('"kind":"ToolFinished"')[2]


@pytest.mark.soak(every=2)
@pytest.mark.real("docker")
@pytest.mark.parametrize("workspace", ["bind", "tmpfs"])
def test_in_a_container(tmp_path: Path, docker: Daemon, workspace: str) -> None:
    with serving(tmp_path, STEPS) as place:
        setting = f"sandbox.docker.workspace={workspace}"
        sees_it(place, "--sandbox", f"docker:{IMAGE}", "--set", setting, DOCKER_HOST=f"unix://{docker.socket}")
        assert (place.work / "inbox").exists() is (workspace == "bind")
    assert docker.containers() == []


@pytest.mark.soak
@pytest.mark.real("apptainer")
def test_in_an_instance(tmp_path: Path, apptainer: Images) -> None:
    with serving(tmp_path, STEPS) as place:
        sees_it(place, "--sandbox", f"apptainer:{apptainer.folder}")
        assert (place.work / "inbox/a b.bin").read_bytes() == DATA


@pytest.mark.soak
@pytest.mark.real("bwrap")
def test_at_modal(tmp_path: Path, modal: Cloud) -> None:
    with serving(tmp_path, STEPS) as place:
        sees_it(place, "--sandbox", f"modal:{modal.image}", **modal.environ)
        assert not list(place.work.iterdir())
        (known,) = place.run("sandbox", "list", "--json", **modal.environ).out.splitlines()
        ended = place.run("sandbox", "stop", *json.loads(known)["conversations"], "--yes", **modal.environ)
        assert ended.code == 0, ended.err


@pytest.mark.real("ssh")
def test_on_another_machine(tmp_path: Path, sshd: Server) -> None:
    with serving(tmp_path, STEPS) as place, TemporaryDirectory() as there:
        sshd.introduce(tmp_path)
        sees_it(place, "--sandbox", f"ssh:box:{there}", "--set", "sandbox.confine=off")
        assert (Path(there) / "inbox/a b.bin").read_bytes() == DATA
        assert not list(place.work.iterdir())


@pytest.mark.real("bwrap")
def test_on_this_machine(tmp_path: Path) -> None:
    with serving(tmp_path, STEPS) as place:
        sees_it(place)
        assert (place.work / "inbox/a b.bin").read_bytes() == DATA
