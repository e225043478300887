"""Every way of installing leaves a mark, and has commands of its own."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from angelia import installation as module
from angelia.installation import Installation, InstallWay, installation, installing, present
from tests.house.sources import ROOT

HOW = re.compile(r"(pip install|uv tool|pipx|uvx|make add).*\bangelia\b")
WHEEL = "file:///wheels/angelia-0.1.0-py3-none-any.whl"


def test_a_checkout_names_a_target_of_its_makefile() -> None:
    found = installation()
    assert found.way is InstallWay.CHECKOUT
    assert found.source == str(ROOT)
    shown = subprocess.run([*shlex.split(installing("slack")), "--dry-run"], capture_output=True, text=True, check=True)
    assert "--extra slack" in shown.stdout


MARKS = {
    "tools/angelia/uv-receipt.toml": InstallWay.UV_TOOL,
    "venvs/angelia/pipx_metadata.json": InstallWay.PIPX,
    "versions/0.1.0/pyvenv.cfg": InstallWay.SCRIPT,
    "cache/uv/archive-v0/x/pyvenv.cfg": InstallWay.UVX,
    "venv/pyvenv.cfg": InstallWay.PIP,
}


@pytest.mark.parametrize("mark", MARKS)
def test_a_way_is_known_by_its_mark(mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / mark
    path.parent.mkdir(parents=True)
    path.touch()
    (tmp_path / "current").symlink_to("versions/0.1.0")
    (tmp_path / "cache").mkdir(exist_ok=True)
    (tmp_path / "cache/CACHEDIR.TAG").touch()
    monkeypatch.setattr(sys, "prefix", str(path.parent))
    monkeypatch.setattr(module, "find_spec", lambda name: name == "pip")
    monkeypatch.setattr(module, "distribution", lambda name: _Distribution('{"url": "file:///w.whl"}'))
    found = installation()
    assert found.way is MARKS[mark]
    assert found.source == "file:///w.whl"


class _Distribution:
    """As much of `importlib.metadata.Distribution` as is read."""

    def __init__(self, direct_url: str) -> None:
        self._direct_url = direct_url
        self.requires = ("msgspec>=1",)

    def read_text(self, name: str) -> str | None:
        """What the installer noted."""
        return self._direct_url if name == "direct_url.json" else None


def test_where_there_is_no_pip_uv_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    monkeypatch.setattr(module, "distribution", lambda name: _Distribution("{}"))
    assert installing("ssh") == f"uv pip install --python {tmp_path}/venv/bin/python 'angelia[ssh]'"


def test_in_our_image_it_is_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(module.IMAGE, "1")
    monkeypatch.setattr(module, "distribution", lambda name: _Distribution("{}"))
    assert "--build-arg EXTRAS=ssh" in installing("ssh")


@pytest.mark.parametrize(
    ("way", "line"),
    [
        (InstallWay.UV_TOOL, f"uv tool install --force 'angelia[slack,ssh] @ {WHEEL}'"),
        (InstallWay.PIPX, f"pipx install --force 'angelia[slack,ssh] @ {WHEEL}'"),
        (InstallWay.UVX, f"uvx --from 'angelia[slack,ssh] @ {WHEEL}' angelia"),
        (InstallWay.PIP, "'/a b/versions/1/bin/python' -P -m pip install 'angelia[slack]'"),
        (InstallWay.SCRIPT, "'/a b/current/bin/python' -P -m pip install 'angelia[slack]'"),
    ],
)
def test_what_makes_an_environment_anew_keeps_the_parts_that_are_there(way: InstallWay, line: str) -> None:
    assert Installation(way, Path("/a b/versions/1"), WHEEL, ("ssh",)).adding("slack") == line


def test_what_is_begun_around_a_container_is_named_as_the_machine_has_it() -> None:
    inside = Installation(InstallWay.IMAGE, Path("/opt/angelia")).unattended()
    assert inside == ("docker", "compose", "--file", "/…/compose.yaml", "exec", "-T", "angelia", "angelia")
    assert Installation(InstallWay.IMAGE, Path("/opt/angelia")).gateway() == "docker compose up --detach"
    assert Installation(InstallWay.PIP, Path("/v")).unattended() == ("/v/bin/python", "-P", "-m", "angelia")


@pytest.mark.parametrize("way", [InstallWay.UV_TOOL, InstallWay.PIPX, InstallWay.UVX, InstallWay.UV, InstallWay.PIP])
def test_what_came_as_a_wheel_is_updated_by_another_one_and_keeps_its_parts(way: InstallWay) -> None:
    spec = "'angelia[ssh] @ file:///wheels/angelia-NEW-py3-none-any.whl'"
    assert spec in Installation(way, Path("/v"), WHEEL, ("ssh",)).updating()
    assert "@" not in Installation(way, Path("/v")).updating()


def test_the_same_copy_is_put_into_another_environment() -> None:
    assert Installation(InstallWay.CHECKOUT, Path("/v"), "/a b/checkout").anew() == "-e '/a b/checkout'"
    assert Installation(InstallWay.UV_TOOL, Path("/v"), WHEEL, ("ssh",)).anew() == f"'angelia @ {WHEEL}'"
    assert Installation(InstallWay.PIP, Path("/v")).anew() == "angelia"


def test_no_other_module_says_how_we_are_installed() -> None:
    found = {path.stem for path in (ROOT / "src/angelia").rglob("*.py") if HOW.search(path.read_text("utf-8"))}
    assert not found, "it would be wrong for whoever took another way"


@pytest.mark.parametrize("way", InstallWay)
def test_every_way_says_how_it_is_updated_and_taken_away(way: InstallWay) -> None:
    one = Installation(way, Path("/a b/versions/1"), "/a b/checkout", ("ssh",))
    for command in (one.adding("web"), one.updating(), one.removing()):
        assert len(shlex.split(command)) > 1


def test_an_extra_is_there_when_all_it_needs_is() -> None:
    lines = ("pytest>=1; extra == 'both'", "nowhere>=1; extra == 'both'", 'pytest>=1 ; extra == "one"', "msgspec>=1")
    assert present(lines) == ("one",)


def test_all_stands_for_every_extra() -> None:
    lines = ("pytest; extra == 'one'", "angelia[one]; extra == 'all'", "pytest; extra == 'all'")
    assert present(lines) == ("all",)
