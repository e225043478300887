"""`angelia new` writes packages whose tests pass as they are, and which work once they are installed."""

import os
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from angelia.testing.model.steps import call, say
from tests.faces.angelia import MODEL, Place, serving

NAMES = {"tool": "rain-gauge", "channel": "pigeon", "model": "parrot"}


def fresh(tmp_path: Path) -> Place:
    """An empty home beside an empty folder."""
    (tmp_path / "work").mkdir()
    return Place(tmp_path / "home", tmp_path / "work")


def installed(package: Path, name: str) -> Path:
    """The folder of a written package's module, with the metadata that installing it would put there."""
    project = (package / "pyproject.toml").read_text()
    found = re.search(r'\[project\.entry-points\."(.+)"\]\n(.+)\n', project)
    assert found is not None
    about = package / "src" / f"{name}-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    entry = found[2].replace('"', "")
    (about / "entry_points.txt").write_text(f"[{found[1]}]\n{entry}\n")
    return package / "src"


@pytest.mark.soak(every=3)
@pytest.mark.slow
@pytest.mark.parametrize("kind", NAMES)
def test_the_tests_of_what_is_written_pass_as_they_are(kind: str, tmp_path: Path) -> None:
    place = fresh(tmp_path)
    written = place.run("new", kind, NAMES[kind])
    assert written.code == 0, written.err
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
    words.append(f"--basetemp={tmp_path / 'own'}")
    ran = subprocess.run(words, cwd=place.work / NAMES[kind], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert " passed" in ran.stdout
    left = [path for path in (place.work / NAMES[kind]).rglob("*") if "$" in path.name or path.suffix == ".txt"]
    assert not left


@pytest.mark.slow
@pytest.mark.parametrize("kind", NAMES)
def test_what_is_written_is_formatted(kind: str, tmp_path: Path) -> None:
    place = fresh(tmp_path)
    place.run("new", kind, NAMES[kind])
    ruff = Path(sys.executable).with_name("ruff")
    for words in (["check", "--select", "E,F,I,UP,B"], ["format", "--check"]):
        line = f"{ruff} {' '.join(words)} --no-cache".split()
        ran = subprocess.run(line, cwd=place.work / NAMES[kind], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_written_tool_is_called_once_it_is_installed(tmp_path: Path) -> None:
    with serving(tmp_path, [call("rain_gauge", {"text": "rain, rain", "word": "rain"}), say("Twice.")]) as place:
        place.run("new", "tool", "rain-gauge")
        package = installed(place.work / "rain-gauge", "rain-gauge")
        asked = place.ask("How often does it rain?", PYTHONPATH=str(package))
        assert asked.out == "Twice.\n"
        shown = place.run("show", PYTHONPATH=str(package)).out
    assert "rain_gauge" in shown


def test_a_written_model_answers_once_it_is_installed(tmp_path: Path) -> None:
    place = fresh(tmp_path)
    place.run("new", "model", "parrot")
    package = installed(place.work / "parrot", "parrot")
    readme = (place.work / "parrot/README.md").read_text()
    place.home.mkdir()
    (place.home / "config.toml").write_text(readme.partition("```toml\n")[2].partition("```")[0])
    asked = place.run("ask", "--model", "parrot:any", "good morning", PYTHONPATH=str(package))
    assert asked.out == "good morning\n", asked.err


def test_a_written_channel_answers_once_it_is_installed(tmp_path: Path) -> None:
    with serving(tmp_path, [say("Good morning, Ann.")]) as place:
        place.run("new", "channel", "pigeon")
        package = installed(place.work / "pigeon", "pigeon")
        words = [sys.executable, str(place.work / "pigeon/tests/pigeon_network.py")]
        own, pipe = {**os.environ, "PYTHONPATH": str(package)}, subprocess.PIPE
        with subprocess.Popen(words, env=own, stdin=pipe, stdout=pipe, bufsize=0) as network:
            assert network.stdin is not None
            out = network.stdout
            assert out is not None
            url = out.readline().decode().strip()
            name, _, token = out.readline().decode().strip().partition("=")
            place.home.mkdir()
            settings = f'model = "{MODEL}"\n[channels.pigeon]\nserver = "{url}"\nowners = ["ann"]\n'
            (place.home / "config.toml").write_text(settings)
            with place.terminal("gateway", PYTHONPATH=str(package), **{name: token}) as gateway:
                gateway.sees("pigeon: connected")
                network.stdin.write(b"good morning\n")
                gateway.until(lambda: bool(select.select([out], [], [], 0)[0]))
                assert b'"text":"Good morning, Ann."' in out.readline()
            network.stdin.close()


def test_a_written_skill_keeps_the_rules_and_waits_for_a_yes(tmp_path: Path) -> None:
    place = fresh(tmp_path)
    assert place.run("new", "skill", "rain-report").code == 0
    checked = place.run("skills", "validate", ".agents/skills/rain-report")
    assert "rain-report keeps the rules (one file" in checked.out, checked.err
    assert place.run("new", "skill", "Rain").code == 2
    assert [path.name for path in (place.work / ".agents/skills").iterdir()] == ["rain-report"]


@pytest.mark.parametrize("name", ["Rain", "rain gauge", "../rain", "1rain", "class", "rain-"])
def test_a_name_that_no_package_can_have_is_refused(name: str, tmp_path: Path) -> None:
    place = fresh(tmp_path)
    refused = place.run("new", "tool", "--", name)
    assert refused.code == 2
    assert "cannot be called" in refused.err
    assert not list(place.work.iterdir())


def test_nothing_is_written_over_what_is_there(tmp_path: Path) -> None:
    place = fresh(tmp_path)
    (place.work / "rain").mkdir()
    refused = place.run("new", "tool", "rain")
    assert refused.code == 2
    assert "is there already" in refused.err
    assert not list((place.work / "rain").iterdir())


PLUGIN = '''
from angelia import NoEffect, tool

@tool(effect=NoEffect())
def rain() -> str:
    """Say how much it rained."""
    return "12 mm"
'''


def with_plugin(place: Place) -> Path:
    folder = place.home / "plugins"
    folder.mkdir(parents=True)
    (folder / "weather.py").write_text(PLUGIN)
    folder.chmod(0o700)
    (folder / "weather.py").chmod(0o600)
    return folder


def test_a_file_in_the_folder_of_plugins_is_a_tool_of_every_conversation(tmp_path: Path) -> None:
    with serving(tmp_path, [call("rain"), say("12 mm.")]) as place:
        with_plugin(place)
        assert place.ask("How much did it rain?").out == "12 mm.\n"
        assert "rain\n    Say how much it rained.\n" in place.run("tools").out
        assert "12 mm" in place.run("show").out


def test_a_package_in_the_folder_of_plugins_is_found_by_its_entry_point(tmp_path: Path) -> None:
    place = fresh(tmp_path)
    place.run("new", "tool", "rain")
    package = installed(place.work / "rain", "rain")
    place.home.mkdir()
    package.rename(place.home / "plugins")
    (place.home / "plugins").chmod(0o700)
    (place.home / "plugins/rain.py").rename(place.home / "plugins/rainy.py")
    about = place.home / "plugins/rain-0.1.0.dist-info/entry_points.txt"
    about.write_text(about.read_text().replace("rain:rain", "rainy:rain"))
    listed = place.run("tools")
    assert "Count how often a word stands" in listed.out


@pytest.mark.parametrize("what", ["..", ".", "weather.py"])
def test_what_others_could_have_written_is_not_loaded_and_that_is_said(what: str, tmp_path: Path) -> None:
    (tmp_path / "asked").mkdir()
    place = fresh(tmp_path)
    (with_plugin(place) / what).chmod(0o777)
    listed = place.run("tools")
    assert "rain" not in listed.out
    assert "others may write to it. Mend it: chmod" in listed.err
    with serving(tmp_path / "asked", [call("rain"), say("There is no such tool.")]) as asked:
        (with_plugin(asked) / what).chmod(0o777)
        assert "There is no tool 'rain'" in asked.ask("How much did it rain?").err + asked.run("show").out
        assert "others may write to it" in (asked.home / "angelia.log").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_belongs_to_somebody_else_is_not_loaded(tmp_path: Path) -> None:
    place = fresh(tmp_path)
    os.chown(with_plugin(place), 65534, 65534)
    assert "it belongs to somebody else" in place.run("tools").err


@pytest.mark.real("bwrap")
def test_a_plugin_cannot_be_written_by_a_tool_or_a_command(tmp_path: Path) -> None:
    place = str(tmp_path / "home/plugins/evil.py")
    steps = [
        call("write", {"path": place, "content": "evil"}),
        call("shell", {"command": f"mkdir -p {tmp_path}/home/plugins; echo evil > {place}"}),
        say("I cannot."),
    ]
    with serving(tmp_path, steps) as at:
        assert at.ask("Put a plugin there.", "--set", "policy.mode=autonomous").out == "I cannot.\n"
    assert not Path(place).exists()


@pytest.mark.soak(every=2)
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "module"), [("channel", "pigeon_network"), ("model", "test_parrot")])
def test_what_is_written_is_certified_as_it_is(kind: str, module: str, tmp_path: Path) -> None:
    place = fresh(tmp_path)
    place.run("new", kind, NAMES[kind])
    package = place.work / NAMES[kind]

    def certified(name: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "angelia.testing.certificates", kind, name, "-o", str(tmp_path / "made")]
        env = {**os.environ, "PYTHONPATH": str(package / "src")}
        words += ["--near", str(tmp_path / "near")]
        return subprocess.run(words, cwd=package / "tests", env=env, capture_output=True, text=True, check=False)

    held = certified(module)
    assert held.returncode == 0, held.stderr
    assert f"{kind} {module}: held." in held.stdout
    for name, why in (("nothing_there", "There is no module nothing_there."), ("json", "The module json has no ")):
        refused = certified(name)
        assert refused.returncode == 2
        assert refused.stderr.startswith(f"angelia: {why}")
