"""What people do with sandboxes from the command line: see, move files, end, and nothing is left behind."""

import hashlib
import json
import os
import socket
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from angelia.sandboxes.modal.saved import Note, Saved
from angelia.sandboxes.shared.persistent import owner
from angelia.testing.model.steps import call, say
from tests.faces.angelia import CTRL_D, Place, serving

from .daemon import IMAGE, Daemon
from .sshd import Server

BYTES = bytes(range(256)) * 5000


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home and a folder, and no model server."""
    (tmp_path / "work").mkdir()
    return Place(tmp_path / "home", tmp_path / "work")


def found(place: Place, host: str = "") -> list[dict[str, Any]]:
    """What `list` tells."""
    ended = place.run("sandbox", "list", "--json", DOCKER_HOST=host or "unix:///no/docker.sock")
    assert ended.code == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


@pytest.mark.real("docker")
def test_a_container_is_seen_with_its_conversation_used_by_people_and_ended(tmp_path: Path, docker: Daemon) -> None:
    host = f"unix://{docker.socket}"
    again = call("shell", {"command": "wc -c <in/x.bin"})
    steps = [say("Here."), again, again, say("Again.")]
    with serving(tmp_path, steps) as place, place.chat("--sandbox", f"docker:{IMAGE}", DOCKER_HOST=host) as terminal:
        terminal.types("hello there")
        terminal.sees("Here.")
        (seen,) = found(place, host)
        assert (seen["spec"], seen["standing"], seen["title"]) == (f"docker:{IMAGE}", "open", "hello there")
        assert [seen["where"]] == docker.containers()
        listed = place.run("sandbox", "list", DOCKER_HOST=host).out
        assert f"in use by process {seen['by'][0]['process']}" in listed
        assert "hello there" in listed
        (name,) = seen["conversations"]
        (place.work / "x.bin").write_bytes(BYTES)
        ended = place.run("sandbox", "put", name, "x.bin", "in/", DOCKER_HOST=host)
        assert hashlib.sha256(BYTES).hexdigest() in ended.err
        asked = place.run("sandbox", "stop", name[-8:], DOCKER_HOST=host)
        assert (asked.code, docker.containers()) == (2, [seen["where"]])
        assert "Scripts say --yes" in asked.err
        assert place.run("sandbox", "stop", name[-8:], "--yes", DOCKER_HOST=host).code == 0
        assert docker.containers() == []
        terminal.types("go on")
        terminal.sees("Again.")
        shown = place.run("show", "--json").out
        assert "The container is not there any more" in shown, "said once, and the next command has a new one"
        assert str(len(BYTES)) in shown
        got = place.run("sandbox", "get", name, "in/x.bin", "got.bin", DOCKER_HOST=host)
        assert (place.work / "got.bin").read_bytes() == BYTES, got.err
        assert len(docker.containers()) == 1, "a visit leaves what somebody else uses"
        terminal.press(CTRL_D)
        assert terminal.ends() == 0
    assert place.run("sandbox", "list", DOCKER_HOST=host).out == ""


@pytest.mark.soak
@pytest.mark.real("docker")
def test_what_a_killed_life_left_is_idle_and_goes_with_its_conversation(tmp_path: Path, docker: Daemon) -> None:
    host = f"unix://{docker.socket}"
    with serving(tmp_path, [say("Here.")]) as place:
        for words in (("delete", "--yes-really"), ("sandbox", "prune", "--yes")):
            with place.chat("--sandbox", f"docker:{IMAGE}", at="model.asked:1", DOCKER_HOST=host) as terminal:
                terminal.types("hello")
                assert terminal.ends() == -9
            (seen,) = found(place, host)
            (conversation,) = seen["conversations"]
            assert (seen["standing"], seen["by"]) == ("idle", [])
            kept = place.home / "running/docker" / seen["place"]
            assert (kept / "home").is_dir()
            named = [conversation] if words[0] == "delete" else []
            ended = place.run(words[0], *named, *words[1:], DOCKER_HOST=host)
            assert (ended.code, docker.containers()) == (0, []), ended.err
            assert kept.exists() is (words[0] == "sandbox"), "a conversation that goes on keeps its home"


@pytest.mark.real("docker")
def test_what_nobody_will_ask_for_again_is_tidied_and_nobody_elses_is_touched(tmp_path: Path, docker: Daemon) -> None:
    host = f"unix://{docker.socket}"
    with serving(tmp_path, [say("Here.")]) as place:
        state = place.home / "running"
        (state / "docker/01gone/home").mkdir(parents=True)
        label = f"angelia.home={owner(state)}"
        docker.docker("create", "--name", "forgotten", "--label", "angelia=01gone", "--label", label, IMAGE)
        docker.docker("create", "--name", "a-strangers", "--label", "angelia=01gone", IMAGE)
        assert place.ask("hello", DOCKER_HOST=host).code == 0
        assert docker.containers() == ["a-strangers"]
        assert not (state / "docker/01gone").exists()
        docker.docker("rm", "a-strangers")


@pytest.mark.soak
@pytest.mark.real("docker")
def test_a_look_into_what_a_killed_life_left_in_memory_takes_nothing_away(tmp_path: Path, docker: Daemon) -> None:
    host = f"unix://{docker.socket}"
    steps = [call("shell", {"command": "echo canary >note"}), say("Here.")]
    with serving(tmp_path, steps) as place:
        place.home.mkdir(exist_ok=True)
        (place.home / "config.toml").write_text('[sandbox.docker]\nworkspace = "tmpfs"\n')
        with place.chat("--sandbox", f"docker:{IMAGE}", at="model.asked:2", DOCKER_HOST=host) as terminal:
            terminal.types("hello")
            assert terminal.ends() == -9
        (left,) = docker.containers()
        got = place.run("sandbox", "get", left.split("-")[1], "note", "got", DOCKER_HOST=host)
        assert (place.work / "got").read_text() == "canary\n", got.err
        asked = place.run("sandbox", "stop", left, DOCKER_HOST=host)
        assert "Its files lie there alone, and are lost." in asked.err
        assert docker.containers() == [left]
        docker.docker("rm", "-f", left)


def test_a_daemon_that_is_down_spoils_no_copy_in_another_sandbox(place: Place) -> None:
    (place.home / "running/docker").mkdir(parents=True)
    (place.work / "a.txt").write_text("here")
    with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as dead:
        dead.bind(f"{folder}/d.sock")  # nobody listens, as when a daemon was killed
        host = f"unix://{folder}/d.sock"
        ended = place.run("sandbox", "get", "local", "a.txt", "b.txt", DOCKER_HOST=host)
        assert (ended.code, (place.work / "b.txt").read_text()) == (0, "here"), ended.err
        ended = place.run("sandbox", "get", "local", "missing", DOCKER_HOST=host)
        assert (ended.code, "No such file" in ended.err) == (1, True), ended.err
        ended = place.run("sandbox", "get", f"docker:{IMAGE}", "/tmp/x", DOCKER_HOST=host)
        assert "stays for now" in ended.err
        assert ended.err.splitlines()[-1].startswith(f"angelia: The container daemon at {folder}/d.sock does not")


def test_prune_leaves_what_is_the_only_copy_of_a_conversations_files(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Here.")]) as place:
        assert place.ask("hello").code == 0
        (session,) = json.loads(f"[{place.run('sessions', '--json').out}]")
        for name in (session["id"], "01gone"):
            Note(place.home / "running/modal" / name).write(Saved("angelia", "alpine", "im-1", 1.0))
        seen = {row["place"]: row["standing"] for row in found(place)}
        assert seen == {session["id"]: "idle", "01gone": "idle"}
        asked = place.run("sandbox", "prune")
        assert "01gone" in asked.out
        assert session["id"][-8:] not in asked.out


@pytest.mark.real("ssh")
def test_files_go_to_another_machine_and_come_back_checked(place: Place, sshd: Server) -> None:
    sshd.introduce(place.home.parent)
    (place.work / "a b.bin").write_bytes(BYTES)
    with TemporaryDirectory() as there:
        spec = f"ssh:box:{there}"
        ended = place.run("sandbox", "put", spec, "a b.bin", "deep/folder/")
        assert (Path(there) / "deep/folder/a b.bin").read_bytes() == BYTES, ended.err
        assert place.run("sandbox", "put", spec, "a b.bin", "deep/folder").code == 2, "it would be replaced"
        ended = place.run("sandbox", "get", spec, "deep/folder/a b.bin", "back")
        assert (ended.code, (place.work / "back").read_bytes()) == (0, BYTES)
        assert f"SHA-256 of what came: {hashlib.sha256(BYTES).hexdigest()}" in ended.err
        (Path(there) / "deep/link").symlink_to("/etc/passwd")
        ended = place.run("sandbox", "get", spec, "deep")
        assert "1 file, 1.3 MB, whole; 1 left out" in ended.err
        assert (place.work / "deep/folder/a b.bin").read_bytes() == BYTES
        ended = place.run("sandbox", "put", spec, "deep", "again/")
        assert (Path(there) / "again/deep/folder/a b.bin").read_bytes() == BYTES, ended.err
        assert "is there already" in place.run("sandbox", "get", spec, "deep").err


def test_a_copy_out_replaces_nothing_unasked_and_leaves_nothing_half(place: Place) -> None:
    (place.work / "a.txt").write_text("new")
    (place.work / "out").mkdir()
    (place.work / "out/a.txt").write_text("old")
    ended = place.run("sandbox", "get", "local", "a.txt", "out")
    assert (ended.code, (place.work / "out/a.txt").read_text()) == (2, "old")
    assert "Replace" in ended.err
    assert place.run("sandbox", "get", "local", "a.txt", "out", "--yes").code == 0
    assert (place.work / "out/a.txt").read_text() == "new"
    for path, says in (("missing", "No such file"), ("/etc/hostname", "outside")):
        ended = place.run("sandbox", "get", "local", path, "x")
        assert (ended.code, ended.out) == (1, ""), path
        assert says in ended.err
    assert {path.name for path in place.work.iterdir()} == {"a.txt", "out"}


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("get", "nowhere", "x"), 2, "'nowhere' is neither a conversation nor a sandbox. Presets: none."),
        (("put", "local", "missing"), 2, "cannot be read: No such file or directory"),
        (("put", "local", "/dev/null"), 2, "is no file, but a device"),
        (("shell", "local"), 2, "A shell needs a terminal"),
        (("stop", "nowhere"), 2, "No sandbox is called 'nowhere'"),
        (("list",), 0, "No sandbox is open, and none is left over."),
        (("prune",), 0, "There is nothing to remove."),
        (("get", "docker:no/such", "x"), 1, "There is no container daemon"),
    ],
)
def test_what_cannot_be_done_is_said(place: Place, words: tuple[str, ...], code: int, says: str) -> None:
    ended = place.run("sandbox", *words, DOCKER_HOST="unix:///no/docker.sock")
    assert (ended.code, ended.out) == (code, "")
    assert says in ended.err


def test_a_conversation_at_work_on_this_machine_is_listed_and_its_turn_can_be_stopped(tmp_path: Path) -> None:
    steps = [call("shell", {"command": "echo begun; read -r word <wait", "reach": "outside"}), say("Never.")]
    with serving(tmp_path, steps) as place:
        os.mkfifo(place.work / "wait")
        with place.chat("--set", "sandbox.confine=off", "--set", "policy.mode=autonomous") as terminal:
            terminal.types("hello")
            terminal.sees("begun")
            (seen,) = found(place)
            assert (seen["spec"], seen["where"], seen["standing"]) == ("local", str(place.work), "open")
            ended = place.run("sandbox", "stop", *seen["conversations"], "--yes")
            assert "The running turn is told to stop" in ended.err
            terminal.sees("Stopped.")
        assert found(place) == []


PRESETS = """
[sandbox.presets.ready]
spec = "docker:{image}"
[sandbox.presets.later]
spec = "docker:no/such:9"
[sandbox.presets.small]
spec = "docker:{image}"
docker = {{memory_mb = 1}}
[sandbox.presets.ghost]
spec = "docker:{image}"
docker = {{socket = "/no/docker.sock"}}
[sandbox.presets.box]
spec = "ssh:box:{there}"
[sandbox.presets.nobody]
spec = "ssh:nobody@127.0.0.1:1"
[sandbox.presets.desk]
spec = "local"
[sandbox.presets.cave]
spec = "apptainer:docker://alpine"
apptainer = {{program = "/bin/true"}}
[sandbox.presets.pit]
spec = "apptainer:docker://alpine"
apptainer = {{program = "/no/apptainer"}}
[sandbox.presets.cloud]
spec = "modal:python:3.12-slim"
"""


@pytest.mark.real("docker")
@pytest.mark.real("ssh")
def test_doctor_tries_every_preset_and_says_how_to_mend_it(place: Place, docker: Daemon, sshd: Server) -> None:
    sshd.introduce(place.home.parent)
    place.home.mkdir()
    with TemporaryDirectory() as there:
        (place.home / "config.toml").write_text(PRESETS.format(image=IMAGE, there=there))
        ended = place.run("doctor", "--offline", DOCKER_HOST=f"unix://{docker.socket}")
    assert ended.code == 1
    rows = ended.out.splitlines()
    seen = {row[2:].split()[0]: (row[0], row, rows[at + 1]) for at, row in enumerate(rows[:-1]) if row[0] in "✔✘–"}
    marks = {"ready": "✔", "later": "–", "small": "✘", "ghost": "✘", "box": "✔", "nobody": "✘"}
    marks |= {"cave": "–", "pit": "✘", "cloud": "–"}
    assert {name: seen[name][0] for name in marks} == marks, ended.out
    assert "the first use fetches it" in seen["later"][1]
    assert "[sandbox.docker]" in seen["small"][2]
    assert "name its socket in DOCKER_HOST" in seen["ghost"][2]
    assert "See that `ssh nobody@127.0.0.1:1` works" in seen["nobody"][2]
    assert "angelia sandbox shell cave" in seen["cave"][2]
    assert "Install Apptainer" in seen["pit"][2]
    assert "--offline" in seen["cloud"][1]
    assert "desk" not in seen, "this machine is looked at anyway"
    assert docker.containers() == []
