"""The gateway as a service of a real systemd: begun, written to, killed, left alone by who logged out, ended.

It makes a person and lets them log in, so it runs in a machine of its own (`.ci/machine`), and is skipped elsewhere.
"""

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from angelia.testing.model.server_process import model_server_process
from tests.faces.angelia import MODEL
from tests.faces.telegram_process import ID, TelegramProcess, telegram_process

NAME = "ben"
SECONDS = 300
"""How long anything may take: the machine is emulated."""
PATIENT = ("--patience", str(SECONDS))

T = TypeVar("T")


def root(*words: str, given: str = "") -> str:
    """Do something as root; what it says."""
    return subprocess.run(["sudo", "-n", *words], input=given, capture_output=True, text=True, check=True).stdout


class Person:
    """Somebody of this machine. Each thing that they do is a login by SSH, and they are gone after it."""

    def __init__(self, key: Path, url: str, token: str) -> None:
        self._ssh = (
            "ssh",
            "-q",
            "-i",
            str(key),
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
        )
        self._keys = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": f"{url}/v1", "TELEGRAM_BOT_TOKEN": token}

    def does(self, line: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        """A line of their shell."""
        words = [*self._ssh, f"{NAME}@127.0.0.1", line]
        return subprocess.run(words, input=given, capture_output=True, text=True, check=False)

    def gateway(self, *words: str, by_root: bool = False) -> "subprocess.CompletedProcess[str]":
        """`angelia gateway …`, by themselves or by who is root for them."""
        given = {**self._keys, "ANGELIA_HOME": f"/home/{NAME}/.angelia"}
        line = ("env", *(f"{name}={value}" for name, value in given.items()))
        line += (sys.executable, "-m", "angelia", "gateway", *words)
        if by_root:
            return subprocess.run(["sudo", "-n", *line], capture_output=True, text=True, check=False)
        return self.does(shlex.join(line))

    @property
    def logged_in(self) -> bool:
        """Whether systemd knows of a session of theirs."""
        return f" {NAME} " in root("loginctl", "list-sessions", "--no-legend")


@pytest.fixture
def telegram() -> Iterator[TelegramProcess]:
    """The network, of this machine."""
    with telegram_process() as network:
        yield network


@pytest.fixture
def person(tmp_path: Path, telegram: TelegramProcess) -> Iterator[Person]:
    """Whose home has settings, and no service yet; they and all of theirs go at the end."""
    if not os.environ.get("ANGELIA_TESTS_OWN_MACHINE"):
        pytest.skip("only in a machine of its own: .ci/machine tests/installing/test_systemd.py")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key")], check=True)
    root("useradd", "--create-home", "--shell", "/bin/bash", NAME)
    try:
        root("install", "-d", "-o", NAME, "-m", "700", f"/home/{NAME}/.ssh")
        root("install", "-o", NAME, str(tmp_path / "key.pub"), f"/home/{NAME}/.ssh/authorized_keys")
        with model_server_process("--echo") as url:
            person = Person(tmp_path / "key", url, telegram.token)
            settings = (
                f'model = "{MODEL}"\n[sandbox]\nconfine = "off"\n[channels.telegram]\n'
                f'token = {{ env = "TELEGRAM_BOT_TOKEN" }}\nowners = ["{ID}"]\napi = "{telegram.url}"\n'
            )
            made = person.does("umask 077; mkdir .angelia && cat > .angelia/config.toml", settings)
            assert made.returncode == 0, made
            yield person
    finally:
        root("loginctl", "disable-linger", NAME)
        root("sh", "-c", f"loginctl terminate-user {NAME}; pkill -9 -u {NAME}; true")
        until(
            lambda: not subprocess.run(["pgrep", "-u", NAME], capture_output=True, check=False).stdout, "they are gone"
        )
        root("userdel", "--force", "--remove", NAME)


def process_in(said: str) -> int:
    """The process that a command names."""
    found = re.search(r"\(process (\d+)\)", said)
    assert found, said
    return int(found[1])


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("system", [False, True])
def test_a_service_answers_after_a_kill_and_a_logout_until_it_is_ended(
    person: Person, telegram: TelegramProcess, system: bool
) -> None:
    kind = "a systemd system unit" if system else "a systemd user unit"
    installed = person.gateway("install", *PATIENT, *(["--system"] if system else []), by_root=system)
    assert installed.returncode == 0, installed
    first = process_in(installed.stdout)
    if hint := re.search(r"where that is refused: sudo (.*)", installed.stdout):
        root(*hint[1].split())
    assert bool(hint) is not system
    answers(telegram, "one")
    told = person.gateway("status")
    assert (told.returncode, process_in(told.stdout)) == (0, first), told
    assert f"Service: {kind} (enabled)." in told.stdout
    assert root("ps", "-o", "user=", "-p", str(first)).strip() == NAME

    until(lambda: not person.logged_in, "nobody is logged in")
    answers(telegram, "two")

    root("kill", "-9", str(first))
    second = until(lambda: other_than(first, person.gateway("status")), "systemd begins it again")
    answers(telegram, "three")
    restarted = person.gateway("restart", *PATIENT, by_root=system)
    assert restarted.returncode == 0, restarted
    assert process_in(restarted.stdout) not in (first, second)
    answers(telegram, "four")

    assert "telegram" in person.gateway("logs", by_root=system).stdout
    assert person.gateway("stop", by_root=system).returncode == 0
    assert person.gateway("status").returncode == 1
    ended = person.gateway("uninstall", by_root=system)
    assert ended.returncode == 0, ended
    assert "Service: none." in person.gateway("status").stdout
    assert person.does("ls .angelia/angelia.db").returncode == 0


def answers(telegram: TelegramProcess, words: str) -> None:
    """Somebody writes, and the answer comes."""
    telegram.hears(words)
    telegram.shows(words)


def other_than(before: int, told: "subprocess.CompletedProcess[str]") -> int:
    """The process that is said to run well, if it is another one; else 0."""
    process = process_in(told.stdout) if told.returncode == 0 else 0
    return process if process != before else 0


def until(holds: Callable[[], T], what: str) -> T:
    """What it gives once that is true; each look is a process, so that nothing spins."""
    deadline = time.monotonic() + SECONDS
    while not (found := holds()):
        assert time.monotonic() < deadline, f"never: {what}"
    return found
