"""The gateway as a service: whether it began is seen, and what it said if it did not; the service manager stands in."""

import os
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from angelia.testing.networks.telegram_server import TOKEN
from tests.faces.angelia import MODEL, Ended, Place
from tests.house.sources import ROOT


class Machine:
    """A person's home with a service manager."""

    def __init__(self, folder: Path) -> None:
        (folder / "person" / "work").mkdir(parents=True)
        (commands := folder / "commands").mkdir()
        self.place = Place(folder / "person" / ".angelia", folder / "person" / "work")
        self.place.home.mkdir()
        for name in ("systemctl", "journalctl"):
            line = shlex.join((sys.executable, str(ROOT / "tests/installing/systemctl.py"), name))
            (commands / name).write_text(f'#!/bin/sh\nexec {line} "$@"\n')
            (commands / name).chmod(0o755)
        (self.place.home / "config.toml").write_text(
            f'model = "{MODEL}"\n[sandbox]\nconfine = "off"\n[channels.telegram]\n'
            'token = { env = "TELEGRAM_BOT_TOKEN" }\nowners = ["7"]\napi = "http://127.0.0.1:9"\n'
        )
        self._path = f"{commands}:/usr/bin:/bin"

    @property
    def pid(self) -> int:
        """The process that its service began last."""
        return int((self.place.home.parent / "systemd/pid").read_text())

    def gateway(self, *words: str) -> Ended:
        """Run a command about it."""
        return self.place.run("gateway", *words, PATH=self._path, TELEGRAM_BOT_TOKEN=TOKEN)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """What its service left is ended."""
    machine = Machine(tmp_path)
    yield machine
    with suppress(FileNotFoundError, ProcessLookupError):
        os.kill(machine.pid, signal.SIGKILL)


def test_a_service_is_installed_once_its_gateway_runs(machine: Machine) -> None:
    installed = machine.gateway("install")
    assert installed.code == 0, installed
    assert f"It runs (process {machine.pid})." in installed.out
    restarted = machine.gateway("restart")
    assert f"Restarted (process {machine.pid})." in restarted.out
    assert machine.gateway("uninstall").code == 0


def test_a_gateway_that_cannot_begin_is_told_with_what_it_said(machine: Machine) -> None:
    config = machine.place.home / "config.toml"
    config.write_text(config.read_text().replace(MODEL, "nobody:nothing"))
    installed = machine.gateway("install", "--patience", "3")
    assert installed.code == 1
    assert "no gateway began within 3 s. What it said last: " in installed.err
    assert "nobody" in installed.err


def test_a_channel_that_cannot_be_opened_is_told_before_anything_is_installed(machine: Machine) -> None:
    config = machine.place.home / "config.toml"
    config.write_text(config.read_text().replace('{ env = "TELEGRAM_BOT_TOKEN" }', f'"{TOKEN}"'))
    installed = machine.gateway("install")
    assert installed.code == 1
    assert "The setting channels.telegram.token is text." in installed.err
    assert 'Write token = { file = "…" }' in installed.err
    assert TOKEN not in installed.err
    assert not installed.out
    config.write_text(f"{config.read_text()}enabled = false\n[channels.irc]\nenabled = false\n")
    assert "channels.telegram.token" not in machine.gateway("install", "--patience", "1").err
