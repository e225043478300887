"""The files of a skill lie where its commands find them, whatever kind of sandbox it is."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from angelia.testing.model.steps import call, say
from tests.faces.angelia import Place, requests, serving
from tests.skills.folders import write_skill

from .apptainer import Images
from .daemon import IMAGE, Daemon
from .modal_cloud import Cloud
from .sshd import Server

RUN = (
    "d=$(ls -d /skills/tea-* /tmp/skills/tea-* .angelia/in-use/tea-* 2>/dev/null | head -n 1); "
    "cat $d/references/a.md && $d/scripts/run.sh"
)
STEPS = (call("use_skill", {"name": "tea"}), call("shell", {"command": RUN}), say("I see it."))
FILES = {"scripts/run.sh": "#!/bin/sh\necho TEA IS MADE\n", "references/a.md": "Use PEAR leaves.\n"}


def runs_it(place: Place, *words: str, **more: Any) -> str:
    """Let the model take a skill of the person's and run its program; what `use_skill` said."""
    write_skill(place.home.parent / ".agents" / "skills", files=FILES)
    assert place.run("skills", "pin", "tea").code == 0
    ended = place.ask("make tea", *words, **more)
    assert (ended.code, ended.out) == (0, "I see it.\n"), ended.err
    taken, ran = [
        message["content"] for message in requests(place)[-1]["body"]["messages"] if message["role"] == "tool"
    ]
    assert "PEAR" in json.dumps(ran)
    assert "TEA IS MADE" in json.dumps(ran)
    return json.dumps(taken)


@pytest.mark.real("bwrap")
def test_confined_on_this_machine(tmp_path: Path) -> None:
    with serving(tmp_path, STEPS) as place:
        assert "Its files are in /skills/tea-" in runs_it(place)
        assert not (place.work / ".angelia").exists()


def test_unconfined_on_this_machine_they_lie_in_the_workspace_where_git_does_not_see_them(tmp_path: Path) -> None:
    with serving(tmp_path, STEPS) as place:
        assert f"{place.work}/.angelia/in-use/tea-" in runs_it(place, "--set", "sandbox.confine=off")
        assert (place.work / ".angelia/in-use/.gitignore").read_text() == "*\n"
        assert "unseen" not in place.run("skills", "list").err, "what lies there is no skill of the project"


@pytest.mark.real("docker")
def test_in_a_container(tmp_path: Path, docker: Daemon) -> None:
    with serving(tmp_path, STEPS) as place:
        runs_it(place, "--sandbox", f"docker:{IMAGE}", DOCKER_HOST=f"unix://{docker.socket}")
    assert docker.containers() == []


@pytest.mark.soak
@pytest.mark.real("apptainer")
def test_in_an_instance(tmp_path: Path, apptainer: Images) -> None:
    with serving(tmp_path, STEPS) as place:
        runs_it(place, "--sandbox", f"apptainer:{apptainer.folder}")


@pytest.mark.soak
@pytest.mark.real("bwrap")
def test_at_modal(tmp_path: Path, modal: Cloud) -> None:
    with serving(tmp_path, STEPS) as place:
        runs_it(place, "--sandbox", f"modal:{modal.image}", **modal.environ)
        assert not list(place.work.iterdir())
        (known,) = place.run("sandbox", "list", "--json", **modal.environ).out.splitlines()
        ended = place.run("sandbox", "stop", *json.loads(known)["conversations"], "--yes", **modal.environ)
        assert ended.code == 0, ended.err


@pytest.mark.real("ssh")
def test_on_another_machine(tmp_path: Path, sshd: Server) -> None:
    with serving(tmp_path, STEPS) as place, TemporaryDirectory() as there:
        sshd.introduce(tmp_path)
        runs_it(place, "--sandbox", f"ssh:box:{there}", "--set", "sandbox.confine=off")
        assert not list(place.work.iterdir())
