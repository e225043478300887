"""The wheel stands alone: in an environment of its own it answers, and what it advises there works there."""

import email
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pexpect
import pytest

from angelia.faces.cli.docs import pages
from angelia.testing.model.steps import call, say
from tests.faces.angelia import MODEL, SECONDS, Place, serving
from tests.house.sources import ROOT
from tests.installing.building import UV, copy_what_a_package_needs, indexes, newest_python, run

pytestmark = [pytest.mark.slow, pytest.mark.real("uv")]


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment in which there is the wheel, and what it depends on, of the newest Python that is here."""
    folder = tmp_path_factory.mktemp("alone") / "venv"
    run(UV, "venv", "--quiet", "--python", newest_python(), folder)
    run(UV, "pip", "install", "--quiet", "--python", folder / "bin/python", wheel)
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A fresh home beside a folder to work in."""
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    return Place(tmp_path / "home" / ".angelia", tmp_path / "work")


def test_it_answers_a_question(environment: Path, tmp_path: Path) -> None:
    with serving(tmp_path, [say("Out of the wheel.")]) as place:
        said = run(environment / "bin/angelia", "ask", "--model", MODEL, "Where from?", **place.environment({}))
    assert said.strip() == "Out of the wheel."


def test_it_has_every_document_within(environment: Path, place: Place) -> None:
    def names(program: str | Path) -> list[str]:
        listed = run(program, "docs", **place.environment({})).splitlines()
        return [line.split()[0] for line in listed]

    assert names(environment / "bin/angelia") == ["PAGE", *pages()]
    assert "A nick of your own" in run(environment / "bin/angelia", "docs", "irc", **place.environment({}))


PROGRAM = """
from angelia import BlockingAgent, NoEffect, tool

@tool(effect=NoEffect())
def beds() -> list[str]:
    \"\"\"Name the beds.\"\"\"
    return ["north", "south"]

with BlockingAgent(workspace=".", tools=[beds]) as agent:
    answer = agent.ask("Which beds are there?")
print(answer)
"""


@pytest.mark.soak
def test_a_program_asks_and_is_checked_by_types(environment: Path, tmp_path: Path) -> None:
    with serving(tmp_path, [call("beds"), say("North and south.")]) as place:
        program = place.work / "program.py"
        program.write_text(PROGRAM)
        given = place.environment({"ANGELIA_MODEL": MODEL})
        ended = subprocess.run(
            [environment / "bin/python", "-I", program], cwd=place.work, env=given, capture_output=True, text=True,
            check=False, timeout=240,
        )  # fmt: skip
    assert ended.stdout == "North and south.\n", ended.stderr
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file", "/dev/null", "--python-executable"]

    def checked(text: str) -> str:
        program.write_text(text)
        line = [*mypy, str(environment / "bin/python"), "program.py"]
        return subprocess.run(line, cwd=place.work, capture_output=True, text=True, check=False).stdout

    assert checked(PROGRAM).startswith("Success")
    assert "wrokspace" in checked(PROGRAM.replace("workspace=", "wrokspace="))


@pytest.mark.soak
def test_a_package_is_written_by_the_wheel(environment: Path, place: Place) -> None:
    made = run(environment / "bin/angelia", "new", "tool", "rain", "--in", place.work, **place.environment({}))
    assert "is written" in made
    assert (place.work / "rain/tests/test_rain.py").exists()
    (tried,) = re.findall(r"Try its tests: +(.*)", made)
    assert "4 passed" in run("sh", "-c", tried, **{**place.environment({}), **indexes()})


def test_the_terminal_is_in_the_core(environment: Path, tmp_path: Path) -> None:
    with serving(tmp_path, [say("Out of the wheel.")]) as place:
        given = place.environment({"ANGELIA_MODEL": MODEL})
        child = pexpect.spawn(
            str(environment / "bin/angelia"),
            ["chat"],
            env=given,
            cwd=str(place.work),
            encoding="utf-8",
            timeout=SECONDS,
        )
        child.expect("/help")
        child.send("Where from?\r")
        assert child.expect(["Out of the wheel", pexpect.EOF]) == 0
        child.sendeof()
        child.expect(pexpect.EOF)


@pytest.mark.soak
@pytest.mark.parametrize("way", ["pip", "pipx", "uv", "uv tool"])
def test_the_command_that_it_names_for_a_part_installs_that_part(
    way: str, wheel: Path, place: Place, tmp_path: Path
) -> None:
    given = place.environment({"UV_CACHE_DIR": run(UV, "cache", "dir").strip()})
    commands = tmp_path / "commands"
    given["PATH"] = f"{commands}:{place.home.parent}/.local/bin:{given['PATH']}"
    given.update({name: value for name, value in indexes().items() if value})
    commands.mkdir()
    (commands / "uv").symlink_to(UV)
    angelia = _installed(way, wheel, given, tmp_path)
    told = run(angelia, "doctor", "--offline", "--set", "sandbox.confine=off", **given)
    assert "– extra ssh" in told
    (command,) = re.findall(r"extra ssh .*\n\s+(.*)", told)
    assert command.startswith(way) or way == "pip"
    run("sh", "-c", command, **given)
    assert "✔ extra ssh" in run(angelia, "doctor", "--offline", "--set", "sandbox.confine=off", **given)


def _installed(way: str, wheel: Path, given: Mapping[str, str], tmp_path: Path) -> Path:
    """Install the wheel; where the program is then."""
    venv = tmp_path / "venv"
    match way:
        case "uv tool":
            run(UV, "tool", "install", "--python", sys.executable, wheel, **given)
            return Path(given["HOME"]) / ".local/bin/angelia"
        case "pipx":
            run(UV, "venv", "--python", sys.executable, tmp_path / "pipx", **given)
            run(UV, "pip", "install", "--python", tmp_path / "pipx/bin/python", "pipx", **given)
            (tmp_path / "commands/pipx").symlink_to(tmp_path / "pipx/bin/pipx")
            run("pipx", "install", wheel, **given)
            return Path(given["HOME"]) / ".local/bin/angelia"
        case "uv":
            run(UV, "venv", "--python", sys.executable, venv, **given)
        case _:
            run(UV, "venv", "--seed", "--python", sys.executable, venv, **given)  # with pip in it
    run(UV, "pip", "install", "--python", venv / "bin/python", wheel, **given)
    return venv / "bin/angelia"


@pytest.mark.soak
def test_the_pure_part_of_the_suite_passes_against_it(environment: Path, tmp_path: Path) -> None:
    """But for properties and for walks through all of Unicode, which say nothing about what a wheel lacks."""
    beside, python = tmp_path / "beside", environment / "bin/python"
    parts = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis")
    run(UV, "pip", "install", "--quiet", "--python", python, "--target", beside, *parts)
    for name in ("tests", "pyproject.toml"):  # without `src`, so that nothing else can be imported
        (tmp_path / "suite" / name).parent.mkdir(exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / "suite" / name)
    said = run(
        *(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path / "suite"),
        f"--basetemp={tmp_path / 'own'}",
        *("-m", "not slow and not real and not hypothesis", "-k", "not character"),
        *(tmp_path / "suite/tests" / name for name in ("core", "context")),
        **{**os.environ, "PYTHONPATH": str(beside)},
    )
    assert re.search(r"\d{3,} passed", said)


@pytest.mark.soak(every=4)
@pytest.mark.parametrize(
    ("origin", "home"),
    [
        ("https://me:key@git.example.org:8443/people/angelia.git", "https://git.example.org:8443/people/angelia"),
        ("git@example.org:people/angelia.git", "https://example.org/people/angelia"),
        ("ssh://git@git.example.org:2222/people/more/angelia/", "https://git.example.org/people/more/angelia"),
        ("https://example.org/angelia", "https://example.org/angelia"),
        ("/srv/angelia.git", ""),
        ("http://localhost/angelia", ""),
        ("", ""),
    ],
)
def test_its_links_are_those_of_the_place_that_it_was_cloned_from(origin: str, home: str, tmp_path: Path) -> None:
    copy = tmp_path / "angelia"
    (copy / "src/angelia").mkdir(parents=True)
    (copy / "src/angelia/__init__.py").touch()
    copy_what_a_package_needs(copy)
    run("git", "init", "--quiet", copy)
    if origin:
        run("git", "-C", copy, "remote", "add", "origin", origin)
    run(UV, "build", "--quiet", "--out-dir", tmp_path / "dist", copy)  # the wheel out of the source distribution
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (one for one in packed.namelist() if one.endswith(".dist-info/METADATA"))
        head = email.message_from_bytes(packed.read(name))
    told = [f"Homepage, {home}", f"Source, {home}", f"Issues, {home}/issues"] if home else []
    assert head.get_all("Project-URL", []) == told
