"""What a turn changed on another machine is taken back by `angelia undo`, there."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from angelia.testing.model.steps import call, say
from tests.faces.angelia import CTRL_D, Place, serving

from .daemon import IMAGE, Daemon
from .modal_cloud import Cloud
from .sshd import Server

MAKE = call("shell", {"command": "mkdir -p src && echo one > notes.txt && echo two > src/main.py"})
HARM = (
    call("read", {"path": "notes.txt"}),
    call("write", {"path": "notes.txt", "content": "other\n"}),
    call("write", {"path": "new/file.txt", "content": "made\n"}),
    call("shell", {"command": "rm src/main.py"}),
)
LOOK = call("shell", {"command": "cat notes.txt src/main.py; ls"})
STEPS = (MAKE, say("Made."), *HARM, say("Changed."), LOOK, say("Seen."))


def takes_back(place: Place, *words: str, **more: Any) -> None:
    """A turn makes files, the next one harms them, and it is taken back; what the model then sees."""
    for said, answer in (("make them", "Made.\n"), ("change them", "Changed.\n")):
        ended = place.ask(said, *(words if answer == "Made.\n" else ("--continue",)), *YES, **more)
        assert (ended.code, ended.out) == (0, answer), ended.err
    looked = place.run("undo", "--diff", **more)
    assert "-other" in looked.out, looked.err
    assert "new/file.txt: goes" in looked.out
    done = place.run("undo", "--yes", **more)
    assert done.code == 0, done.err
    assert place.ask("look", "--continue", *YES, **more).code == 0
    shown = place.run("show", "--json", **more).out
    assert "one\\ntwo\\nnotes.txt\\nsrc\\n" in shown, shown[-3000:]


YES = ("--set", "policy.mode=autonomous", "--set", "sandbox.confine=off")


@pytest.mark.real("ssh")
def test_on_another_machine(tmp_path: Path, sshd: Server) -> None:
    with serving(tmp_path, STEPS) as place, TemporaryDirectory() as there:
        sshd.introduce(tmp_path)
        takes_back(place, "--sandbox", f"ssh:box:{there}")
        assert not list(place.work.iterdir())


@pytest.mark.real("bwrap")
@pytest.mark.soak
def test_at_modal(tmp_path: Path, modal: Cloud) -> None:
    with serving(tmp_path, STEPS) as place:
        takes_back(place, "--sandbox", f"modal:{modal.image}", **modal.environ)
        assert not list(place.work.iterdir())


@pytest.mark.real("docker")
@pytest.mark.soak
def test_what_lies_in_a_containers_memory_is_taken_back_from_another_process(tmp_path: Path, docker: Daemon) -> None:
    more: dict[str, Any] = {"DOCKER_HOST": f"unix://{docker.socket}"}
    with serving(tmp_path, STEPS) as place:
        place.home.mkdir(exist_ok=True)
        (place.home / "config.toml").write_text('[sandbox.docker]\nworkspace = "tmpfs"\n')
        with place.chat("--sandbox", f"docker:{IMAGE}", *YES, **more) as terminal:
            for said, answer in (("make them", "Made."), ("change them", "Changed.")):
                terminal.types(said)
                terminal.sees(answer)
            done = place.run("undo", "--yes", **more)
            assert done.code == 0, done.err
            terminal.types("look")
            terminal.sees("Seen.")
            shown = place.run("show", "--json", **more).out
            assert "one\\ntwo\\nnotes.txt\\nsrc\\n" in shown, shown[-3000:]
            terminal.press(CTRL_D)
            assert terminal.ends() == 0
        assert not list(place.work.iterdir())
        assert docker.containers() == []
