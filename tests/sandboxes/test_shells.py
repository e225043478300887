"""A person's shell in a sandbox is a terminal there, sees what commands see, and ends with its person."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pexpect
import pytest

from tests.faces.angelia import SECONDS, Place

from .apptainer import Images
from .daemon import IMAGE, Daemon
from .modal_cloud import Cloud
from .sshd import Server
from .test_people import found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A home and a folder, and no model server."""
    (tmp_path / "work").mkdir()
    return Place(tmp_path / "home", tmp_path / "work")


@contextmanager
def shell(place: Place, *words: str, **environ: str) -> Iterator["pexpect.spawn[str]"]:
    """`angelia sandbox shell` in a terminal of its own."""
    child = pexpect.spawn(
        sys.executable,
        ["-m", "angelia", "sandbox", "shell", *words],
        cwd=str(place.work),
        env=place.environment(environ),
        dimensions=(33, 99),
        encoding="utf-8",
        timeout=2 * SECONDS,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored by what runs in the background
    )
    try:
        yield child
    finally:
        child.close(force=True)


def says(child: "pexpect.spawn[str]", line: str, answer: str) -> None:
    """Type a line whose output holds `answer`, and which itself does not."""
    child.send(f"{line}\r")
    child.expect_exact(answer)


INTERRUPTED = "sh -c \"trap 'echo cau''ght; exit' INT; echo be''gun; while :; do sleep 0.1; done\""
"""A command that is in the foreground once it has said `begun`."""


def leaves(child: "pexpect.spawn[str]") -> int:
    """Its exit code, after `exit 7`."""
    child.send("exit 7\r")
    child.expect(pexpect.EOF)
    child.wait()
    return int(child.exitstatus or 0)


@pytest.mark.real("docker")
def test_a_shell_in_a_container_is_a_terminal_and_the_container_goes_with_it(place: Place, docker: Daemon) -> None:
    host = f"unix://{docker.socket}"
    with shell(place, f"docker:{IMAGE}", DOCKER_HOST=host) as child:
        child.expect_exact("exit leaves it")
        says(child, "echo $((40+2)) $PWD; stty size", f"42 {place.work}\r\n33 99")
        child.setwinsize(20, 77)
        says(child, "until [ \"$(stty size)\" = '20 77' ]; do sleep 0.1; done; echo fit''ted", "fitted")
        says(child, INTERRUPTED, "begun")
        child.sendintr()
        child.expect_exact("caught")
        assert leaves(child) == 7
    assert docker.containers() == []
    assert not list((place.home / "running/docker").iterdir())


@pytest.mark.soak
@pytest.mark.real("docker")
def test_a_shell_ends_in_the_container_when_its_person_is_gone(place: Place, docker: Daemon) -> None:
    host = f"unix://{docker.socket}"
    with shell(place, f"docker:{IMAGE}", DOCKER_HOST=host) as child:
        says(child, "echo on''ward; sleep 1000", "onward")
        child.kill(9)
        child.wait()
    for _ in range(60):  # until the one inside who waits for our end has noticed it
        (seen,) = found(place, host)
        if seen["standing"] == "idle":
            break
    assert (seen["standing"], seen["conversations"]) == ("idle", [])
    ended = place.run("sandbox", "prune", "--yes", DOCKER_HOST=host)
    assert (ended.code, docker.containers()) == (0, []), ended.err
    assert not list((place.home / "running/docker").iterdir())


@pytest.mark.real("bwrap")
def test_a_shell_on_this_machine_sees_what_commands_see(place: Place) -> None:
    (place.home.parent / "diary").write_text("canary")
    with shell(place, "local") as child:
        says(child, "echo $((40+2)) $PWD $TERM; stty size", f"42 {place.work} xterm-256color\r\n33 99")
        says(child, f"cat {place.home.parent}/diary; echo $?", "1")
        says(child, INTERRUPTED, "begun")
        child.sendintr()
        child.expect_exact("caught")
        assert leaves(child) == 7
    assert found(place) == []


@pytest.mark.real("apptainer")
def test_a_shell_in_an_instance_is_a_terminal_and_the_instance_goes_with_it(place: Place, apptainer: Images) -> None:
    with shell(place, f"apptainer:{apptainer.folder}") as child:
        child.expect_exact("exit leaves it")
        says(child, "echo $((40+2)) $PWD $TERM; stty size", f"42 {place.work} xterm-256color\r\n33 99")
        child.setwinsize(20, 77)
        says(child, "until [ \"$(stty size)\" = '20 77' ]; do sleep 0.1; done; echo fit''ted", "fitted")
        says(child, INTERRUPTED, "begun")
        child.sendintr()
        child.expect_exact("caught")
        assert leaves(child) == 7
    assert not list((place.home / "running/apptainer").iterdir())


def test_a_room_without_shells_says_what_can_be_done_instead(place: Place, modal: Cloud) -> None:
    with shell(place, f"modal:{modal.image}", **modal.environ) as child:
        child.expect_exact("gives no shell to people")
        child.expect(pexpect.EOF)
        assert "`angelia sandbox get` and `put` move files" in str(child.before)


@pytest.mark.real("ssh-as-root")  # another's sshd may not hand out terminals
def test_a_shell_on_another_machine_is_that_machines_own(place: Place, sshd: Server) -> None:
    sshd.introduce(place.home.parent)
    with TemporaryDirectory() as there, shell(place, f"ssh:box:{there}") as child:
        says(child, "echo $((40+2)) $PWD; stty size", f"42 {there}\r\n33 99")
        child.setwinsize(20, 77)
        says(child, "until [ \"$(stty size)\" = '20 77' ]; do sleep 0.1; done; echo fit''ted", "fitted")
        assert leaves(child) == 7
